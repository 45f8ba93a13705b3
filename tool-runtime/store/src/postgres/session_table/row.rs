//! The rows of sessions.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::postgres::error::Failure;
use crate::sessions::{SessionRow, as_integer, checksum, corrupt_record};

/// The columns of [`read`].
pub(super) const COLUMNS: &str = "id, revision, messages, saved_at, state_checksum, chain, status, failure, principal, \
     title, checksum";

/// The lock of a row, held until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lock {
    /// Waits for writers, and makes them wait.
    Share,
    /// Waits for all other locks, and makes them wait.
    Update,
}

/// Reads a column of a row, whose type differs only if the table was altered.
pub(super) fn column<'r, T: FromSql<'r>>(
    session: &str,
    row: &'r Row,
    index: usize,
) -> Result<T, Failure> {
    let value = row.try_get(index);
    value.map_err(|error| corrupt_record(session, None, error.to_string()).into())
}

/// Reads the row from these [`COLUMNS`].
pub(super) fn read(session: &str, row: &Row) -> Result<SessionRow, Failure> {
    let number = |index| column::<i64>(session, row, index);
    let text = |index| {
        let text: Option<&[u8]> = column(session, row, index)?;
        // Bytes that are no text have another checksum.
        Ok::<_, Failure>(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    };
    Ok(SessionRow {
        id: number(0)?,
        revision: number(1)?,
        messages: number(2)?,
        saved_at: number(3)?,
        state_checksum: number(4)?,
        chain: number(5)?,
        status: column(session, row, 6)?,
        failure: column(session, row, 7)?,
        principal: text(8)?,
        title: text(9)?,
        checksum: number(10)?,
    })
}

/// Finds, locks and verifies the row of a session.
pub(super) async fn find_locked(
    transaction: &Transaction<'_>,
    session: &str,
    lock: Lock,
) -> Result<Option<SessionRow>, Failure> {
    let lock = match lock {
        Lock::Share => "SHARE",
        Lock::Update => "UPDATE",
    };
    let find = format!("SELECT {COLUMNS} FROM tool_sessions WHERE name = $1 FOR {lock}");
    let find = transaction.prepare_cached(&find).await?;
    let row = transaction.query_opt(&find, &[&session.as_bytes()]).await?;
    row.map(|row| Ok(read(session, &row)?.verified(session)?)).transpose()
}

/// Returns the checksum of the messages of a session before this index.
pub(super) async fn chain_before(
    transaction: &Transaction<'_>,
    session: &str,
    found: Option<&SessionRow>,
    index: usize,
) -> Result<i64, Failure> {
    let Some((row, last)) = found.zip(index.checked_sub(1)) else { return Ok(checksum::EMPTY) };
    if index == row.position().1 {
        return Ok(row.chain);
    }
    let chain = "SELECT chain FROM tool_messages WHERE session = $1 AND place = $2";
    let chain = transaction.prepare_cached(chain).await?;
    match transaction.query_opt(&chain, &[&row.id, &as_integer(last)]).await? {
        Some(found) => Ok(checksum::in_session(column(session, &found, 0)?, row.id)),
        None => Err(corrupt_record(session, Some(last), "message is missing").into()),
    }
}
