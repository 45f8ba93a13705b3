//! Conversations that last: what is kept of one between runs, and who keeps it.
//!
//! A [`SessionStore`] knows nothing of runs: it keeps the messages of a conversation in their order and,
//! beside them, one text that only the loop reads. It is told of each step; what it has acknowledged
//! is there when the process is not. Who writes a store puts it to [`conformance::check`].

pub mod conformance;
mod error;
mod memory;
mod talk;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

pub use error::SessionError;
pub use memory::MemoryStore;
pub use talk::Session;

use crate::message::Message;

/// Who keeps conversations.
///
/// What two do to one session at once doesn't mix: each [`save`](Self::save) says on what it builds,
/// and where somebody else was faster it is refused as a whole.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemoryStore, SessionError, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SessionError> {
/// let store = MemoryStore::new();
/// let said = [Message::user("Hello"), Message::assistant("Hi!")];
/// let first = store.save("ada", SessionWrite::first().messages(0, &said).state("{}")).await?;
///
/// // Another day: only what is new is written.
/// let kept = store.load("ada").await?.expect("it was saved");
/// let more = [Message::user("How are you?")];
/// let write = SessionWrite::on(kept.revision).messages(kept.messages.len(), &more).state("{}");
/// let second = store.save("ada", write).await?;
/// assert_eq!(store.load("ada").await?.unwrap().messages.len(), 3);
///
/// // Who still builds on the first revision is told.
/// let late = store.save("ada", SessionWrite::on(first).messages(2, &more).state("{}")).await;
/// assert!(matches!(late, Err(SessionError::Conflict { found, .. }) if found == second));
/// # Ok(())
/// # }
/// ```
///
/// # To write one
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// [`SessionWrite::check`] decides whether a write fits, and to which revision it leads. A store holds a lock, or is in a
/// transaction, from where it looks what is there until the write is done as a whole:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::time::SystemTime;
///
/// use tokio::sync::Mutex;
/// use tool_runtime::agent::session::{
///     SessionInfo, SessionError, SessionStore, SessionRecord, SessionWrite, conformance,
/// };
/// use tool_runtime::async_trait;
///
/// #[derive(Debug, Default)]
/// struct Own(Mutex<BTreeMap<String, (SessionRecord, SystemTime)>>);
///
/// #[async_trait]
/// impl SessionStore for Own {
///     async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
///         Ok(self.0.lock().await.get(session).map(|(it, _)| it.clone()))
///     }
///
///     async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
///         let mut all = self.0.lock().await;
///         let kept = all.get(session).map_or((0, 0), |(it, _)| (it.revision, it.messages.len()));
///         let revision = write.check(session, kept.0, kept.1)?;
///         let mut messages = all.remove(session).map(|(it, _)| it.messages).unwrap_or_default();
///         messages.truncate(write.from);
///         messages.extend_from_slice(write.messages);
///         let stored = SessionRecord::new(messages, write.state, revision);
///         all.insert(session.to_owned(), (stored, SystemTime::now()));
///         Ok(revision)
///     }
///
///     async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
///         let all = self.0.lock().await;
///         let listed = all.iter().map(|(name, (it, saved_at))| {
///             SessionInfo::new(name, it.messages.len(), it.revision, *saved_at)
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
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { Own::default() }).await
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no store of sessions",
    label = "pass `MemoryStore` or `Sqlite`, or implement `SessionStore` under `#[async_trait]`",
    note = "what opens a store is waited for, and may fail: `Sqlite::open(…).await?`"
)]
#[async_trait]
pub trait SessionStore: Send + Sync + Debug {
    /// What is kept of this session; nothing where there is none.
    ///
    /// # Errors
    /// The store can't be reached, or what it keeps can't be read.
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError>;

    /// Keeps what is written, all of it or nothing, if the session is still at the revision that the
    /// write builds on. Gives the revision that it is at now.
    ///
    /// The cost is in proportion to what is written, not to what was kept before. Where its future is
    /// dropped, it may have been done or not. A run makes one at a time.
    ///
    /// # Errors
    /// Somebody else went on with the session; the write doesn't fit what is kept; the store can't be
    /// reached, where it may have been done or not. In no case is it done by half.
    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError>;

    /// All sessions, sorted by their names.
    ///
    /// # Errors
    /// The store can't be reached.
    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError>;

    /// Forgets a session; one that isn't there is none the less forgotten.
    ///
    /// # Errors
    /// The store can't be reached.
    async fn delete(&self, session: &str) -> Result<(), SessionError>;
}

/// What is kept of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// What the loop keeps beside it. Only the loop reads it.
    pub state: String,
    /// The revision that it is at, to be told when it is [saved](SessionStore::save) again.
    pub revision: u64,
}

impl SessionRecord {
    /// What is kept at this revision.
    pub fn new(messages: Vec<Message>, state: impl Into<String>, revision: u64) -> Self {
        Self { messages, state: state.into(), revision }
    }
}

/// What is to be kept of a session from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionWrite<'a> {
    /// The revision that it builds on: that of [`SessionRecord`], or what the last
    /// [`save`](SessionStore::save) gave; 0 where there is no such session yet.
    ///
    /// Revisions of a session never come again, even where it is deleted and begun anew. Nothing else
    /// can be read from them.
    pub revision: u64,
    /// Where `messages` belong: what was kept before that place stays, what was kept from there on
    /// goes.
    pub from: usize,
    /// The messages from there on.
    pub messages: &'a [Message],
    /// What is kept beside them; it replaces what was.
    pub state: &'a str,
}

impl<'a> SessionWrite<'a> {
    /// The first of a session: there must be none of its name.
    pub fn first() -> Self {
        Self::on(0)
    }

    /// Builds on this revision.
    pub fn on(revision: u64) -> Self {
        Self { revision, from: 0, messages: &[], state: "" }
    }

    /// Keeps the messages before `from` as they are, and these behind them.
    #[must_use]
    pub fn messages(mut self, from: usize, messages: &'a [Message]) -> Self {
        (self.from, self.messages) = (from, messages);
        self
    }

    /// Keeps this beside them.
    #[must_use]
    pub fn state(mut self, state: &'a str) -> Self {
        self.state = state;
        self
    }

    /// Which revision a session comes to by it that is at `found` and has so many messages; both are 0 where there is
    /// none. For those who write a store, who [check](conformance::check) it.
    ///
    /// # Errors
    /// As [`SessionStore::save`] has them: it can't be kept of that session.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionWrite;
    ///
    /// # fn main() -> Result<(), tool_runtime::agent::session::SessionError> {
    /// // A session that is begun is at a revision that none of its name was at before it was deleted.
    /// let first = SessionWrite::first().check("ada", 0, 0)?;
    /// assert_eq!(SessionWrite::on(first).check("ada", first, 0)?, first + 1);
    /// assert!(SessionWrite::on(first).check("ada", first + 1, 0).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn check(&self, session: &str, found: u64, kept: usize) -> Result<u64, SessionError> {
        if self.revision != found {
            let (session, expected) = (session.to_owned(), self.revision);
            return Err(SessionError::Conflict { session, expected, found });
        }
        if self.from > kept {
            let why = format!("it begins at message {}, and only {kept} are kept", self.from);
            return Err(SessionError::InvalidWrite { session: session.to_owned(), why });
        }
        Ok(if found == 0 { first_revision() } else { found.saturating_add(1) })
    }
}

/// What is told of a session without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its name.
    pub session: String,
    /// How many messages are kept.
    pub messages: usize,
    /// The revision that it is at.
    pub revision: u64,
    /// When it was last saved.
    pub saved_at: SystemTime,
}

impl SessionInfo {
    /// A session as it is listed.
    pub fn new(
        session: impl Into<String>,
        messages: usize,
        revision: u64,
        saved_at: SystemTime,
    ) -> Self {
        Self { session: session.into(), messages, revision, saved_at }
    }
}

/// The revision of a session that is begun: none that a session of this name, deleted meanwhile, may be
/// waited for at.
fn first_revision() -> u64 {
    // Room for as many again, and exact in whatever a store keeps its numbers in.
    fastrand::u64(1..1 << 52)
}

/// Shared: one store for several agents.
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
