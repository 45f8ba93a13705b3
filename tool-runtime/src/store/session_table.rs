//! Operations on the tables of sessions.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::row::{COLUMNS, SessionRow, check_names, damaged, failed, find};
use super::{checksum, names};
use crate::agent::session::{
    SessionError, SessionInfo, SessionPart, SessionQuery, SessionRecord, SessionWrite,
};
use crate::message::Message;

/// Write operation whose messages are encoded.
pub(super) struct EncodedWrite {
    session: String,
    revision: u64,
    from: usize,
    messages: Vec<String>,
    state: String,
}

impl EncodedWrite {
    pub(super) fn new(session: &str, write: &SessionWrite<'_>) -> Result<Self, SessionError> {
        let encode = |(index, message)| encode(session, write.from + index, message);
        Ok(Self {
            session: session.to_owned(),
            revision: write.revision,
            from: write.from,
            messages: write.messages.iter().enumerate().map(encode).collect::<Result<_, _>>()?,
            state: write.state.to_owned(),
        })
    }

    pub(super) fn save(self, connection: &mut Connection) -> Result<u64, SessionError> {
        // Immediate: a transaction that reads first and writes later fails if another writer came
        // between.
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed(&self.session, error))?;
        let found = find(&transaction, &self.session)?;
        let (revision, saved_count) = found.as_ref().map_or((0, 0), SessionRow::position);
        let write = SessionWrite::update(self.revision).messages(self.from, &[]);
        let revision = write.check(&self.session, revision, saved_count)?;
        let chain = chain_before(&transaction, &self.session, found.as_ref(), self.from)?;
        self.write(&transaction, found.as_ref(), chain, revision.cast_signed())
            .and_then(|_| transaction.commit())
            .map_err(|error| failed(&self.session, error))?;
        Ok(revision)
    }

    /// Writes the rows, and returns the id of the session. `chain` is the checksum of the messages
    /// before those of the write.
    fn write(
        &self,
        transaction: &Transaction<'_>,
        found: Option<&SessionRow>,
        mut chain: i64,
        revision: i64,
    ) -> rusqlite::Result<i64> {
        let id = match found {
            Some(&SessionRow { id, .. }) => id,
            None => {
                let insert = "INSERT INTO sessions (name, revision, messages, state, saved_at) \
                             VALUES (?1, ?2, 0, '', 0)";
                transaction.execute(insert, (&self.session, revision))?;
                let id = transaction.last_insert_rowid();
                names::toggle(transaction, &self.session, 1)?;
                id
            }
        };
        let saved_count = found.map_or(0, |found| found.position().1);
        if saved_count > self.from {
            let truncate = "DELETE FROM messages WHERE session = ?1 AND place >= ?2";
            transaction.execute(truncate, (id, number(self.from)))?;
        }
        let mut insert = transaction.prepare(
            "INSERT INTO messages (session, place, message, chain) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for (index, message) in (self.from..).zip(&self.messages) {
            chain = checksum::after_message(chain, message.as_bytes());
            insert.execute((id, number(index), message, chain))?;
        }
        let messages = number(self.from + self.messages.len());
        let state_checksum = checksum::of_text(self.state.as_bytes());
        let row = SessionRow::new(id, revision, messages, now(), state_checksum, chain);
        let update = "UPDATE sessions SET revision = ?2, messages = ?3, state = ?4, saved_at = ?5, \
                      state_checksum = ?6, chain = ?7, checksum = ?8 WHERE id = ?1";
        let checksum = row.checksum_as(&self.session);
        let values =
            (id, revision, messages, &self.state, row.saved_at, state_checksum, chain, checksum);
        transaction.execute(update, values)?;
        Ok(id)
    }
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
    let chain = transaction.query_row(chain, (row.id, number(last)), |row| row.get(0)).optional();
    chain
        .map_err(|error| failed(session, error))?
        .ok_or_else(|| damaged(session, Some(last), "message is missing"))
}

pub(super) fn load(
    connection: &mut Connection,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    let part = load_range(connection, session, 0..usize::MAX)?;
    Ok(part.map(|part| SessionRecord::new(part.messages, part.state, part.revision)))
}

pub(super) fn load_range(
    connection: &mut Connection,
    session: &str,
    range: Range<usize>,
) -> Result<Option<SessionPart>, SessionError> {
    // One transaction, so that both tables are from the same moment.
    let transaction = connection.transaction().map_err(|error| failed(session, error))?;
    let Some(row) = find(&transaction, session)? else { return Ok(None) };
    let (revision, count) = row.position();
    // A range that ends with the conversation also covers messages that should not be there.
    let end = if range.end < count { range.end } else { usize::MAX };
    let from = range.start.min(end.min(count));
    let state = "SELECT state FROM sessions WHERE id = ?1";
    let state: String = transaction
        .query_row(state, (row.id,), |row| row.get(0))
        .map_err(|error| failed(session, error))?;
    if checksum::of_text(state.as_bytes()) != row.state_checksum {
        return Err(damaged(session, None, "the checksum of the state is wrong"));
    }
    let messages = if from < end.min(count) || end == usize::MAX {
        read_messages(&transaction, session, &row, from..end)?
    } else {
        Vec::new()
    };
    Ok(Some(SessionPart::new(from, messages, count, state, revision)))
}

/// Reads and verifies the messages of a range.
fn read_messages(
    transaction: &Transaction<'_>,
    session: &str,
    row: &SessionRow,
    range: Range<usize>,
) -> Result<Vec<Message>, SessionError> {
    let (_, count) = row.position();
    let mut chain = chain_before(transaction, session, Some(row), range.start)?;
    // With the message after the range: its checksum shows that the range is the newest one.
    let texts = "SELECT place, message, chain FROM messages \
                 WHERE session = ?1 AND place >= ?2 AND place <= ?3 ORDER BY place";
    let read = || -> rusqlite::Result<Vec<(i64, String, i64)>> {
        let mut texts = transaction.prepare(texts)?;
        let bounds = (row.id, number(range.start), number(range.end));
        let texts = texts.query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        texts.collect()
    };
    let mut messages = Vec::new();
    let mut next = range.start;
    for (index, text, expected) in read().map_err(|error| failed(session, error))? {
        if index != number(next) {
            return Err(damaged(session, Some(next), "message is missing"));
        }
        chain = checksum::after_message(chain, text.as_bytes());
        if chain != expected {
            return Err(damaged(session, Some(next), "the checksum of the message is wrong"));
        }
        if next < range.end {
            let message: Message = serde_json::from_str(&text)
                .map_err(|error| damaged(session, Some(next), error.to_string()))?;
            messages.push(message);
        }
        next += 1;
    }
    // A range within the conversation ends with the message after it.
    let expected = if range.end == usize::MAX { count } else { range.end + 1 };
    if next != expected {
        return Err(damaged(session, Some(next), format!("expected {count} messages")));
    }
    if next == count && chain != row.chain {
        return Err(damaged(session, None, "the checksum of the messages is wrong"));
    }
    Ok(messages)
}

/// Copies the messages before `write.from` and adds those of the write.
pub(super) fn fork(
    connection: &mut Connection,
    session: &str,
    to: String,
    write: EncodedWrite,
) -> Result<u64, SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    let source = find(&transaction, session)?;
    let (revision, count) = source.as_ref().map_or((0, 0), SessionRow::position);
    SessionWrite::update(write.revision)
        .messages(write.from, &[])
        .check(session, revision, count)?;
    if find(&transaction, &to)?.is_some() {
        return Err(SessionError::AlreadyExists { session: to });
    }
    let chain = chain_before(&transaction, session, source.as_ref(), write.from)?;
    let revision = SessionWrite::create().check(&to, 0, 0)?;
    let copy = EncodedWrite { session: to, ..write };
    let copied = || -> rusqlite::Result<()> {
        let id = copy.write(&transaction, None, chain, revision.cast_signed())?;
        if let Some(source) = source {
            let messages = "INSERT INTO messages (session, place, message, chain) \
                            SELECT ?1, place, message, chain FROM messages \
                            WHERE session = ?2 AND place < ?3";
            transaction.execute(messages, (id, source.id, number(copy.from)))?;
        }
        Ok(())
    };
    copied().and_then(|()| transaction.commit()).map_err(|error| failed(session, error))?;
    Ok(revision)
}

pub(super) fn list(
    connection: &mut Connection,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionInfo>, SessionError> {
    let mut query = SessionQuery::all().prefix(prefix);
    query.after = after;
    let transaction = connection.transaction().map_err(|error| failed(prefix, error))?;
    // A session that the index has lost would be missing from the list.
    check_names(&transaction, prefix)?;
    let read = || -> rusqlite::Result<Vec<(String, SessionRow)>> {
        let names = format!("SELECT {COLUMNS}, name FROM sessions WHERE name >= ?1 ORDER BY name");
        let mut found = transaction.prepare(&names)?;
        let start = after.map_or(prefix, |after| after.max(prefix));
        let mut found = found.query((start,))?;
        let mut listed = Vec::new();
        // Rows are read one by one: those behind the page are not.
        while listed.len() < limit
            && let Some(row) = found.next()?
        {
            let name: String = row.get(7)?;
            if !name.starts_with(prefix) {
                break;
            }
            if query.matches(&name) {
                listed.push((name, SessionRow::read(row)?));
            }
        }
        Ok(listed)
    };
    let listed = read().map_err(|error| failed(prefix, error))?.into_iter();
    let info = |(name, row): (String, SessionRow)| {
        let row = row.verified(&name)?;
        let (revision, messages) = row.position();
        let saved_at = SystemTime::UNIX_EPOCH
            + Duration::from_micros(u64::try_from(row.saved_at).unwrap_or_default());
        Ok(SessionInfo::new(name, messages, revision, saved_at))
    };
    listed.map(info).collect()
}

pub(super) fn rename(
    connection: &mut Connection,
    session: &str,
    to: &str,
) -> Result<(), SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    let Some(row) = find(&transaction, session)? else {
        return Err(SessionError::NotFound { session: session.to_owned() });
    };
    if session == to {
        return Ok(());
    }
    if find(&transaction, to)?.is_some() {
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

pub(super) fn delete(connection: &mut Connection, session: &str) -> Result<(), SessionError> {
    let delete = |connection: &mut Connection| -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let messages = "DELETE FROM messages \
                     WHERE session = (SELECT id FROM sessions WHERE name = ?1)";
        transaction.execute(messages, (session,))?;
        if transaction.execute("DELETE FROM sessions WHERE name = ?1", (session,))? > 0 {
            names::toggle(&transaction, session, -1)?;
        }
        transaction.commit()
    };
    delete(connection).map_err(|error| failed(session, error))
}

/// Encodes a message and checks that it can be decoded.
fn encode(session: &str, index: usize, message: &Message) -> Result<String, SessionError> {
    let unsupported = |error: serde_json::Error| SessionError::InvalidWrite {
        session: session.to_owned(),
        reason: format!("message {index} cannot be decoded again: {error}"),
    };
    let text = serde_json::to_string(message).map_err(unsupported)?;
    // A message that nests deeper than the JSON limit could never be loaded.
    serde_json::from_str::<Message>(&text).map_err(unsupported)?;
    Ok(text)
}

/// Converts an index; no conversation exceeds the integers of SQLite.
fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
