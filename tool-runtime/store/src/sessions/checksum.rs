//! Checksums of what is stored, so that an altered file is an error and never another conversation.
//!
//! Each message has the checksum of the conversation up to it: of its own text and of the checksum
//! before it. The row of a message stores it [bound to its session](in_session). The row of a
//! session has that of its last message, and a checksum of all its other columns and its name. So
//! no row can stand for another one, or for an earlier one of itself.

use hmac_sha256::Hash;

/// The checksum of a conversation without messages.
pub(crate) const EMPTY: i64 = 0;

/// The checksum of a text that is missing.
pub(crate) const NONE: i64 = 0;

/// Returns the checksum of a conversation from that of the messages before the last one, and the
/// text of the last one.
pub(crate) fn after_message(before: i64, message: &[u8]) -> i64 {
    of_parts(&[&before.to_le_bytes(), message])
}

/// Binds the checksum of a conversation to the session with this id, or a bound one to none.
///
/// Two sessions with the same messages store different checksums, so their rows can't be exchanged.
/// Databases compute the same exclusive or: rows are copied without their texts, and a wrong
/// checksum stays wrong.
pub(crate) fn in_session(chain: i64, session_id: i64) -> i64 {
    chain ^ session_id
}

/// Returns the checksum of a name, or of a state.
pub(crate) fn of_text(text: &[u8]) -> i64 {
    of_parts(&[text])
}

/// Returns the checksum of the name and the numbers of a session.
pub(crate) fn of_session(name: &str, numbers: &[i64]) -> i64 {
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    of_parts(&[&numbers, name.as_bytes()])
}

/// All parts but the last one have a fixed length, so the boundaries need no marks.
fn of_parts(parts: &[&[u8]]) -> i64 {
    let mut hash = Hash::new();
    parts.iter().for_each(|part| hash.update(part));
    let [a, b, c, d, e, f, g, h, ..] = hash.finalize();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}
