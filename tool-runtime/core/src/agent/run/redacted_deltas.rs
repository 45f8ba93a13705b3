//! Redacts the deltas of a reply, in which a secret may arrive in several pieces.

use std::collections::BTreeMap;

use crate::agent::request::exchange::BoxedDeltaSink;
use crate::message::ToolCall;
use crate::models::{Delta, DeltaSink};
use crate::secret::{PieceRedactor, Redactor};

/// Redacts the deltas of a reply and passes them on. Without a redactor, it passes them on as they
/// are.
pub(super) struct RedactedDeltas<'s> {
    redactor: Option<Redactor>,
    sink: &'s mut DeltaSink<'static>,
    text: PieceRedactor,
    reasoning: PieceRedactor,
    calls: BTreeMap<usize, StreamedCall>,
}

/// A call whose arguments arrive.
#[derive(Default)]
struct StreamedCall {
    name: String,
    /// Arguments that are redacted as a whole: some of them are secret.
    whole: String,
    pieces: PieceRedactor,
}

impl<'s> RedactedDeltas<'s> {
    pub(super) fn new(redactor: Option<&Redactor>, sink: &'s mut DeltaSink<'static>) -> Self {
        Self {
            redactor: redactor.cloned(),
            sink,
            text: PieceRedactor::default(),
            reasoning: PieceRedactor::default(),
            calls: BTreeMap::new(),
        }
    }

    /// Returns the sink that a model or driver writes to.
    pub(super) fn sink(&mut self) -> BoxedDeltaSink<'_> {
        Box::new(|delta| self.push(delta))
    }

    fn push(&mut self, delta: Delta<'_>) {
        let Some(redactor) = self.redactor.clone() else { return (self.sink)(delta) };
        match delta {
            Delta::Text(text) => {
                self.finish_reasoning();
                let text = self.text.push(&redactor, text);
                self.emit(&text, |text| Delta::Text(text));
            }
            Delta::Reasoning(text) => {
                self.finish_text();
                let text = self.reasoning.push(&redactor, text);
                self.emit(&text, |text| Delta::Reasoning(text));
            }
            Delta::Call { index, name } => {
                self.finish_reasoning();
                self.finish_text();
                self.calls.entry(index).or_default().name = name.to_owned();
                let mut name = name.to_owned();
                redactor.redact_name(&mut name);
                (self.sink)(Delta::Call { index, name: &name });
            }
            Delta::Arguments { index, text } => {
                let call = self.calls.entry(index).or_default();
                if redactor.has_secret_arguments(&call.name) {
                    call.whole.push_str(text);
                    return;
                }
                let text = call.pieces.push(&redactor, text);
                self.emit(&text, |text| Delta::Arguments { index, text });
            }
        }
    }

    /// Passes on what was held back until the end of the reply.
    pub(super) fn finish(mut self) {
        self.finish_reasoning();
        self.finish_text();
        let Some(redactor) = self.redactor.clone() else { return };
        for (index, StreamedCall { name, whole, mut pieces }) in std::mem::take(&mut self.calls) {
            let mut rest = pieces.finish(&redactor);
            if !whole.is_empty() {
                let mut call = ToolCall::new("", name, whole);
                redactor.redact_call(&mut call);
                rest = call.arguments.to_text().into_owned();
            }
            self.emit(&rest, |text| Delta::Arguments { index, text });
        }
    }

    fn finish_text(&mut self) {
        if let Some(redactor) = &self.redactor {
            let rest = self.text.finish(redactor);
            self.emit(&rest, |text| Delta::Text(text));
        }
    }

    fn finish_reasoning(&mut self) {
        if let Some(redactor) = &self.redactor {
            let rest = self.reasoning.finish(redactor);
            self.emit(&rest, |text| Delta::Reasoning(text));
        }
    }

    fn emit(&mut self, text: &str, delta: impl FnOnce(&str) -> Delta<'_>) {
        if !text.is_empty() {
            (self.sink)(delta(text));
        }
    }
}
