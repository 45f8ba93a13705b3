//! Operations on the two tables of sessions.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

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

/// Row of a session.
struct SessionRow {
    id: i64,
    revision: i64,
    messages: i64,
}

impl SessionRow {
    /// Returns the revision and the number of messages.
    fn position(&self) -> (u64, usize) {
        (self.revision.cast_unsigned(), usize::try_from(self.messages).unwrap_or_default())
    }
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
        let found = row(&transaction, &self.session)?;
        let (revision, saved_count) = found.as_ref().map_or((0, 0), SessionRow::position);
        let write = SessionWrite::update(self.revision).messages(self.from, &[]);
        let revision = write.check(&self.session, revision, saved_count)?;
        self.write(&transaction, found.as_ref(), saved_count, revision.cast_signed())
            .and_then(|_| transaction.commit())
            .map_err(|error| failed(&self.session, error))?;
        Ok(revision)
    }

    /// Writes the rows, and returns the id of the session.
    fn write(
        &self,
        transaction: &Transaction<'_>,
        found: Option<&SessionRow>,
        saved_count: usize,
        revision: i64,
    ) -> rusqlite::Result<i64> {
        let messages = number(self.from + self.messages.len());
        let id = match found {
            Some(&SessionRow { id, .. }) => {
                let update = "UPDATE sessions SET revision = ?2, messages = ?3, state = ?4, \
                              saved_at = ?5 WHERE id = ?1";
                transaction.execute(update, (id, revision, messages, &self.state, now()))?;
                id
            }
            None => {
                let insert = "INSERT INTO sessions (name, revision, messages, state, saved_at) \
                             VALUES (?1, ?2, ?3, ?4, ?5)";
                transaction
                    .execute(insert, (&self.session, revision, messages, &self.state, now()))?;
                transaction.last_insert_rowid()
            }
        };
        if saved_count > self.from {
            let truncate = "DELETE FROM messages WHERE session = ?1 AND place >= ?2";
            transaction.execute(truncate, (id, number(self.from)))?;
        }
        let mut insert = transaction
            .prepare("INSERT INTO messages (session, place, message) VALUES (?1, ?2, ?3)")?;
        for (index, message) in (self.from..).zip(&self.messages) {
            insert.execute((id, number(index), message))?;
        }
        Ok(id)
    }
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
    let Some(SessionRow { id, revision, messages: count }) = row(&transaction, session)? else {
        return Ok(None);
    };
    let count = usize::try_from(count).unwrap_or_default();
    // A range that ends with the conversation also covers messages that should not be there.
    let end = if range.end < count { range.end } else { usize::MAX };
    let from = range.start.min(end.min(count));
    let read = || -> rusqlite::Result<(String, Vec<(i64, String)>)> {
        let state =
            transaction
                .query_row("SELECT state FROM sessions WHERE id = ?1", (id,), |row| row.get(0))?;
        let texts = "SELECT place, message FROM messages \
                     WHERE session = ?1 AND place >= ?2 AND place < ?3 ORDER BY place";
        let mut texts = transaction.prepare(texts)?;
        let texts = texts
            .query_map((id, number(from), number(end)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((state, texts.collect::<Result<_, _>>()?))
    };
    let (state, texts) = read().map_err(|error| failed(session, error))?;
    let damaged = |place, reason| SessionError::CorruptRecord {
        session: session.to_owned(),
        message_index: Some(place),
        reason,
    };
    let mut messages = Vec::with_capacity(texts.len());
    for (expected, (index, text)) in (from..).zip(texts) {
        if index != number(expected) {
            return Err(damaged(expected, "message is missing".into()));
        }
        let message: Message =
            serde_json::from_str(&text).map_err(|error| damaged(expected, error.to_string()))?;
        messages.push(message);
    }
    if from + messages.len() != end.min(count) {
        return Err(damaged(from + messages.len(), format!("expected {count} messages")));
    }
    Ok(Some(SessionPart::new(from, messages, count, state, revision.cast_unsigned())))
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
    let source = row(&transaction, session)?;
    let (revision, count) = source.as_ref().map_or((0, 0), SessionRow::position);
    SessionWrite::update(write.revision)
        .messages(write.from, &[])
        .check(session, revision, count)?;
    if row(&transaction, &to)?.is_some() {
        return Err(SessionError::AlreadyExists { session: to });
    }
    let revision = SessionWrite::create().check(&to, 0, 0)?;
    let copy = EncodedWrite { session: to, ..write };
    let copied = || -> rusqlite::Result<()> {
        let id = copy.write(&transaction, None, 0, revision.cast_signed())?;
        if let Some(source) = source {
            let messages = "INSERT INTO messages (session, place, message) \
                            SELECT ?1, place, message FROM messages \
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
    let read = || -> rusqlite::Result<Vec<SessionInfo>> {
        let names = "SELECT name, messages, revision, saved_at FROM sessions \
                     WHERE name >= ?1 ORDER BY name";
        let mut found = connection.prepare(names)?;
        let start = after.map_or(prefix, |after| after.max(prefix));
        let mut found = found.query((start,))?;
        let mut listed = Vec::new();
        // Rows are read one by one: those behind the page are not.
        while listed.len() < limit
            && let Some(row) = found.next()?
        {
            let name: String = row.get(0)?;
            if !name.starts_with(prefix) {
                break;
            }
            if !query.matches(&name) {
                continue;
            }
            let (messages, revision, saved_at): (i64, i64, i64) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let messages = usize::try_from(messages).unwrap_or_default();
            let saved_at = SystemTime::UNIX_EPOCH
                + Duration::from_micros(u64::try_from(saved_at).unwrap_or_default());
            listed.push(SessionInfo::new(name, messages, revision.cast_unsigned(), saved_at));
        }
        Ok(listed)
    };
    read().map_err(SessionError::unavailable)
}

pub(super) fn rename(
    connection: &mut Connection,
    session: &str,
    to: &str,
) -> Result<(), SessionError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(session, error))?;
    let Some(SessionRow { id, .. }) = row(&transaction, session)? else {
        return Err(SessionError::NotFound { session: session.to_owned() });
    };
    if session != to && row(&transaction, to)?.is_some() {
        return Err(SessionError::AlreadyExists { session: to.to_owned() });
    }
    transaction
        .execute("UPDATE sessions SET name = ?2 WHERE id = ?1", (id, to))
        .and_then(|_| transaction.commit())
        .map_err(|error| failed(session, error))
}

pub(super) fn delete(connection: &mut Connection, session: &str) -> Result<(), SessionError> {
    let delete = |connection: &mut Connection| -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let messages = "DELETE FROM messages \
                     WHERE session = (SELECT id FROM sessions WHERE name = ?1)";
        transaction.execute(messages, (session,))?;
        transaction.execute("DELETE FROM sessions WHERE name = ?1", (session,))?;
        transaction.commit()
    };
    delete(connection).map_err(|error| failed(session, error))
}

fn row(transaction: &Transaction<'_>, session: &str) -> Result<Option<SessionRow>, SessionError> {
    let find = "SELECT id, revision, messages FROM sessions WHERE name = ?1";
    let found = transaction.query_row(find, (session,), |row| {
        Ok(SessionRow { id: row.get(0)?, revision: row.get(1)?, messages: row.get(2)? })
    });
    found.optional().map_err(|error| failed(session, error))
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

/// Converts an error: a damaged file differs from one that is busy or missing.
fn failed(session: &str, error: rusqlite::Error) -> SessionError {
    let is_damaged = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    );
    match is_damaged {
        true => SessionError::CorruptRecord {
            session: session.to_owned(),
            message_index: None,
            reason: error.to_string(),
        },
        false => SessionError::unavailable(error),
    }
}

/// Converts an index; no conversation exceeds the integers of SQLite.
fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
