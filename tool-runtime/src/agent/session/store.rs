//! The interface of session stores.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::SessionError;
use crate::message::Message;

/// Storage backend for sessions.
///
/// Writes to one session never mix: each [`save`](Self::save) names the revision on which it
/// builds, and is refused as a whole if another writer was first.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemoryStore, SessionError, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SessionError> {
/// let store = MemoryStore::new();
/// let messages = [Message::user("Hello"), Message::assistant("Hi!")];
/// let first = store.save("ada", SessionWrite::create().messages(0, &messages).state("{}")).await?;
///
/// // Later: only what is new is written.
/// let record = store.load("ada").await?.expect("it was saved");
/// let more = [Message::user("How are you?")];
/// let write = SessionWrite::update(record.revision);
/// let write = write.messages(record.messages.len(), &more).state("{}");
/// let second = store.save("ada", write).await?;
/// assert_eq!(store.load("ada").await?.unwrap().messages.len(), 3);
///
/// // A write that builds on the first revision is refused.
/// let late = SessionWrite::update(first).messages(2, &more).state("{}");
/// let late = store.save("ada", late).await;
/// assert!(matches!(late, Err(SessionError::Conflict { actual, .. }) if actual == second));
/// # Ok(())
/// # }
/// ```
///
/// # Implementing a store
/// Put the impl under `#[async_trait]`, which this crate re-exports. [`SessionWrite::check`]
/// decides whether a write is valid, and returns the new revision. Hold a lock, or a transaction,
/// from reading the revision until the write is complete. Test the store with
/// [`conformance::check`](super::conformance::check).
///
/// ```
/// use std::collections::BTreeMap;
/// use std::time::SystemTime;
///
/// use tokio::sync::Mutex;
/// use tool_runtime::agent::session::{
///     SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite, conformance,
/// };
/// use tool_runtime::async_trait;
///
/// #[derive(Debug, Default)]
/// struct MyStore(Mutex<BTreeMap<String, (SessionRecord, SystemTime)>>);
///
/// #[async_trait]
/// impl SessionStore for MyStore {
///     async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
///         Ok(self.0.lock().await.get(session).map(|(record, _)| record.clone()))
///     }
///
///     async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
///         let mut all = self.0.lock().await;
///         let found = all.get(session).map_or((0, 0), |(it, _)| (it.revision, it.messages.len()));
///         let revision = write.check(session, found.0, found.1)?;
///         let mut messages = all.remove(session).map(|(it, _)| it.messages).unwrap_or_default();
///         messages.truncate(write.from);
///         messages.extend_from_slice(write.messages);
///         let record = SessionRecord::new(messages, write.state, revision);
///         all.insert(session.to_owned(), (record, SystemTime::now()));
///         Ok(revision)
///     }
///
///     async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
///         let all = self.0.lock().await;
///         let listed = all.iter().map(|(name, (record, saved_at))| {
///             SessionInfo::new(name, record.messages.len(), record.revision, *saved_at)
///         });
///         Ok(listed.collect())
///     }
///
///     async fn delete(&self, session: &str) -> Result<(), SessionError> {
///         self.0.lock().await.remove(session);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { MyStore::default() }).await
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a session store",
    label = "pass `MemoryStore` or `Sqlite`, or implement `SessionStore` under `#[async_trait]`",
    note = "opening a store is asynchronous and may fail: `Sqlite::open(…).await?`"
)]
#[async_trait]
pub trait SessionStore: Send + Sync + Debug {
    /// Loads the record of a session. Returns `None` if the session does not exist.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached, and
    /// [`CorruptRecord`](SessionError::CorruptRecord) if the record can't be decoded.
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError>;

    /// Saves a write, completely or not at all, and returns the new revision of the session.
    ///
    /// The cost is proportional to the size of the write, not to that of the session. A run saves
    /// one write at a time.
    ///
    /// # Errors
    /// Returns [`Conflict`](SessionError::Conflict) if the session is at another revision,
    /// [`InvalidWrite`](SessionError::InvalidWrite) if the write does not fit the record, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached: then the write may
    /// have been done.
    ///
    /// # Cancellation
    /// If the future is dropped, the write may have been done, completely or not at all.
    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError>;

    /// Lists all sessions, sorted by name.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError>;

    /// Deletes a session and its messages. Succeeds also if the session does not exist.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn delete(&self, session: &str) -> Result<(), SessionError>;
}

/// The stored record of a session: its messages, the opaque state and the revision.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::SessionRecord;
///
/// let record = SessionRecord::new(vec![Message::user("Hello")], "{}", 7);
/// assert_eq!((record.messages.len(), record.revision), (1, 7));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The messages of the conversation, oldest first.
    pub messages: Vec<Message>,
    /// The state of the last run. Only the loop reads it.
    pub state: String,
    /// The revision of the record, on which the next [write](SessionStore::save) builds.
    pub revision: u64,
}

impl SessionRecord {
    /// Creates a record at this revision.
    pub fn new(messages: Vec<Message>, state: impl Into<String>, revision: u64) -> Self {
        Self { messages, state: state.into(), revision }
    }
}

/// A write to a session: the messages that are new or changed, and the state.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::SessionWrite;
///
/// // Keeps the first two messages and replaces all others.
/// let messages = [Message::user("How are you?")];
/// let write = SessionWrite::update(7).messages(2, &messages).state("{}");
/// assert_eq!((write.revision, write.from), (7, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionWrite<'a> {
    /// The revision on which the write builds: that of the [`SessionRecord`], or the one that the
    /// last [`save`](SessionStore::save) returned. 0 if the session does not exist yet.
    ///
    /// A revision of a session is never reused, even if the session is deleted and created again.
    /// Revisions have no other meaning.
    pub revision: u64,
    /// The index of the first message to replace. Stored messages before it stay, those from it on
    /// are removed.
    pub from: usize,
    /// The messages to store from that index on.
    pub messages: &'a [Message],
    /// The state to store, which replaces the earlier one.
    pub state: &'a str,
}

impl<'a> SessionWrite<'a> {
    /// Starts a write that creates a session. It conflicts if the session exists.
    pub fn create() -> Self {
        Self::update(0)
    }

    /// Starts a write that builds on this revision.
    pub fn update(revision: u64) -> Self {
        Self { revision, from: 0, messages: &[], state: "" }
    }

    /// Replaces the messages from this index on.
    #[must_use]
    pub fn messages(mut self, from: usize, messages: &'a [Message]) -> Self {
        (self.from, self.messages) = (from, messages);
        self
    }

    /// Replaces the state of the session.
    #[must_use]
    pub fn state(mut self, state: &'a str) -> Self {
        self.state = state;
        self
    }

    /// Checks the write against the stored record, and returns the new revision. For
    /// implementations of [`SessionStore::save`].
    ///
    /// `revision` and `messages` are the current revision and the number of messages of the record;
    /// both are 0 if the session does not exist.
    ///
    /// # Errors
    /// Returns [`Conflict`](SessionError::Conflict) if the write builds on another revision, and
    /// [`InvalidWrite`](SessionError::InvalidWrite) if it would leave a gap between the messages.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionWrite;
    ///
    /// # fn main() -> Result<(), tool_runtime::agent::session::SessionError> {
    /// // A new session starts at a revision that no deleted session of this name has had.
    /// let first = SessionWrite::create().check("ada", 0, 0)?;
    /// assert_eq!(SessionWrite::update(first).check("ada", first, 0)?, first + 1);
    /// assert!(SessionWrite::update(first).check("ada", first + 1, 0).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn check(
        &self,
        session: &str,
        revision: u64,
        messages: usize,
    ) -> Result<u64, SessionError> {
        if self.revision != revision {
            let (session, expected) = (session.to_owned(), self.revision);
            return Err(SessionError::Conflict { session, expected, actual: revision });
        }
        if self.from > messages {
            let reason = format!(
                "starts at message {}, but the session's message count is {messages}",
                self.from
            );
            return Err(SessionError::InvalidWrite { session: session.to_owned(), reason });
        }
        Ok(if revision == 0 { first_revision() } else { revision.saturating_add(1) })
    }
}

/// A session in the list of a store, without its messages.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemoryStore, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
/// let sessions = store.list().await?;
/// assert_eq!((sessions[0].session.as_str(), sessions[0].message_count), ("ada", 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The name of the session.
    pub session: String,
    /// The number of stored messages.
    pub message_count: usize,
    /// The current revision of the session.
    pub revision: u64,
    /// The time of the last write.
    pub saved_at: SystemTime,
}

impl SessionInfo {
    /// Creates the entry of a session.
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    ///
    /// use tool_runtime::agent::session::SessionInfo;
    ///
    /// let info = SessionInfo::new("ada", 2, 1, UNIX_EPOCH);
    /// assert_eq!((info.session.as_str(), info.message_count), ("ada", 2));
    /// ```
    pub fn new(
        session: impl Into<String>,
        message_count: usize,
        revision: u64,
        saved_at: SystemTime,
    ) -> Self {
        Self { session: session.into(), message_count, revision, saved_at }
    }
}

/// Returns a random first revision. It differs from all revisions of a deleted session of the same
/// name, on which a writer may still build.
fn first_revision() -> u64 {
    // Exact in every number type of a store, with room for as many revisions again.
    fastrand::u64(1..1 << 52)
}

/// Forwards to the store in the `Arc`, so that agents can share it.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<S: SessionStore + ?Sized> SessionStore for Arc<S> {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.as_ref().load(session).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.as_ref().save(session, write).await
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        self.as_ref().list().await
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.as_ref().delete(session).await
    }
}
