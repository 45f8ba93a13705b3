//! Operations on the two tables of sessions.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use crate::agent::session::{SessionError, SessionInfo, SessionRecord, SessionWrite};
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
        let (revision, saved_count) =
            found.as_ref().map_or((0, 0), |row| (row.revision.cast_unsigned(), row.messages));
        let saved_count = usize::try_from(saved_count).unwrap_or_default();
        let write = SessionWrite::update(self.revision).messages(self.from, &[]);
        let revision = write.check(&self.session, revision, saved_count)?;
        self.write(&transaction, found.as_ref(), saved_count, revision.cast_signed())
            .and_then(|()| transaction.commit())
            .map_err(|error| failed(&self.session, error))?;
        Ok(revision)
    }

    fn write(
        &self,
        transaction: &Transaction<'_>,
        found: Option<&SessionRow>,
        saved_count: usize,
        revision: i64,
    ) -> rusqlite::Result<()> {
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
        Ok(())
    }
}

pub(super) fn load(
    connection: &mut Connection,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    // One transaction, so that both tables are from the same moment.
    let transaction = connection.transaction().map_err(|error| failed(session, error))?;
    let Some(SessionRow { id, revision, messages: expected_count }) = row(&transaction, session)?
    else {
        return Ok(None);
    };
    let read = || -> rusqlite::Result<(String, Vec<(i64, String)>)> {
        let state =
            transaction
                .query_row("SELECT state FROM sessions WHERE id = ?1", (id,), |row| row.get(0))?;
        let texts = "SELECT place, message FROM messages WHERE session = ?1 ORDER BY place";
        let mut texts = transaction.prepare(texts)?;
        let texts = texts.query_map((id,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((state, texts.collect::<Result<_, _>>()?))
    };
    let (state, texts) = read().map_err(|error| failed(session, error))?;
    let damaged = |place, reason| SessionError::CorruptRecord {
        session: session.to_owned(),
        message_index: Some(place),
        reason,
    };
    let mut messages = Vec::with_capacity(texts.len());
    for (expected, (index, text)) in texts.into_iter().enumerate() {
        if index != number(expected) {
            return Err(damaged(expected, "message is missing".into()));
        }
        let message: Message =
            serde_json::from_str(&text).map_err(|error| damaged(expected, error.to_string()))?;
        messages.push(message);
    }
    if number(messages.len()) != expected_count {
        return Err(damaged(messages.len(), format!("expected {expected_count} messages")));
    }
    Ok(Some(SessionRecord::new(messages, state, revision.cast_unsigned())))
}

pub(super) fn list(connection: &mut Connection) -> Result<Vec<SessionInfo>, SessionError> {
    let read = || -> rusqlite::Result<Vec<SessionInfo>> {
        let all = "SELECT name, messages, revision, saved_at FROM sessions ORDER BY name";
        let mut all = connection.prepare(all)?;
        let all = all.query_map((), |row| {
            let (messages, revision, saved_at): (i64, i64, i64) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let messages = usize::try_from(messages).unwrap_or_default();
            let saved_at = SystemTime::UNIX_EPOCH
                + Duration::from_micros(u64::try_from(saved_at).unwrap_or_default());
            let name: String = row.get(0)?;
            Ok(SessionInfo::new(name, messages, revision.cast_unsigned(), saved_at))
        })?;
        all.collect()
    };
    read().map_err(SessionError::unavailable)
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
