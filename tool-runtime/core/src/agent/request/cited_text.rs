//! Keeps the sources and files of a reply, and the ranges of sources in its text, while the reply
//! is changed.

use crate::message::AssistantPart;
use crate::models::ChatReply;

/// The text, the sources and the files of a reply before a driver or hooks change it.
pub(super) struct CitedText {
    text: String,
    attached: Vec<AssistantPart>,
}

impl CitedText {
    /// Returns the text, the sources and the files of a reply; `None` if it has only text.
    pub(super) fn of(reply: &ChatReply) -> Option<Self> {
        let attached: Vec<_> = reply.parts.iter().filter(is_attached).cloned().collect();
        (!attached.is_empty()).then(|| Self { text: reply.to_text(), attached })
    }

    /// Adds the sources and files that a driver has left out of the parsed reply, because it builds
    /// the reply from the text alone.
    pub(super) fn restore(mut self, reply: &mut ChatReply) {
        if !reply.parts.iter().any(|part| is_attached(&part)) {
            reply.parts.append(&mut self.attached);
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

fn is_attached(part: &&AssistantPart) -> bool {
    matches!(part, AssistantPart::Source(_) | AssistantPart::File(_))
}
