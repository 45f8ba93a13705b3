//! Keeps the sources of a reply, and their ranges in its text, while the reply is changed.

use crate::message::{AssistantPart, Source};
use crate::models::ChatReply;

/// The text and the sources of a reply before a driver or hooks change it.
pub(super) struct CitedText {
    text: String,
    sources: Vec<Source>,
}

impl CitedText {
    /// Returns the text and the sources of a reply; `None` if it has no sources.
    pub(super) fn of(reply: &ChatReply) -> Option<Self> {
        let sources: Vec<_> = reply.sources().cloned().collect();
        (!sources.is_empty()).then(|| Self { text: reply.to_text(), sources })
    }

    /// Adds the sources that a driver has left out of the parsed reply, because it builds the
    /// reply from the text alone.
    pub(super) fn restore(self, reply: &mut ChatReply) {
        if reply.sources().next().is_none() {
            reply.parts.extend(self.sources.iter().cloned().map(AssistantPart::Source));
        }
        self.fit(reply);
    }

    /// Removes the ranges of the sources if the text has changed, or if they do not fit.
    pub(super) fn fit(&self, reply: &mut ChatReply) {
        let text = reply.to_text();
        let is_changed = text != self.text;
        for part in &mut reply.parts {
            if let AssistantPart::Source(source) = part {
                source.fit(if is_changed { "" } else { &text });
            }
        }
    }
}
