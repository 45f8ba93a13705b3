//! A session store in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::{
    MemoryLeases, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionStatus, SessionStore, SessionWrite,
};

/// A session store in memory, which lasts as long as the process. Clones share their sessions.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemorySessions, SessionQuery, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySessions::new();
/// let messages = [Message::user("Hello")];
/// let write = SessionWrite::create().messages(0, &messages);
/// store.clone().save("ada", write).await?;
/// assert_eq!(store.list(SessionQuery::all()).await?[0].session, "ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemorySessions {
    stored: Arc<Mutex<Stored>>,
    locks: SessionLocks,
}

#[derive(Debug, Default)]
struct Stored {
    sessions: BTreeMap<String, StoredSession>,
    leases: MemoryLeases,
}

#[derive(Debug)]
struct StoredSession {
    record: SessionRecord,
    saved_at: SystemTime,
    status: SessionStatus,
    failure: Option<String>,
    title: Option<String>,
    principal: Option<String>,
}

impl MemorySessions {
    /// Creates a store without sessions.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::session::{MemorySessions, SessionStore, SessionWrite};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySessions::new();
    /// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
    /// assert!(store.load("ada").await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        Ok(self.stored().sessions.get(session).map(|entry| entry.record.clone()))
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        let stored = self.stored();
        let Some(StoredSession { record, .. }) = stored.sessions.get(session) else {
            return Ok(None);
        };
        let SessionRecord { messages, state, revision } = record;
        let end = range.end.min(messages.len());
        let from = range.start.min(end);
        let loaded = messages.get(from..end).unwrap_or_default().to_vec();
        Ok(Some(SessionPart::new(from, loaded, messages.len(), state, *revision)))
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let mut stored = self.stored();
        let Stored { sessions, leases } = &mut *stored;
        leases.check(session, write.epoch)?;
        let found = sessions.get(session).map(|entry| &entry.record);
        let (found, count) = found.map_or((0, 0), |it| (it.revision, it.messages.len()));
        let revision = write.check(session, found, count)?;
        let new = || StoredSession {
            record: SessionRecord::new(Vec::new(), "", 0),
            saved_at: SystemTime::now(),
            status: write.status,
            failure: None,
            title: write.title.map(str::to_owned),
            principal: write.principal.map(str::to_owned),
        };
        let StoredSession { record, saved_at, status, failure, .. } =
            sessions.entry(session.to_owned()).or_insert_with(new);
        record.messages.truncate(write.from);
        record.messages.extend_from_slice(write.messages);
        write.state.clone_into(&mut record.state);
        record.revision = revision;
        *saved_at = SystemTime::now();
        *status = write.status;
        *failure = write.failure.map(str::to_owned);
        Ok(revision)
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        let stored = self.stored();
        let start = query.after.map_or(query.prefix, |after| after.max(query.prefix));
        let found = stored
            .sessions
            .range::<str, _>((Bound::Included(start), Bound::Unbounded))
            .take_while(|(session, _)| session.starts_with(query.prefix))
            .map(|(session, stored_session)| {
                let StoredSession { record, saved_at, failure, title, principal, .. } =
                    stored_session;
                let status = stored_session.status.listed(stored.leases.is_live(session));
                SessionInfo::new(session, record.messages.len(), record.revision, *saved_at)
                    .status(status, failure.clone())
                    .title(title.clone())
                    .principal(principal.clone())
            })
            .filter(|info| query.matches(info))
            .take(query.limit.unwrap_or(usize::MAX));
        Ok(found.collect())
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        match self.stored().sessions.get_mut(session) {
            Some(found) => found.title = title.map(str::to_owned),
            None => return Err(SessionError::NotFound { session: session.to_owned() }),
        }
        Ok(())
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        let mut stored = self.stored();
        let Stored { sessions, leases } = &mut *stored;
        leases.check(session, epoch)?;
        if !sessions.contains_key(session) {
            return Err(SessionError::NotFound { session: session.to_owned() });
        }
        if session == to {
            return Ok(());
        }
        leases.check(to, None)?;
        if sessions.contains_key(to) {
            return Err(SessionError::AlreadyExists { session: to.to_owned() });
        }
        let renamed = sessions.remove(session);
        sessions.extend(renamed.map(|it| (to.to_owned(), it)));
        Ok(())
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        let mut stored = self.stored();
        stored.leases.check(session, epoch)?;
        stored.sessions.remove(session);
        Ok(())
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        self.stored().leases.acquire(session, owner, lifetime)
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.stored().leases.renew(session, epoch, lifetime)
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.stored().leases.release(session, epoch);
        Ok(())
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
