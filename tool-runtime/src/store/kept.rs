//! Sessions in their two tables.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use crate::agent::session::{SessionError, SessionInfo, SessionRecord, SessionWrite};
use crate::message::Message;

/// A write as it goes into the file.
pub(super) struct Texts {
    session: String,
    revision: u64,
    from: usize,
    messages: Vec<String>,
    state: String,
}

/// A session's row.
struct Row {
    id: i64,
    revision: i64,
    messages: i64,
}

impl Texts {
    pub(super) fn of(session: &str, write: &SessionWrite<'_>) -> Result<Self, SessionError> {
        let text = |(place, message)| text(session, write.from + place, message);
        Ok(Self {
            session: session.to_owned(),
            revision: write.revision,
            from: write.from,
            messages: write.messages.iter().enumerate().map(text).collect::<Result<_, _>>()?,
            state: write.state.to_owned(),
        })
    }

    pub(super) fn save(self, connection: &mut Connection) -> Result<u64, SessionError> {
        // Immediate: who reads first and asks to write only then may find that another wrote
        // meanwhile, and has to begin again.
        let work = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed(&self.session, error))?;
        let found = row(&work, &self.session)?;
        let (revision, kept) =
            found.as_ref().map_or((0, 0), |row| (row.revision.cast_unsigned(), row.messages));
        let kept = usize::try_from(kept).unwrap_or_default();
        let write = SessionWrite::update(self.revision).messages(self.from, &[]);
        let revision = write.check(&self.session, revision, kept)?;
        self.write(&work, found.as_ref(), kept, revision.cast_signed())
            .and_then(|()| work.commit())
            .map_err(|error| failed(&self.session, error))?;
        Ok(revision)
    }

    fn write(
        &self,
        work: &Transaction<'_>,
        found: Option<&Row>,
        kept: usize,
        revision: i64,
    ) -> rusqlite::Result<()> {
        let messages = number(self.from + self.messages.len());
        let id = match found {
            Some(&Row { id, .. }) => {
                let change = "UPDATE sessions SET revision = ?2, messages = ?3, state = ?4, \
                              saved_at = ?5 WHERE id = ?1";
                work.execute(change, (id, revision, messages, &self.state, now()))?;
                id
            }
            None => {
                let begin = "INSERT INTO sessions (name, revision, messages, state, saved_at) \
                             VALUES (?1, ?2, ?3, ?4, ?5)";
                work.execute(begin, (&self.session, revision, messages, &self.state, now()))?;
                work.last_insert_rowid()
            }
        };
        if kept > self.from {
            let forget = "DELETE FROM messages WHERE session = ?1 AND place >= ?2";
            work.execute(forget, (id, number(self.from)))?;
        }
        let mut put =
            work.prepare("INSERT INTO messages (session, place, message) VALUES (?1, ?2, ?3)")?;
        for (place, message) in (self.from..).zip(&self.messages) {
            put.execute((id, number(place), message))?;
        }
        Ok(())
    }
}

pub(super) fn load(
    connection: &mut Connection,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    // Both tables as they are at one moment.
    let work = connection.transaction().map_err(|error| failed(session, error))?;
    let Some(Row { id, revision, messages: kept }) = row(&work, session)? else {
        return Ok(None);
    };
    let read = || -> rusqlite::Result<(String, Vec<(i64, String)>)> {
        let state =
            work.query_row("SELECT state FROM sessions WHERE id = ?1", (id,), |row| row.get(0))?;
        let texts = "SELECT place, message FROM messages WHERE session = ?1 ORDER BY place";
        let mut texts = work.prepare(texts)?;
        let texts = texts.query_map((id,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((state, texts.collect::<Result<_, _>>()?))
    };
    let (state, texts) = read().map_err(|error| failed(session, error))?;
    let unreadable = |place, why| SessionError::CorruptRecord {
        session: session.to_owned(),
        message_index: Some(place),
        reason: why,
    };
    let mut messages = Vec::with_capacity(texts.len());
    for (expected, (place, text)) in texts.into_iter().enumerate() {
        if place != number(expected) {
            return Err(unreadable(expected, "it is missing".into()));
        }
        let message: Message =
            serde_json::from_str(&text).map_err(|error| unreadable(expected, error.to_string()))?;
        messages.push(message);
    }
    if number(messages.len()) != kept {
        return Err(unreadable(messages.len(), format!("there should be {kept} messages")));
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
    let forget = |connection: &mut Connection| -> rusqlite::Result<()> {
        let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let of_it = "DELETE FROM messages \
                     WHERE session = (SELECT id FROM sessions WHERE name = ?1)";
        work.execute(of_it, (session,))?;
        work.execute("DELETE FROM sessions WHERE name = ?1", (session,))?;
        work.commit()
    };
    forget(connection).map_err(|error| failed(session, error))
}

fn row(work: &Transaction<'_>, session: &str) -> Result<Option<Row>, SessionError> {
    let find = "SELECT id, revision, messages FROM sessions WHERE name = ?1";
    let found = work.query_row(find, (session,), |row| {
        Ok(Row { id: row.get(0)?, revision: row.get(1)?, messages: row.get(2)? })
    });
    found.optional().map_err(|error| failed(session, error))
}

/// A message as its row has it.
fn text(session: &str, place: usize, message: &Message) -> Result<String, SessionError> {
    let unfit = |error: serde_json::Error| SessionError::InvalidWrite {
        session: session.to_owned(),
        reason: format!("message {place} could not be read again: {error}"),
    };
    let text = serde_json::to_string(message).map_err(unfit)?;
    // What nests deeper than JSON is read would be lost for good.
    serde_json::from_str::<Message>(&text).map_err(unfit)?;
    Ok(text)
}

/// What is damaged is told apart from what is busy or gone.
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

/// No conversation is longer than what SQLite counts.
fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
