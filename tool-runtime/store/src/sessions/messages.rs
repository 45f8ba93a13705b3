//! Verification and decoding of messages and states.

use std::ops::Range;

use super::{SessionRow, as_integer, checksum, corrupt_record};
use tool_core::Message;
use tool_core::agent::session::SessionError;

/// Row of a message: its index, its text, and the checksum of the conversation up to it, bound to
/// the session.
pub(crate) type MessageRow<T> = (i64, T, i64);

/// The messages to read for a range of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessageBounds {
    /// The index of the first message.
    pub(crate) from: usize,
    /// The index after the last message of the range; `usize::MAX` if it ends with the
    /// conversation.
    end: usize,
    count: usize,
}

impl MessageBounds {
    /// Returns the bounds of a range in a conversation of `count` messages.
    pub(crate) fn new(range: &Range<usize>, count: usize) -> Self {
        // A range that ends with the conversation also covers messages that should not be there.
        let end = if range.end < count { range.end } else { usize::MAX };
        Self { from: range.start.min(end.min(count)), end, count }
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.end != usize::MAX && self.from >= self.end
    }

    /// Returns the first and the last index to read. The last one is that of the message after the
    /// range: its checksum shows that the range is the newest one.
    pub(crate) fn places(&self) -> (i64, i64) {
        (as_integer(self.from), as_integer(self.end))
    }
}

/// Verifies and decodes the messages at these bounds. `chain` is the checksum of the messages
/// before them, and `rows` are all that the table has at the [places](MessageBounds::places).
pub(crate) fn decode_messages<T: AsRef<[u8]>>(
    session: &str,
    row: &SessionRow,
    bounds: MessageBounds,
    mut chain: i64,
    rows: impl IntoIterator<Item = MessageRow<T>>,
) -> Result<Vec<Message>, SessionError> {
    let MessageBounds { from, end, count } = bounds;
    let mut messages = Vec::new();
    let mut next = from;
    for (index, text, expected) in rows {
        if index != as_integer(next) {
            return Err(corrupt_record(session, Some(next), "message is missing"));
        }
        chain = checksum::after_message(chain, text.as_ref());
        if checksum::in_session(chain, row.id) != expected {
            return Err(corrupt_record(
                session,
                Some(next),
                "the checksum of the message is wrong",
            ));
        }
        if next < end {
            let message: Message = serde_json::from_slice(text.as_ref())
                .map_err(|error| corrupt_record(session, Some(next), error.to_string()))?;
            messages.push(message);
        }
        next += 1;
    }
    // A range within the conversation ends with the message after it.
    let expected = if end == usize::MAX { count } else { end + 1 };
    if next != expected {
        return Err(corrupt_record(session, Some(next), format!("expected {count} messages")));
    }
    if next == count && chain != row.chain {
        return Err(corrupt_record(session, None, "the checksum of the messages is wrong"));
    }
    Ok(messages)
}

/// Verifies the state of a session.
pub(crate) fn decode_state(
    session: &str,
    row: &SessionRow,
    state: Vec<u8>,
) -> Result<String, SessionError> {
    if checksum::of_text(&state) != row.state_checksum {
        return Err(corrupt_record(session, None, "the checksum of the state is wrong"));
    }
    String::from_utf8(state).map_err(|error| corrupt_record(session, None, error.to_string()))
}
