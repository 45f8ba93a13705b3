//! Operations on the tables of sessions.

use std::ops::Range;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::names::{self, CompleteNames};
use super::row::{self, COLUMNS, check_names, failed, find};
use super::{Context, lease_table};
use crate::sessions::{
    EncodedWrite, MessageBounds, MessageRow, SessionRow, as_integer, checksum, corrupt_record,
    decode_messages, decode_state,
};
use tool_core::agent::session::{
    SessionError, SessionInfo, SessionPart, SessionQuery, SessionRecord, SessionStatus,
    SessionWrite,
};

/// Saves a write in one transaction.
pub(super) fn save(
    connection: &mut Connection,
    context: Context<'_>,
    write: &EncodedWrite,
) -> Result<u64, SessionError> {
    let session = &write.session;
    // Immediate: a transaction that reads first and writes later fails if another writer came
    // between.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    lease_table::check(&transaction, context.owners, session, write.epoch)?;
    let found = find(&transaction, context.names, session)?;
    let revision = write.check(session, found.as_ref())?;
    let chain = chain_before(&transaction, session, found.as_ref(), write.from)?;
    write_rows(&transaction, write, found.as_ref(), chain, revision)
        .and_then(|_| transaction.commit())
        .map_err(|error| failed(session, error))?;
    Ok(revision)
}

/// Writes the rows, and returns the id of the session. `chain` is the checksum of the messages
/// before those of the write.
fn write_rows(
    transaction: &Transaction<'_>,
    write: &EncodedWrite,
    found: Option<&SessionRow>,
    chain: i64,
    revision: u64,
) -> rusqlite::Result<i64> {
    let id = match found {
        Some(row) => row.id,
        None => {
            let insert = "INSERT INTO sessions (name, revision, messages, state, saved_at, \
                          state_checksum, chain, status, failure, checksum) \
                          VALUES (?1, ?2, 0, '', 0, 0, 0, '', '', 0)";
            transaction.execute(insert, (&write.session, revision.cast_signed()))?;
            let id = transaction.last_insert_rowid();
            names::toggle(transaction, &write.session, 1)?;
            id
        }
    };
    let saved_count = found.map_or(0, |found| found.position().1);
    if saved_count > write.from {
        let truncate = "DELETE FROM messages WHERE session = ?1 AND place >= ?2";
        transaction.execute(truncate, (id, as_integer(write.from)))?;
    }
    let mut insert = transaction
        .prepare("INSERT INTO messages (session, place, message, chain) VALUES (?1, ?2, ?3, ?4)")?;
    let chains = write.chains(chain);
    for ((index, message), chain) in (write.from..).zip(&write.messages).zip(&chains) {
        let chain = checksum::in_session(*chain, id);
        insert.execute((id, as_integer(index), message, chain))?;
    }
    let chain = chains.last().copied().unwrap_or(chain);
    let row = write.row(id, found, revision, SystemTime::now(), chain);
    let update = "UPDATE sessions SET revision = ?2, messages = ?3, state = ?4, saved_at = ?5, \
                  state_checksum = ?6, chain = ?7, status = ?8, failure = ?9, principal = ?10, \
                  title = ?11, checksum = ?12 WHERE id = ?1";
    let SessionRow { revision, messages, saved_at, state_checksum, .. } = row;
    let SessionRow { status, failure, principal, title, checksum, .. } = row;
    let values = rusqlite::params![
        id,
        revision,
        messages,
        write.state,
        saved_at,
        state_checksum,
        chain,
        status,
        failure,
        principal,
        title,
        checksum
    ];
    transaction.execute(update, values)?;
    Ok(id)
}

/// Returns the checksum of the messages of a session before this index.
fn chain_before(
    transaction: &Transaction<'_>,
    session: &str,
    found: Option<&SessionRow>,
    index: usize,
) -> Result<i64, SessionError> {
    let Some((row, last)) = found.zip(index.checked_sub(1)) else { return Ok(checksum::EMPTY) };
    if index == row.position().1 {
        return Ok(row.chain);
    }
    let chain = "SELECT chain FROM messages WHERE session = ?1 AND place = ?2";
    let chain =
        transaction.query_row(chain, (row.id, as_integer(last)), |row| row.get(0)).optional();
    chain
        .map_err(|error| failed(session, error))?
        .map(|chain| checksum::in_session(chain, row.id))
        .ok_or_else(|| corrupt_record(session, Some(last), "message is missing"))
}

pub(super) fn load(
    connection: &mut Connection,
    names: &CompleteNames,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    let part = load_range(connection, names, session, 0..usize::MAX)?;
    Ok(part.map(|part| SessionRecord::new(part.messages, part.state, part.revision)))
}

pub(super) fn load_range(
    connection: &mut Connection,
    names: &CompleteNames,
    session: &str,
    range: Range<usize>,
) -> Result<Option<SessionPart>, SessionError> {
    // One transaction, so that both tables are from the same moment.
    let transaction = connection.transaction().map_err(|error| failed(session, error))?;
    let Some(row) = find(&transaction, names, session)? else { return Ok(None) };
    let (revision, count) = row.position();
    let bounds = MessageBounds::new(&range, count);
    let state = "SELECT CAST(state AS BLOB) FROM sessions WHERE id = ?1";
    let state: Vec<u8> = transaction
        .query_row(state, (row.id,), |row| row.get(0))
        .map_err(|error| failed(session, error))?;
    let state = decode_state(session, &row, state)?;
    let messages = if bounds.is_empty() {
        Vec::new()
    } else {
        let chain = chain_before(&transaction, session, Some(&row), bounds.from)?;
        let rows = read_messages(&transaction, &row, bounds);
        decode_messages(
            session,
            &row,
            bounds,
            chain,
            rows.map_err(|error| failed(session, error))?,
        )?
    };
    Ok(Some(SessionPart::new(bounds.from, messages, count, state, revision)))
}

fn read_messages(
    transaction: &Transaction<'_>,
    row: &SessionRow,
    bounds: MessageBounds,
) -> rusqlite::Result<Vec<MessageRow<String>>> {
    let texts = "SELECT place, message, chain FROM messages \
                 WHERE session = ?1 AND place >= ?2 AND place <= ?3 ORDER BY place";
    let mut texts = transaction.prepare(texts)?;
    let (first, last) = bounds.places();
    let rows = texts
        .query_map((row.id, first, last), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Copies the messages before `write.from` and adds those of the write.
pub(super) fn fork(
    connection: &mut Connection,
    context: Context<'_>,
    session: &str,
    to: String,
    write: EncodedWrite,
) -> Result<u64, SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    let source = find(&transaction, context.names, session)?;
    write.check(session, source.as_ref())?;
    if find(&transaction, context.names, &to)?.is_some() {
        return Err(SessionError::AlreadyExists { session: to });
    }
    lease_table::check(&transaction, context.owners, &to, write.epoch)?;
    let chain = chain_before(&transaction, session, source.as_ref(), write.from)?;
    let revision = SessionWrite::create().check(&to, 0, 0)?;
    let copy = write.copy_of(source.as_ref(), &to);
    let copied = || -> rusqlite::Result<()> {
        let id = write_rows(&transaction, &copy, None, chain, revision)?;
        if let Some(source) = source {
            // The difference of both is the exclusive or, for which SQLite has no operator.
            let messages = "INSERT INTO messages (session, place, message, chain) \
                            SELECT ?1, place, message, (chain | ?4) - (chain & ?4) FROM messages \
                            WHERE session = ?2 AND place < ?3";
            let rebind = checksum::in_session(source.id, id);
            transaction.execute(messages, (id, source.id, as_integer(copy.from), rebind))?;
        }
        Ok(())
    };
    copied().and_then(|()| transaction.commit()).map_err(|error| failed(session, error))?;
    Ok(revision)
}

pub(super) fn list(
    connection: &mut Connection,
    context: Context<'_>,
    query: &SessionQuery<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let prefix = query.prefix;
    let transaction = connection.transaction().map_err(|error| failed(prefix, error))?;
    // A session that the index has lost would be missing from the list.
    check_names(&transaction, context.names, prefix)?;
    let of_status = query.status.map(|status| {
        let saved: Vec<_> = status.saved_as().iter().map(|saved| format!("'{saved}'")).collect();
        format!("AND status IN ({})", saved.join(", "))
    });
    let (index, of_principal) = match (query.principal, query.status) {
        (Some(_), _) => ("INDEXED BY sessions_by_principal", "principal = ?2"),
        (None, Some(_)) => ("INDEXED BY sessions_by_status", "?2 IS NULL"),
        (None, None) => ("", "?2 IS NULL"),
    };
    let select = format!(
        "SELECT {COLUMNS}, name FROM sessions {index} WHERE {of_principal} {} AND name >= ?1 \
         ORDER BY name",
        of_status.unwrap_or_default()
    );
    let failed = |error| failed(prefix, error);
    let mut select = transaction.prepare(&select).map_err(failed)?;
    let start = query.after.map_or(prefix, |after| after.max(prefix));
    let mut found = select.query((start, query.principal)).map_err(failed)?;
    let mut listed = Vec::new();
    // Rows are read one by one: those behind the page are not.
    while listed.len() < query.limit.unwrap_or(usize::MAX)
        && let Some(row) = found.next().map_err(failed)?
    {
        let name: String = row.get(11).map_err(failed)?;
        if !name.starts_with(prefix) {
            break;
        }
        let row = row::read(row).map_err(failed)?;
        let is_leased = row.status == SessionStatus::Running.as_str()
            && lease_table::is_live(&transaction, context.owners, &name)?;
        let info = row.into_info(name, is_leased)?;
        if query.matches(&info) {
            listed.push(info);
        }
    }
    Ok(listed)
}

pub(super) fn set_title(
    connection: &mut Connection,
    context: Context<'_>,
    session: &str,
    title: Option<&str>,
) -> Result<(), SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    let Some(row) = find(&transaction, context.names, session)? else {
        return Err(SessionError::NotFound { session: session.to_owned() });
    };
    let row = row.with_title(session, title);
    let update = "UPDATE sessions SET title = ?2, checksum = ?3 WHERE id = ?1";
    transaction
        .execute(update, (row.id, row.title, row.checksum))
        .and_then(|_| transaction.commit())
        .map_err(|error| failed(session, error))
}

pub(super) fn rename(
    connection: &mut Connection,
    context: Context<'_>,
    session: &str,
    to: &str,
    epoch: Option<u64>,
) -> Result<(), SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    lease_table::check(&transaction, context.owners, session, epoch)?;
    let Some(row) = find(&transaction, context.names, session)? else {
        return Err(SessionError::NotFound { session: session.to_owned() });
    };
    if session == to {
        return Ok(());
    }
    lease_table::check(&transaction, context.owners, to, None)?;
    if find(&transaction, context.names, to)?.is_some() {
        return Err(SessionError::AlreadyExists { session: to.to_owned() });
    }
    let update = "UPDATE sessions SET name = ?2, checksum = ?3 WHERE id = ?1";
    transaction
        .execute(update, (row.id, to, row.checksum_as(to)))
        .and_then(|_| names::toggle(&transaction, session, -1))
        .and_then(|()| names::toggle(&transaction, to, 1))
        .and_then(|()| transaction.commit())
        .map_err(|error| failed(session, error))
}

pub(super) fn delete(
    connection: &mut Connection,
    context: Context<'_>,
    session: &str,
    epoch: Option<u64>,
) -> Result<(), SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    lease_table::check(&transaction, context.owners, session, epoch)?;
    let delete = || -> rusqlite::Result<usize> {
        let messages = "DELETE FROM messages \
                     WHERE session = (SELECT id FROM sessions WHERE name = ?1)";
        transaction.execute(messages, (session,))?;
        transaction.execute("DELETE FROM sessions WHERE name = ?1", (session,))
    };
    if delete().map_err(|error| failed(session, error))? > 0 {
        names::toggle(&transaction, session, -1).map_err(|error| failed(session, error))?;
    } else {
        // A session that the index has lost would stay in the file.
        check_names(&transaction, context.names, session)?;
    }
    transaction.commit().map_err(|error| failed(session, error))
}
