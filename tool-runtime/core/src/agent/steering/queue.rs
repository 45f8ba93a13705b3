//! The messages that wait for one address, bounded in number and bytes.

use std::collections::VecDeque;

/// The source of the note about dropped messages.
const NOTE_SOURCE: &str = "the message queue";

/// The maximum number and size of the messages that wait for one address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) max_messages: usize,
    pub(super) max_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_messages: 100, max_bytes: 256 << 10 }
    }
}

/// A message that has not been delivered yet.
#[derive(Clone, Debug)]
pub(in crate::agent) struct QueuedMessage {
    /// The position among the messages of all addresses.
    pub(super) number: u64,
    /// The source of an untrusted text; `None` for a text of the user.
    pub(super) source: Option<String>,
    /// The key of a message that is delivered once.
    pub(in crate::agent) key: Option<String>,
    pub(super) text: String,
}

impl QueuedMessage {
    /// Creates the note to the model that messages were dropped.
    ///
    /// The note has a source, like the messages that it replaces, so that the model does not
    /// mistake it for a message of the user.
    pub(super) fn dropped_note(count: u64) -> Self {
        let text = match count {
            1 => "1 message was dropped: too many were waiting.".to_owned(),
            count => format!("{count} messages were dropped: too many were waiting."),
        };
        Self { number: 0, source: Some(NOTE_SOURCE.to_owned()), key: None, text }
    }

    /// Creates a message of the user from the store.
    pub(in crate::agent) fn from_inbox(key: String, text: String) -> Self {
        Self { number: 0, source: None, key: Some(key), text }
    }

    fn is_trusted(&self) -> bool {
        self.source.is_none()
    }

    fn bytes(&self) -> usize {
        let optional = [&self.source, &self.key];
        self.text.len() + optional.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: VecDeque<QueuedMessage>,
    bytes: usize,
    trusted_count: usize,
    trusted_bytes: usize,
    dropped_count: u64,
}

impl Queue {
    /// Appends a message, and drops the oldest untrusted ones to make room. If that does not
    /// suffice, returns false, and drops the message instead.
    pub(super) fn push(&mut self, message: QueuedMessage, bounds: Bounds) -> bool {
        let Bounds { max_messages, max_bytes } = bounds;
        let bytes = message.bytes();
        if self.trusted_count >= max_messages
            || self.trusted_bytes.saturating_add(bytes) > max_bytes
        {
            self.dropped_count += u64::from(!message.is_trusted());
            return false;
        }
        while self.messages.len() >= max_messages || self.bytes + bytes > max_bytes {
            let oldest = self.messages.iter().position(|message| !message.is_trusted());
            let Some(dropped) = oldest.and_then(|index| self.messages.remove(index)) else { break };
            self.bytes -= dropped.bytes();
            self.dropped_count += 1;
        }
        self.bytes += bytes;
        if message.is_trusted() {
            self.trusted_count += 1;
            self.trusted_bytes += bytes;
        }
        self.messages.push_back(message);
        true
    }

    /// Returns whether a message with this key waits.
    pub(super) fn contains(&self, key: &str) -> bool {
        self.messages.iter().any(|message| message.key.as_deref() == Some(key))
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn has_trusted(&self) -> bool {
        self.trusted_count > 0
    }

    pub(super) fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    /// Returns the position of the oldest message among those of all addresses.
    pub(super) fn first_number(&self) -> Option<u64> {
        self.messages.front().map(|message| message.number)
    }

    pub(super) fn into_messages(self) -> VecDeque<QueuedMessage> {
        self.messages
    }
}
