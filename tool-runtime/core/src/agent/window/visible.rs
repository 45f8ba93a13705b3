//! The messages of a conversation that remain visible to the model after a cut.

use std::borrow::Cow;

use super::{ToolCallHistory, WindowState};
use crate::message::{AssistantPart, Message};
use crate::models::history::is_empty_reply;

/// Indices at which a conversation is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowBounds {
    /// The first message of the current run.
    pub(super) run_start: usize,
    /// The first visible message of earlier runs; at most `run_start`.
    pub(super) history_start: usize,
    /// The first visible reply of the current run; at least `run_start`.
    pub(super) replies_start: usize,
}

impl WindowBounds {
    pub(super) fn new(state: &WindowState, run_start: usize) -> Self {
        let replies_start = state.evicted_replies.map_or(run_start, |evicted| evicted.end);
        Self { run_start, history_start: state.history_start, replies_start }
    }

    /// Whether the message at `index` is visible wherever the conversation is cut.
    pub(super) fn always_keeps(self, messages: &[Message], index: usize) -> bool {
        match messages.get(index) {
            Some(Message::System { .. }) => true,
            Some(Message::User { .. }) => index >= self.run_start,
            _ => false,
        }
    }

    fn evicts(self, messages: &[Message], index: usize) -> bool {
        let start = if index < self.run_start { self.history_start } else { self.replies_start };
        index < start && !self.always_keeps(messages, index)
    }
}

/// A conversation with a cut, as the model receives it.
#[derive(Clone, Copy)]
pub(super) struct VisibleMessages<'m> {
    pub(super) messages: &'m [Message],
    pub(super) bounds: WindowBounds,
    pub(super) tool_calls: ToolCallHistory,
}

impl<'m> VisibleMessages<'m> {
    /// Returns the visible part of the message at `index`.
    pub(super) fn at(self, index: usize) -> Option<Cow<'m, Message>> {
        if self.bounds.evicts(self.messages, index) { None } else { self.at_without_cut(index) }
    }

    /// Returns all visible messages, or `None` if the whole conversation is visible unchanged.
    pub(super) fn select(self, summary: Option<&str>) -> Option<Vec<Message>> {
        let indices = 0..self.messages.len();
        let is_unchanged = |index| matches!(self.at(index), Some(Cow::Borrowed(_)));
        if summary.is_none() && indices.clone().all(is_unchanged) {
            return None;
        }
        let mut selected = Vec::new();
        let mut summary = summary.map(summary_message);
        let mut note = (self.bounds.replies_start > self.bounds.run_start).then(eviction_note);
        for index in indices {
            if index == self.bounds.history_start {
                selected.extend(summary.take());
            }
            match self.at(index) {
                Some(message) => selected.push(message.into_owned()),
                None if index >= self.bounds.run_start => selected.extend(note.take()),
                None => {}
            }
        }
        Some(selected)
    }

    /// Returns the evicted messages of earlier runs from the end of the summarized part on.
    pub(super) fn evicted(self, summary_end: usize) -> Vec<Message> {
        let is_evicted = |index: &usize| self.bounds.evicts(self.messages, *index);
        let evicted = (summary_end..self.bounds.history_start).filter(is_evicted);
        evicted.filter_map(|index| self.at_without_cut(index)).map(Cow::into_owned).collect()
    }

    /// Returns the part of the message at `index` that is visible if nothing is cut.
    fn at_without_cut(self, index: usize) -> Option<Cow<'m, Message>> {
        let message = self.messages.get(index)?;
        if index >= self.bounds.run_start || self.tool_calls == ToolCallHistory::AllRuns {
            return Some(Cow::Borrowed(message));
        }
        match message {
            Message::Tool { .. } => None,
            Message::Assistant { parts, .. } if message.calls().next().is_some() => {
                // Reasoning and provider-side tools belong to the calls and are dropped with them.
                let is_content = |part: &&AssistantPart| {
                    matches!(part, AssistantPart::Text { .. } | AssistantPart::File(_))
                };
                let parts: Vec<_> = parts.iter().filter(is_content).cloned().collect();
                (!is_empty_reply(&parts))
                    .then_some(Cow::Owned(Message::Assistant { id: None, parts }))
            }
            message => Some(Cow::Borrowed(message)),
        }
    }
}

/// Returns the message that carries a summary.
///
/// It is a user message, not a system message: text from anywhere may be part of the summary, so it
/// must not have the authority of instructions.
pub(super) fn summary_message(text: &str) -> Message {
    Message::user(format!("[Summary of the earlier conversation, which is left out here]\n{text}"))
}

/// Returns the note that takes the place of evicted calls of the current run.
pub(super) fn eviction_note() -> Message {
    Message::user(
        "[To save room, earlier calls of this run and their results are left out here. They did run: \
         repeat one only if its result is needed again.]",
    )
}
