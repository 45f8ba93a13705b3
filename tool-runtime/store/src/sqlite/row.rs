//! Reading the row of a session, and the errors of its table.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};

use super::names::CompleteNames;
use crate::sessions::{SessionRow, corrupt_record};
use tool_core::agent::session::SessionError;

/// The columns of [`read`].
pub(super) const COLUMNS: &str = "id, revision, messages, saved_at, state_checksum, chain, status, failure, principal, \
     title, checksum";

/// Reads the row from these [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        revision: row.get(1)?,
        messages: row.get(2)?,
        saved_at: row.get(3)?,
        state_checksum: row.get(4)?,
        chain: row.get(5)?,
        status: row.get(6)?,
        failure: row.get(7)?,
        principal: row.get(8)?,
        title: row.get(9)?,
        checksum: row.get(10)?,
    })
}

/// Returns the row of a session, or `None` if there certainly is none.
pub(super) fn find(
    connection: &Connection,
    names: &CompleteNames,
    session: &str,
) -> Result<Option<SessionRow>, SessionError> {
    let find = format!("SELECT {COLUMNS} FROM sessions WHERE name = ?1");
    let found = connection.query_row(&find, (session,), read).optional();
    match found.map_err(|error| failed(session, error))? {
        Some(row) => row.verified(session).map(Some),
        None => check_names(connection, names, session).map(|()| None),
    }
}

/// Checks that the list of names is complete.
pub(super) fn check_names(
    connection: &Connection,
    names: &CompleteNames,
    session: &str,
) -> Result<(), SessionError> {
    if names.are_complete(connection).map_err(|error| failed(session, error))? {
        Ok(())
    } else {
        Err(corrupt_record(session, None, "the list of session names is damaged"))
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
        _ => corrupt_record(session, None, error.to_string()),
    }
}
