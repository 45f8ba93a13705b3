//! Rows, checksums and encoding that the tables of sessions share, whatever the database.
//!
//! 1. `write.rs` encodes the messages of a write and computes their checksums.
//! 2. `row.rs` is the row of a session, with a checksum of its name and its columns.
//! 3. `messages.rs` verifies and decodes the rows of messages.
//!
//! The checksums are in `checksum.rs`. No file knows a database, a clock or chance.

pub(super) mod checksum;
mod messages;
mod row;
mod write;

pub(super) use messages::{MessageBounds, MessageRow, decode_messages, decode_state};
pub(super) use row::SessionRow;
pub(super) use write::{EncodedWrite, as_integer};

use tool_core::agent::session::SessionError;

/// Creates the error of a record that was altered.
pub(super) fn corrupt_record(
    session: &str,
    message_index: Option<usize>,
    reason: impl Into<String>,
) -> SessionError {
    SessionError::Corrupt { session: session.to_owned(), message_index, reason: reason.into() }
}
