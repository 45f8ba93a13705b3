//! The interface of session stores. `pointers.rs` implements it for pointers to a store.

mod pointers;

use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;

use super::{
    SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionWrite,
};

/// Storage backend for sessions.
///
/// Writes to one session never mix: each [`save`](Self::save) names the revision on which it
/// builds, and is refused as a whole if another writer was first.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), SessionError> {
/// let store = MemorySessions::new();
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
/// Put the impl under `#[async_trait]`, which this crate re-exports.
/// [`SessionLease::check_write`](super::SessionLease::check_write) decides whether a session may be
/// changed, and [`SessionWrite::check`] whether a write is valid, and returns the new revision.
/// Hold a lock, or a transaction, from reading the lease and the revision until the write is
/// complete. Test the store with the crate `tool-conformance`.
///
/// The provided methods load whole records. Override [`load_range`](Self::load_range) in a store
/// that can read a part of a session: the cost of a run then no longer grows with the conversation.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::time::{Duration, SystemTime};
///
/// use tokio::sync::Mutex;
/// use tool_runtime::agent::session::{
///     MemoryLeases, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionQuery,
///     SessionRecord, SessionStore, SessionWrite,
/// };
/// use tool_runtime::async_trait;
///
/// #[derive(Debug, Default)]
/// struct MyStore {
///     sessions: Mutex<Sessions>,
///     locks: SessionLocks,
/// }
///
/// #[derive(Debug, Default)]
/// struct Sessions {
///     all: BTreeMap<String, (SessionRecord, SessionInfo)>,
///     leases: MemoryLeases,
/// }
///
/// #[async_trait]
/// impl SessionStore for MyStore {
///     async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
///         Ok(self.sessions.lock().await.all.get(session).map(|(record, _)| record.clone()))
///     }
///
///     async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
///         let Sessions { all, leases } = &mut *self.sessions.lock().await;
///         leases.check(session, write.epoch)?;
///         let found = all.get(session).map_or((0, 0), |(it, _)| (it.revision, it.messages.len()));
///         let revision = write.check(session, found.0, found.1)?;
///         let (mut messages, title, principal) = match all.remove(session) {
///             Some((record, info)) => (record.messages, info.title, info.principal),
///             None => (vec![], write.title.map(Into::into), write.principal.map(Into::into)),
///         };
///         messages.truncate(write.from);
///         messages.extend_from_slice(write.messages);
///         let record = SessionRecord::new(messages, write.state, revision);
///         let info =
///             SessionInfo::new(session, record.messages.len(), revision, SystemTime::now())
///                 .status(write.status, write.failure.map(str::to_owned))
///                 .title(title)
///                 .principal(principal);
///         all.insert(session.to_owned(), (record, info));
///         Ok(revision)
///     }
///
///     async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
///         let Sessions { all, leases } = &*self.sessions.lock().await;
///         let listed = all.values().map(|(_, info)| {
///             let mut info = info.clone();
///             // Only now, since a lease may have expired meanwhile.
///             info.status = info.status.listed(leases.is_live(&info.session));
///             info
///         });
///         let found = listed.filter(|info| query.matches(info));
///         Ok(found.take(query.limit.unwrap_or(usize::MAX)).collect())
///     }
///
///     async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
///         match self.sessions.lock().await.all.get_mut(session) {
///             Some((_, info)) => info.title = title.map(str::to_owned),
///             None => return Err(SessionError::NotFound { session: session.to_owned() }),
///         }
///         Ok(())
///     }
///
///     async fn rename(
///         &self,
///         session: &str,
///         to: &str,
///         epoch: Option<u64>,
///     ) -> Result<(), SessionError> {
///         let Sessions { all, leases } = &mut *self.sessions.lock().await;
///         leases.check(session, epoch)?;
///         if !all.contains_key(session) {
///             return Err(SessionError::NotFound { session: session.to_owned() });
///         }
///         if session == to {
///             return Ok(());
///         }
///         leases.check(to, None)?;
///         if all.contains_key(to) {
///             return Err(SessionError::AlreadyExists { session: to.to_owned() });
///         }
///         if let Some((record, mut info)) = all.remove(session) {
///             info.session = to.to_owned();
///             all.insert(to.to_owned(), (record, info));
///         }
///         Ok(())
///     }
///
///     async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
///         let Sessions { all, leases } = &mut *self.sessions.lock().await;
///         leases.check(session, epoch)?;
///         all.remove(session);
///         Ok(())
///     }
///
///     async fn acquire(
///         &self,
///         session: &str,
///         owner: &SessionOwner,
///         lifetime: Duration,
///     ) -> Result<u64, SessionError> {
///         self.sessions.lock().await.leases.acquire(session, owner, lifetime)
///     }
///
///     async fn renew(
///         &self,
///         session: &str,
///         epoch: u64,
///         lifetime: Duration,
///     ) -> Result<(), SessionError> {
///         self.sessions.lock().await.leases.renew(session, epoch, lifetime)
///     }
///
///     async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
///         self.sessions.lock().await.leases.release(session, epoch);
///         Ok(())
///     }
///
///     fn locks(&self) -> &SessionLocks {
///         &self.locks
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), SessionError> {
/// let store = MyStore::default();
/// let revision = store.save("ada", SessionWrite::create().state("{}")).await?;
/// assert_eq!(store.load("ada").await?.unwrap().revision, revision);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a session store",
    label = "pass `MemorySessions` or `Sqlite`, or implement `SessionStore` under `#[async_trait]`",
    note = "opening a store is asynchronous and may fail: `Sqlite::open(…).await?`"
)]
#[async_trait]
pub trait SessionStore: Send + Sync + Debug {
    /// Loads the record of a session. Returns `None` if the session does not exist.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached, and
    /// [`Corrupt`](SessionError::Corrupt) if the record can't be decoded.
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError>;

    /// Loads the messages at these indices, with the state and the revision of the session. Returns
    /// `None` if the session does not exist.
    ///
    /// A range that exceeds the conversation ends with it, so `n..usize::MAX` loads all messages
    /// from `n` on, and `0..0` none. All messages of a part, and its state, come from the same
    /// save, as in a whole record.
    ///
    /// The provided method loads the whole record. The cost of an override should be proportional
    /// to the size of the part.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::session::{MemorySessions, SessionStore, SessionWrite};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySessions::new();
    /// let messages = ["One", "Two", "Three"].map(Message::user);
    /// store.save("ada", SessionWrite::create().messages(0, &messages)).await?;
    ///
    /// let part = store.load_range("ada", 1..usize::MAX).await?.ok_or("it was saved")?;
    /// assert_eq!(part.messages, messages[1..]);
    /// assert_eq!((part.from, part.message_count), (1, 3));
    /// # Ok(())
    /// # }
    /// ```
    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        Ok(self.load(session).await?.map(|record| record.into_part(range)))
    }

    /// Saves a write, completely or not at all, and returns the new revision of the session.
    ///
    /// The cost is proportional to the size of the write, not to that of the session. A run saves
    /// one write at a time.
    ///
    /// # Errors
    /// Returns [`Conflict`](SessionError::Conflict) if the session is at another revision,
    /// [`InvalidWrite`](SessionError::InvalidWrite) if the write does not fit the record,
    /// [`LeaseLost`](SessionError::LeaseLost) if the session has no lease of the epoch of the
    /// write, [`Busy`](SessionError::Busy) if the write has no epoch and the session is leased, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached: then the write may
    /// have been done.
    ///
    /// # Cancellation
    /// If the future is dropped, the write may have been done, completely or not at all.
    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError>;

    /// Copies a session under a new name, applies a write to the copy, and returns its revision.
    ///
    /// The write has the revision of the session. The copy contains the messages of the session
    /// before [`from`](SessionWrite::from), the messages of the write, the state of the write, and
    /// the principal and the title of the session. The session itself stays unchanged, and may be
    /// leased by any owner: the epoch of the write is that of a lease of the copy. The provided
    /// method loads the messages and saves them again.
    ///
    /// [`Session::fork`](super::Session::fork) chooses a write that leaves no call without a
    /// result.
    ///
    /// # Errors
    /// Returns the errors of [`save`](Self::save), and
    /// [`AlreadyExists`](SessionError::AlreadyExists) if there is a session of the new name.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::session::{MemorySessions, SessionStore, SessionWrite};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySessions::new();
    /// let messages = ["One", "Two", "Three"].map(Message::user);
    /// let revision = store.save("ada", SessionWrite::create().messages(0, &messages)).await?;
    ///
    /// store.fork("ada", "copy", SessionWrite::update(revision).messages(2, &[])).await?;
    /// let copy = store.load("copy").await?.ok_or("it was copied")?;
    /// assert_eq!(copy.messages, messages[..2]);
    /// # Ok(())
    /// # }
    /// ```
    async fn fork(
        &self,
        session: &str,
        to: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let part = self.load_range(session, 0..write.from).await?;
        // The first name with this prefix is the name itself, if there is such a session.
        let info = self.list(SessionQuery::all().prefix(session).limit(1)).await?;
        let info = info.into_iter().find(|info| info.session == session);
        let (title, principal) = info.map_or((None, None), |info| (info.title, info.principal));
        let (revision, count) =
            part.as_ref().map_or((0, 0), |part| (part.revision, part.message_count));
        write.check(session, revision, count)?;
        let mut messages = part.map(|part| part.messages).unwrap_or_default();
        messages.extend_from_slice(write.messages);
        let copy = SessionWrite::create().messages(0, &messages).state(write.state);
        let copy = copy.status(write.status, write.failure).epoch(write.epoch);
        let copy = copy.title(title.as_deref()).principal(principal.as_deref());
        match self.save(to, copy).await {
            Err(SessionError::Conflict { session, .. }) => {
                Err(SessionError::AlreadyExists { session })
            }
            saved => saved,
        }
    }

    /// Lists the sessions that match the query, sorted by name.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError>;

    /// Sets the title of a session, or removes it.
    ///
    /// A run neither reads the title nor writes it. So this needs no lease, and changes neither the
    /// revision of the session nor the time of its last write.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if the session does not exist, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::agent::session::{
    ///     MemorySessions, SessionQuery, SessionStore, SessionWrite,
    /// };
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySessions::new();
    /// store.save("ada", SessionWrite::create()).await?;
    /// store.set_title("ada", Some("A coat for Oslo")).await?;
    /// let sessions = store.list(SessionQuery::all()).await?;
    /// assert_eq!(sessions[0].title.as_deref(), Some("A coat for Oslo"));
    /// # Ok(())
    /// # }
    /// ```
    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError>;

    /// Renames a session, which keeps its revision, its principal and its title. Has no effect if
    /// both names are equal.
    ///
    /// `epoch` is that of the lease of the session, which stays with the old name.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if the session does not exist,
    /// [`AlreadyExists`](SessionError::AlreadyExists) if there is a session of the new name,
    /// [`LeaseLost`](SessionError::LeaseLost) if the session has no lease of this epoch,
    /// [`Busy`](SessionError::Busy) if the new name is leased, or the session without an epoch, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn rename(&self, session: &str, to: &str, epoch: Option<u64>)
    -> Result<(), SessionError>;

    /// Deletes a session and its messages. Succeeds even if the session does not exist.
    ///
    /// `epoch` is that of the lease of the session, which stays.
    /// [`Session::delete`](super::Session::delete) acquires one.
    ///
    /// # Errors
    /// Returns [`LeaseLost`](SessionError::LeaseLost) if the session has no lease of this epoch,
    /// [`Busy`](SessionError::Busy) if it is leased and `epoch` is `None`, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError>;

    /// Acquires the lease of a session for an owner, and returns its epoch.
    ///
    /// The session need not exist. An owner that has the lease already gets another one at once,
    /// and its earlier epoch becomes invalid. A later epoch is higher than all earlier ones of the
    /// session, also after the session or the lease was deleted. The owner lives as long as this
    /// store, or one that shares its [locks](Self::locks): if the store can tell that an owner has
    /// ended, its leases have ended with it.
    ///
    /// # Errors
    /// Returns [`Busy`](SessionError::Busy) if another owner has a lease that has not expired, and
    /// [`Unavailable`](SessionError::Unavailable) if the store can't be reached: then the lease may
    /// have been acquired.
    ///
    /// # Cancellation
    /// If the future is dropped, the lease may have been acquired, and lasts until it expires.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_runtime::agent::session::{
    ///     MemorySessions, SessionError, SessionOwner, SessionStore, SessionWrite,
    /// };
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), SessionError> {
    /// let store = MemorySessions::new();
    /// let lifetime = Duration::from_secs(30);
    /// let epoch = store.acquire("ada", store.locks().owner(), lifetime).await?;
    ///
    /// let other = store.acquire("ada", &SessionOwner::random(), lifetime).await;
    /// assert!(matches!(other, Err(SessionError::Busy { .. })));
    /// let without = store.save("ada", SessionWrite::create()).await;
    /// assert!(matches!(without, Err(SessionError::Busy { .. })));
    /// store.save("ada", SessionWrite::create().epoch(epoch)).await?;
    /// store.release("ada", epoch).await
    /// # }
    /// ```
    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError>;

    /// Lets a lease expire after this time from now.
    ///
    /// A renewal should not wait for a write to the session: if it waits too long, the lease is
    /// lost.
    ///
    /// # Errors
    /// Returns [`LeaseLost`](SessionError::LeaseLost) if the session has no lease of this epoch,
    /// and [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError>;

    /// Ends the lease of a session. Has no effect if the session has no lease of this epoch.
    ///
    /// # Errors
    /// Returns [`Unavailable`](SessionError::Unavailable) if the store can't be reached.
    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError>;

    /// Returns the locks by which a session has at most one run at a time in this process.
    ///
    /// Create them with the store, and share them between its clones. A
    /// [`Session`](super::Session) takes the lock for each of its runs: see
    /// [`Session::fail_if_busy`](super::Session::fail_if_busy).
    fn locks(&self) -> &SessionLocks;
}
