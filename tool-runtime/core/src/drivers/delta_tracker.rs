//! Records the emitted part of a reply, so that the rest can be emitted once.

use std::collections::BTreeMap;

use crate::message::AssistantPart;
use crate::models::{ChatReply, Delta, DeltaSink};

/// Forwards the deltas of a reply and records them, so that all content is emitted exactly once.
#[derive(Debug, Default)]
pub(crate) struct DeltaTracker {
    text: String,
    reasoning: String,
    /// The names and arguments of calls, by their index in the reply.
    calls: BTreeMap<usize, (String, String)>,
}

impl DeltaTracker {
    pub(crate) fn forward(&mut self, delta: Delta<'_>, deltas: &mut DeltaSink<'_>) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::Call { index, name } => {
                // A new name replaces the call that was emitted at this index before.
                self.calls.insert(index, (name.to_owned(), String::new()));
            }
            Delta::Arguments { index, text } => {
                if let Some((_, arguments)) = self.calls.get_mut(&index) {
                    arguments.push_str(text);
                }
            }
        }
        deltas(delta);
    }

    /// Emits the content of `reply` that was not forwarded. Forwarded content that differs from
    /// the reply is void.
    pub(crate) fn emit_rest(self, reply: &ChatReply, deltas: &mut DeltaSink<'_>) {
        let Self { text, reasoning, calls } = self;
        let (mut emitted_text, mut emitted_reasoning) = (text.as_str(), reasoning.as_str());
        let mut indices = 0..;
        for part in &reply.parts {
            match part {
                AssistantPart::Text { text } => {
                    emit_suffix(text, &mut emitted_text, |text| deltas(Delta::Text(text)));
                }
                AssistantPart::Reasoning(reasoning) => {
                    emit_suffix(&reasoning.text, &mut emitted_reasoning, |text| {
                        deltas(Delta::Reasoning(text));
                    });
                }
                AssistantPart::Call(call) => {
                    let Some(index) = indices.next() else { return };
                    let (name, mut emitted) =
                        calls.get(&index).map_or(("", ""), |(name, text)| (name, text));
                    if name != call.name {
                        deltas(Delta::Call { index, name: &call.name });
                    }
                    emit_suffix(&call.arguments.to_text(), &mut emitted, |text| {
                        deltas(Delta::Arguments { index, text });
                    });
                }
            }
        }
    }
}

/// Emits what follows `emitted` in `text`. Leaves in `emitted` what belongs to later parts.
fn emit_suffix(text: &str, emitted: &mut &str, emit: impl FnOnce(&str)) {
    if let Some(later) = emitted.strip_prefix(text) {
        *emitted = later;
    } else if let Some(rest) = text.strip_prefix(*emitted) {
        *emitted = "";
        emit(rest);
    }
}
