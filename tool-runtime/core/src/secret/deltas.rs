//! Redaction of a reply that arrives in pieces: a secret may be spread over several of them.

use std::collections::BTreeMap;

use super::Redactor;
use super::stream::PieceRedactor;
use crate::message::{Delta, DeltaSink, Source, ToolCall};

/// Holds the ends of texts that may be the beginning of a secret.
#[derive(Debug, Default)]
pub(crate) struct DeltaRedaction {
    text: PieceRedactor,
    reasoning: PieceRedactor,
    calls: BTreeMap<usize, StreamedCall>,
    sources: HeldSources,
}

/// Sources that wait for the text that was received before them. Their ranges are those in the text
/// without redaction.
#[derive(Debug, Default)]
struct HeldSources {
    waiting: Vec<Source>,
    /// The received text that was not passed on yet.
    pending: String,
    /// Whether a secret was redacted, so that positions in the text differ.
    is_text_changed: bool,
}

/// The call of a reply, by its index.
#[derive(Debug, Default)]
struct StreamedCall {
    /// The name that the model has sent, which names the tool.
    name: String,
    /// The arguments so far, of a tool with secret arguments: only complete JSON can be redacted.
    whole: String,
    pieces: PieceRedactor,
}

impl DeltaRedaction {
    /// Passes a delta on without secrets.
    pub(crate) fn push(&mut self, redactor: &Redactor, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        match delta {
            Delta::Text(text) => {
                self.finish_reasoning(redactor, sink);
                self.sources.add_text(text);
                let text = self.text.push(redactor, text);
                emit(&text, sink, |text| Delta::Text(text));
                self.sources.pass_text(&text, redactor, sink);
            }
            Delta::Reasoning(text) => {
                self.finish_text(redactor, sink);
                emit(&self.reasoning.push(redactor, text), sink, |text| Delta::Reasoning(text));
            }
            Delta::Call { index, id, name } => {
                self.finish_reasoning(redactor, sink);
                self.finish_text(redactor, sink);
                // A new name replaces the call at this index.
                let call = StreamedCall { name: name.to_owned(), ..StreamedCall::default() };
                self.calls.insert(index, call);
                let mut name = name.to_owned();
                redactor.redact_name(&mut name);
                sink(Delta::Call { index, id, name: &name });
            }
            Delta::File(file) => {
                self.finish_reasoning(redactor, sink);
                self.finish_text(redactor, sink);
                let mut file = file.clone();
                if let Some(name) = &mut file.name {
                    redactor.redact(name);
                }
                sink(Delta::File(&file));
            }
            Delta::Source(source) => {
                self.sources.waiting.push(source.clone());
                self.sources.pass_text("", redactor, sink);
            }
            Delta::Arguments { index, text } => {
                let call = self.calls.entry(index).or_default();
                if redactor.has_secret_arguments(&call.name) {
                    call.whole.push_str(text);
                    return;
                }
                let text = call.pieces.push(redactor, text);
                emit(&text, sink, |text| Delta::Arguments { index, text });
            }
        }
    }

    /// Passes the rest on, once the reply is complete or its request has failed.
    pub(crate) fn finish(&mut self, redactor: &Redactor, sink: &mut DeltaSink<'_>) {
        self.finish_reasoning(redactor, sink);
        self.finish_text(redactor, sink);
        for (index, StreamedCall { name, whole, mut pieces }) in std::mem::take(&mut self.calls) {
            let mut rest = pieces.finish(redactor);
            if !whole.is_empty() {
                let mut call = ToolCall::new("", name, whole);
                redactor.redact_call(&mut call);
                rest = call.arguments.to_text().into_owned();
            }
            emit(&rest, sink, |text| Delta::Arguments { index, text });
        }
        self.sources = HeldSources::default();
    }

    fn finish_text(&mut self, redactor: &Redactor, sink: &mut DeltaSink<'_>) {
        let text = self.text.finish(redactor);
        emit(&text, sink, |text| Delta::Text(text));
        self.sources.pass_text(&text, redactor, sink);
        self.sources.finish(redactor, sink);
    }

    fn finish_reasoning(&mut self, redactor: &Redactor, sink: &mut DeltaSink<'_>) {
        emit(&self.reasoning.finish(redactor), sink, |text| Delta::Reasoning(text));
    }
}

impl HeldSources {
    /// Records text that was received.
    fn add_text(&mut self, text: &str) {
        if !self.is_text_changed {
            self.pending.push_str(text);
        }
    }

    /// Handles text that was passed on, and passes on the sources if none is pending.
    fn pass_text(&mut self, text: &str, redactor: &Redactor, sink: &mut DeltaSink<'_>) {
        if !self.is_text_changed && self.pending.starts_with(text) {
            self.pending.drain(..text.len());
        } else {
            self.is_text_changed = true;
            self.pending.clear();
        }
        if self.pending.is_empty() || self.is_text_changed {
            self.finish(redactor, sink);
        }
    }

    /// Passes the sources on.
    fn finish(&mut self, redactor: &Redactor, sink: &mut DeltaSink<'_>) {
        for mut source in self.waiting.drain(..) {
            redactor.redact_source(&mut source);
            if self.is_text_changed {
                source.range = None;
            }
            sink(Delta::Source(&source));
        }
    }
}

fn emit(text: &str, sink: &mut DeltaSink<'_>, delta: impl FnOnce(&str) -> Delta<'_>) {
    if !text.is_empty() {
        sink(delta(text));
    }
}
