//! Writing of sessions.

use std::ops::Range;
use std::time::SystemTime;

use deadpool_postgres::{Pool, Transaction};
use tokio_postgres::types::ToSql;

use super::lease;
use super::row::{Lock, chain_before, find_locked};
use crate::postgres::error::Failure;
use crate::postgres::retry::{Attempted, retried};
use crate::sessions::{EncodedWrite, SessionRow, as_integer, checksum};
use tool_core::agent::session::SessionError;

/// The most bytes of messages in one statement, apart from one message that is longer.
const STATEMENT_BYTES: usize = 16 << 20;

pub(in crate::postgres) async fn save(
    pool: &Pool,
    write: EncodedWrite,
) -> Result<u64, SessionError> {
    let (attempted, saved_at) = (Attempted::default(), SystemTime::now());
    retried(&write.session, || try_save(pool, &write, saved_at, &attempted)).await
}

async fn try_save(
    pool: &Pool,
    write: &EncodedWrite,
    saved_at: SystemTime,
    attempted: &Attempted,
) -> Result<u64, Failure> {
    let session = &write.session;
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    loop {
        let found = find_locked(&transaction, session, Lock::Update).await?;
        if let Some(row) = found.as_ref().filter(|row| attempted.has_written(row)) {
            return Ok(row.position().0);
        }
        lease::check(&transaction, session, write.epoch).await?;
        let revision = write.check(session, found.as_ref())?;
        let id = match &found {
            Some(row) => row.id,
            None => match insert(&transaction, session).await? {
                Some(id) => id,
                // Another writer has created the session meanwhile.
                None => continue,
            },
        };
        let chain = chain_before(&transaction, session, found.as_ref(), write.from).await?;
        let chains = write.chains(chain);
        let found = found.as_ref();
        let row = write.row(id, found, revision, saved_at, chains.last().copied().unwrap_or(chain));
        let saved_count = found.map_or(0, |row| row.position().1);
        write_rows(&transaction, write, &row, &chains, saved_count).await?;
        attempted.record(&row);
        transaction.commit().await?;
        return Ok(revision);
    }
}

/// Inserts the row of a session, whose columns are written later, and returns its id; `None` if
/// there is one already.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    session: &str,
) -> Result<Option<i64>, Failure> {
    let insert = "INSERT INTO tool_sessions \
                  (name, revision, messages, state, saved_at, state_checksum, chain, status, \
                  failure, checksum) VALUES ($1, 0, 0, '', 0, 0, 0, '', '', 0) ON CONFLICT (name) DO NOTHING RETURNING id";
    let insert = transaction.prepare_cached(insert).await?;
    let row = transaction.query_opt(&insert, &[&session.as_bytes()]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Writes the messages and the row of a session. `chains` are the checksums of the messages.
pub(super) async fn write_rows(
    transaction: &Transaction<'_>,
    write: &EncodedWrite,
    row: &SessionRow,
    chains: &[i64],
    saved_count: usize,
) -> Result<(), Failure> {
    if saved_count > write.from {
        let truncate = "DELETE FROM tool_messages WHERE session = $1 AND place >= $2";
        let truncate = transaction.prepare_cached(truncate).await?;
        transaction.execute(&truncate, &[&row.id, &as_integer(write.from)]).await?;
    }
    for range in statements(&write.messages) {
        let insert = "INSERT INTO tool_messages (session, place, message, chain) \
                      SELECT $1, $2 + number - 1, message, chain \
                      FROM unnest($3::bytea[], $4::int8[]) \
                      WITH ORDINALITY AS new (message, chain, number)";
        let insert = transaction.prepare_cached(insert).await?;
        let texts = write.messages.get(range.clone()).unwrap_or_default();
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let chains = chains.get(range.clone()).unwrap_or_default().iter();
        let chains: Vec<i64> = chains.map(|chain| checksum::in_session(*chain, row.id)).collect();
        let from = as_integer(write.from + range.start);
        transaction.execute(&insert, &[&row.id, &from, &texts, &chains]).await?;
    }
    let update = "UPDATE tool_sessions SET revision = $2, messages = $3, state = $4, \
                  saved_at = $5, state_checksum = $6, chain = $7, status = $8, failure = $9, \
                  principal = $10, title = $11, checksum = $12 WHERE id = $1";
    let update = transaction.prepare_cached(update).await?;
    let SessionRow { id, revision, messages, saved_at, state_checksum, chain, .. } = row;
    let SessionRow { status, failure, checksum, .. } = row;
    let [principal, title] =
        [&row.principal, &row.title].map(|text| text.as_ref().map(String::as_bytes));
    let state = write.state.as_bytes();
    let values: [&(dyn ToSql + Sync); 12] = [
        id,
        revision,
        messages,
        &state,
        saved_at,
        state_checksum,
        chain,
        status,
        failure,
        &principal,
        &title,
        checksum,
    ];
    transaction.execute(&update, &values).await?;
    Ok(())
}

/// Splits messages into ranges that fit into one statement each.
fn statements(messages: &[String]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate() {
        bytes += message.len();
        match ranges.last_mut() {
            Some(range) if bytes <= STATEMENT_BYTES => range.end = index + 1,
            _ => {
                bytes = message.len();
                ranges.push(index..index + 1);
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_cover_all_messages_and_are_bounded() {
        let of = |lengths: &[usize]| {
            let messages: Vec<_> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            statements(&messages)
        };
        let most = STATEMENT_BYTES;
        assert!(of(&[]).is_empty());
        assert_eq!(of(&[1, most - 1, 1, most + 1, 0, 1]), [0..2, 2..3, 3..4, 4..6]);
    }
}
