//! Messages for sessions, kept in a store until the process that runs the session delivers them.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::guard::{CatchPanic, Panic};
use crate::records::{Expected, RecordQuery, Records, StoreError};

/// The collection of the records.
const COLLECTION: &str = "inbox";

/// The number of messages that a run reads at once. It must not exceed the number of keys that a
/// run remembers, so that each is still known when its record is deleted.
const MAX_READ: usize = 50;

/// Queue of messages for sessions, in a store that all processes share.
///
/// Pass a clone to [`Agent::inbox`](crate::Agent::inbox). A run in a session reads the messages of
/// its session between two steps, and delivers them as [`Steering::push`](super::Steering::push)
/// does: with the authority of the user, and with the next model request. If the model has already
/// answered, the run continues for one more turn. Messages that arrive later wait for the next run
/// of the session.
///
/// # Exactly once
/// The session saves the key of a message in the same write as the message, and only then deletes
/// it from the inbox. So a message is neither lost nor delivered twice, whenever a process ends. A
/// message that is pushed again under its key is not delivered again, as long as the session
/// remembers the key: it remembers the last 100.
///
/// ```
/// use tool_runtime::agent::Inbox;
/// use tool_runtime::agent::session::MemorySessions;
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, ScriptedTurn, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A store that all processes share, such as `Postgres::records()`.
/// let inbox = Inbox::new(MemoryRecords::new());
/// // In one process, such as for a request with an id:
/// inbox.push_once("ada", "request-7", "I meant Bergen.").await?;
/// inbox.push_once("ada", "request-7", "I meant Bergen.").await?;
///
/// // In the process that runs the session:
/// let model = ScriptedModel::new([
///     ScriptedTurn::new(ChatReply::text("Bergen is cold.")).expect_last("I meant Bergen."),
/// ]);
/// let agent = Agent::new(model, Tools::new()).inbox(&inbox);
/// agent.session(MemorySessions::new(), "ada").run("How is Oslo?").await?;
/// assert_eq!(inbox.count("ada").await?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Inbox {
    records: Arc<dyn Records>,
}

/// A message that waits in the store.
#[derive(Clone, Debug)]
pub(in crate::agent) struct InboxMessage {
    pub(in crate::agent) key: String,
    pub(in crate::agent) text: String,
    record: String,
    revision: u64,
}

/// The messages of a session that were read, and why others can't be.
pub(in crate::agent) struct InboxMessages {
    pub(in crate::agent) messages: Vec<InboxMessage>,
    pub(in crate::agent) corrupt: Option<StoreError>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    text: String,
}

impl Inbox {
    /// Creates the inbox of all sessions in a store.
    pub fn new(records: impl Records + 'static) -> Self {
        Self { records: Arc::new(records) }
    }

    /// Stores a message for a session, unless a message with this key waits already.
    ///
    /// The message is stored when this returns. Messages are delivered in the order of their times,
    /// by the clocks of the processes that push them. The session need not exist.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] if the text, or the name of the session with the key, is
    /// too large for a record, and [`StoreError::Unavailable`] if the store can't be reached: then
    /// the message may have been stored, and can be pushed again.
    ///
    /// ```
    /// use tool_runtime::agent::Inbox;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let inbox = Inbox::new(MemoryRecords::new());
    /// inbox.push_once("ada", "request-7", "Be brief.").await?;
    /// inbox.push_once("ada", "request-7", "Be brief.").await?;
    /// assert_eq!(inbox.count("ada").await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn push_once(
        &self,
        session: &str,
        key: &str,
        text: impl Into<String>,
    ) -> Result<(), StoreError> {
        let record = record_key(session, key);
        let value = serde_json::to_string(&Stored { text: text.into() });
        let value = value.map_err(StoreError::unavailable)?;
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let micros = since_1970.unwrap_or_default().as_micros();
        let order = Some(i64::try_from(micros).unwrap_or(i64::MAX));
        let save = || self.records.save(COLLECTION, &record, Expected::Absent, &value, order);
        match CatchPanic::new(save, panicked).await {
            Ok(_) | Err(StoreError::AlreadyExists(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the number of messages of a session that are in the store. A message that was
    /// delivered stays there until the next step of its run.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::agent::Inbox;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let inbox = Inbox::new(MemoryRecords::new());
    /// inbox.push_once("ada", "request-7", "Be brief.").await?;
    /// assert_eq!((inbox.count("ada").await?, inbox.count("bob").await?), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn count(&self, session: &str) -> Result<usize, StoreError> {
        let prefix = prefix(session);
        let list = || self.records.list(COLLECTION, RecordQuery::all().prefix(&prefix));
        Ok(CatchPanic::new(list, panicked).await?.records.len())
    }

    /// Deletes all messages of a session.
    pub(in crate::agent) async fn clear(&self, session: &str) -> Result<(), StoreError> {
        loop {
            let InboxMessages { messages, corrupt } = self.read(session).await?;
            if messages.is_empty() {
                return corrupt.map_or(Ok(()), Err);
            }
            for message in messages {
                self.remove(&message).await?;
            }
        }
    }

    /// Reads the oldest messages of a session.
    pub(in crate::agent) async fn read(&self, session: &str) -> Result<InboxMessages, StoreError> {
        let mut limit = MAX_READ;
        loop {
            let (mut read, count) = self.read_up_to(session, limit).await?;
            // Records that can't be read must not hide the messages behind them.
            if !read.messages.is_empty() || count < limit {
                read.messages.truncate(MAX_READ);
                return Ok(read);
            }
            limit *= 2;
        }
    }

    /// Reads the oldest records of a session, and returns their number with the messages.
    async fn read_up_to(
        &self,
        session: &str,
        limit: usize,
    ) -> Result<(InboxMessages, usize), StoreError> {
        let prefix = prefix(session);
        let query = RecordQuery::all().prefix(&prefix).order_up_to(i64::MAX).limit(limit);
        let list = || self.records.list(COLLECTION, query);
        let listed = CatchPanic::new(list, panicked).await?;
        let count = listed.corrupt.len() + listed.records.len();
        let mut corrupt = listed.corrupt.into_iter().next();
        let mut messages = Vec::new();
        for record in listed.records {
            let key = serde_json::from_str::<(String, String)>(&record.key);
            let stored = record.decode::<Stored>();
            match (key, stored) {
                (Ok((_, key)), Ok(Stored { text })) => {
                    let (record, revision) = (record.key, record.revision);
                    messages.push(InboxMessage { key, text, record, revision });
                }
                (Err(error), _) => corrupt = Some(record.corrupt(error.to_string())),
                (_, Err(error)) => corrupt = Some(error),
            }
        }
        Ok((InboxMessages { messages, corrupt: corrupt.map(StoreError::from) }, count))
    }

    /// Deletes a message, unless another process has deleted it.
    pub(in crate::agent) async fn remove(&self, message: &InboxMessage) -> Result<(), StoreError> {
        let expected = Expected::Revision(message.revision);
        let delete = || self.records.delete(COLLECTION, &message.record, expected);
        match CatchPanic::new(delete, panicked).await {
            Err(error) if !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

fn panicked<T>(panic: Panic) -> Result<T, StoreError> {
    Err(StoreError::unavailable(panic))
}

/// Returns the key of a record, in which a session and a key can't be mistaken for others.
fn record_key(session: &str, key: &str) -> String {
    format!("{}{}]", prefix(session), serde_json::Value::from(key))
}

fn prefix(session: &str) -> String {
    format!("[{},", serde_json::Value::from(session))
}
