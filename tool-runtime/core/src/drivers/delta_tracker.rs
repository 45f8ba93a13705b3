//! Records the emitted part of a reply, so that the rest can be emitted once.

use std::collections::{BTreeMap, HashMap};

use crate::message::{AssistantPart, CallId, Message, Source, ToolCall};
use crate::models::history::CallIds;
use crate::models::{ChatReply, Delta, DeltaSink};

/// Forwards deltas and records what they contain. Each call receives its id with its first delta.
pub(crate) struct DeltaTracker<'t> {
    transcript: &'t [Message],
    /// The ids of all calls so far. They are collected when the first call starts.
    ids: Option<CallIds>,
    text: String,
    reasoning: String,
    calls: BTreeMap<usize, EmittedCall>,
    /// How often each source was emitted. Its range may be known later.
    sources: HashMap<Source, usize>,
    /// The number of emitted files.
    files: usize,
}

/// The emitted part of a call.
#[derive(Default)]
struct EmittedCall {
    id: CallId,
    /// The id that the model has sent, if any.
    original_id: CallId,
    name: String,
    arguments: String,
}

impl<'t> DeltaTracker<'t> {
    pub(crate) fn new(transcript: &'t [Message]) -> Self {
        let (text, reasoning) = (String::new(), String::new());
        let (calls, sources) = (BTreeMap::new(), HashMap::new());
        Self { transcript, ids: None, text, reasoning, calls, sources, files: 0 }
    }

    /// Forgets the emitted part of a reply that was rejected. Its ids stay in use.
    pub(crate) fn restart(&mut self) {
        self.text.clear();
        self.reasoning.clear();
        self.calls.clear();
        self.sources.clear();
        self.files = 0;
    }

    /// Passes a delta on to `deltas` and records it.
    pub(crate) fn forward(&mut self, delta: Delta<'_>, deltas: &mut DeltaSink<'_>) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::File(_) => self.files += 1,
            Delta::Source(source) => *self.sources.entry(source.without_range()).or_default() += 1,
            Delta::Call { index, id: original_id, name } => {
                let id = self.call_id(index, original_id);
                deltas(Delta::Call { index, id: id.as_str(), name });
                // A new name replaces the call that was emitted at this index before.
                let (original_id, name) = (original_id.into(), name.to_owned());
                let call = EmittedCall { id, original_id, name, arguments: String::new() };
                self.calls.insert(index, call);
                return;
            }
            Delta::Arguments { index, text } => {
                if let Some(call) = self.calls.get_mut(&index) {
                    call.arguments.push_str(text);
                }
            }
        }
        deltas(delta);
    }

    /// Emits what the parsed reply contains and was not emitted, and sets the ids of its calls.
    pub(crate) fn emit_rest(&mut self, reply: &mut ChatReply, deltas: &mut DeltaSink<'_>) {
        let (text, reasoning) =
            (std::mem::take(&mut self.text), std::mem::take(&mut self.reasoning));
        let (mut emitted_text, mut emitted_reasoning) = (text.as_str(), reasoning.as_str());
        let mut positions = 0..;
        let started = self.calls.keys().next_back().map_or(0, |last| last.saturating_add(1));
        let mut free_indices = started.max(reply.calls().count())..;
        for part in &mut reply.parts {
            match part {
                AssistantPart::Text { text } => {
                    emit_suffix(text, &mut emitted_text, |text| deltas(Delta::Text(text)));
                }
                AssistantPart::Reasoning(reasoning) => {
                    emit_suffix(&reasoning.text, &mut emitted_reasoning, |text| {
                        deltas(Delta::Reasoning(text));
                    });
                }
                AssistantPart::File(_) if self.files > 0 => self.files -= 1,
                AssistantPart::File(file) => deltas(Delta::File(file)),
                AssistantPart::Source(source) => {
                    match self.sources.get_mut(&source.without_range()) {
                        Some(count) if *count > 0 => *count -= 1,
                        _ => deltas(Delta::Source(source)),
                    }
                }
                AssistantPart::Call(call) => {
                    let Some(position) = positions.next() else { return };
                    let index = self.index_of(call, position, started);
                    let Some(index) = index.or_else(|| free_indices.next()) else { return };
                    call.id = self.call_id(index, call.id.as_str());
                    let emitted = self.calls.remove(&index).unwrap_or_default();
                    if emitted.name != call.name {
                        let id = call.id.as_str();
                        deltas(Delta::Call { index, id, name: &call.name });
                    }
                    emit_suffix(
                        &call.arguments.to_text(),
                        &mut emitted.arguments.as_str(),
                        |text| {
                            deltas(Delta::Arguments { index, text });
                        },
                    );
                }
            }
        }
    }

    /// Returns the index under which a call of the parsed reply was emitted, or under which it can
    /// be. A model may start its calls in another order than that of the reply.
    fn index_of(&self, call: &ToolCall, position: usize, started: usize) -> Option<usize> {
        let is_sent = !call.id.as_str().is_empty();
        let same_id =
            self.calls.iter().find(|(_, emitted)| is_sent && emitted.original_id == call.id);
        if let Some((index, _)) = same_id {
            return Some(*index);
        }
        let is_same = match self.calls.get(&position) {
            Some(emitted) => !is_sent || emitted.original_id.as_str().is_empty(),
            None => position >= started,
        };
        is_same.then_some(position)
    }

    /// Returns the id of the call at `index`, which never changes once it was emitted.
    fn call_id(&mut self, index: usize, original_id: &str) -> CallId {
        match self.calls.get(&index) {
            Some(call) => call.id.clone(),
            None => {
                let ids = self.ids.get_or_insert_with(|| CallIds::of(self.transcript));
                ids.assign(original_id.into())
            }
        }
    }
}

/// Emits the part of `text` that is not in `emitted`. Text that differs was emitted in another
/// form; it is not emitted again.
fn emit_suffix(text: &str, emitted: &mut &str, emit: impl FnOnce(&str)) {
    if let Some(later) = emitted.strip_prefix(text) {
        *emitted = later;
    } else if let Some(rest) = text.strip_prefix(*emitted) {
        *emitted = "";
        emit(rest);
    }
}
