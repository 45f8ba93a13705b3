//! The row of a session, and the errors of its table.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};

use super::{checksum, names};
use crate::agent::session::SessionError;

/// The columns of [`SessionRow::read`].
pub(super) const COLUMNS: &str =
    "id, revision, messages, saved_at, state_checksum, chain, checksum";

/// Row of a session without its name and its state.
#[derive(Clone, Copy)]
pub(super) struct SessionRow {
    pub(super) id: i64,
    pub(super) revision: i64,
    pub(super) messages: i64,
    pub(super) saved_at: i64,
    /// The checksum of the state.
    pub(super) state_checksum: i64,
    /// The checksum of all messages.
    pub(super) chain: i64,
    pub(super) checksum: i64,
}

impl SessionRow {
    /// Creates a row whose own checksum is not known yet.
    pub(super) fn new(
        id: i64,
        revision: i64,
        messages: i64,
        saved_at: i64,
        state_checksum: i64,
        chain: i64,
    ) -> Self {
        Self { id, revision, messages, saved_at, state_checksum, chain, checksum: 0 }
    }

    /// Reads the row from these [`COLUMNS`].
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            revision: row.get(1)?,
            messages: row.get(2)?,
            saved_at: row.get(3)?,
            state_checksum: row.get(4)?,
            chain: row.get(5)?,
            checksum: row.get(6)?,
        })
    }

    /// Returns the revision and the number of messages.
    pub(super) fn position(&self) -> (u64, usize) {
        (self.revision.cast_unsigned(), usize::try_from(self.messages).unwrap_or_default())
    }

    /// Returns the checksum of the row under a name.
    pub(super) fn checksum_as(&self, name: &str) -> i64 {
        let Self { id, revision, messages, saved_at, state_checksum, chain, checksum: _ } = *self;
        checksum::of_session(name, &[id, revision, messages, saved_at, state_checksum, chain])
    }

    /// Returns the row, or an error if it is not that of the session.
    pub(super) fn verified(self, session: &str) -> Result<Self, SessionError> {
        if self.checksum == self.checksum_as(session) {
            Ok(self)
        } else {
            Err(damaged(session, None, "the checksum of the session is wrong"))
        }
    }
}

/// Returns the row of a session, or `None` if there certainly is none.
pub(super) fn find(
    connection: &Connection,
    session: &str,
) -> Result<Option<SessionRow>, SessionError> {
    let find = format!("SELECT {COLUMNS} FROM sessions WHERE name = ?1");
    let found = connection.query_row(&find, (session,), SessionRow::read).optional();
    match found.map_err(|error| failed(session, error))? {
        Some(row) => row.verified(session).map(Some),
        None => check_names(connection, session).map(|()| None),
    }
}

/// Checks that the list of names is complete.
pub(super) fn check_names(connection: &Connection, session: &str) -> Result<(), SessionError> {
    if names::are_complete(connection).map_err(|error| failed(session, error))? {
        Ok(())
    } else {
        Err(damaged(session, None, "the list of session names is damaged"))
    }
}

pub(super) fn damaged(
    session: &str,
    message_index: Option<usize>,
    reason: impl Into<String>,
) -> SessionError {
    SessionError::CorruptRecord {
        session: session.to_owned(),
        message_index,
        reason: reason.into(),
    }
}

/// Converts an error: a damaged file differs from one that is busy, missing or read-only.
pub(super) fn failed(session: &str, error: rusqlite::Error) -> SessionError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => SessionError::InvalidWrite {
            session: session.to_owned(),
            reason: format!("the file of sessions is read-only: {error}"),
        },
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationAborted
            | ErrorCode::OperationInterrupted
            | ErrorCode::OutOfMemory
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure,
        ) => SessionError::unavailable(error),
        // Also a statement that does not fit the tables: the description of the tables is damaged.
        _ => damaged(session, None, error.to_string()),
    }
}
