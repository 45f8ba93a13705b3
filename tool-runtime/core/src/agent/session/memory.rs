//! A session store in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;

use super::{
    SessionError, SessionInfo, SessionLocks, SessionPart, SessionQuery, SessionRecord,
    SessionStore, SessionWrite,
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
    sessions: Arc<Mutex<BTreeMap<String, StoredSession>>>,
    locks: SessionLocks,
}

#[derive(Debug)]
struct StoredSession {
    record: SessionRecord,
    saved_at: SystemTime,
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

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, StoredSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        Ok(self.sessions().get(session).map(|entry| entry.record.clone()))
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        let sessions = self.sessions();
        let Some(StoredSession { record, .. }) = sessions.get(session) else { return Ok(None) };
        let SessionRecord { messages, state, revision } = record;
        let end = range.end.min(messages.len());
        let from = range.start.min(end);
        let loaded = messages.get(from..end).unwrap_or_default().to_vec();
        Ok(Some(SessionPart::new(from, loaded, messages.len(), state, *revision)))
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let mut sessions = self.sessions();
        let found = sessions.get(session).map(|entry| &entry.record);
        let (found, count) = found.map_or((0, 0), |it| (it.revision, it.messages.len()));
        let revision = write.check(session, found, count)?;
        let new = || StoredSession {
            record: SessionRecord::new(Vec::new(), "", 0),
            saved_at: SystemTime::now(),
        };
        let StoredSession { record, saved_at } =
            sessions.entry(session.to_owned()).or_insert_with(new);
        record.messages.truncate(write.from);
        record.messages.extend_from_slice(write.messages);
        write.state.clone_into(&mut record.state);
        record.revision = revision;
        *saved_at = SystemTime::now();
        Ok(revision)
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        let sessions = self.sessions();
        let start = query.after.map_or(query.prefix, |after| after.max(query.prefix));
        let found = sessions
            .range::<str, _>((Bound::Included(start), Bound::Unbounded))
            .take_while(|(session, _)| session.starts_with(query.prefix))
            .filter(|(session, _)| query.matches(session))
            .take(query.limit.unwrap_or(usize::MAX));
        let listed = found.map(|(session, StoredSession { record, saved_at })| {
            SessionInfo::new(session, record.messages.len(), record.revision, *saved_at)
        });
        Ok(listed.collect())
    }

    async fn rename(&self, session: &str, to: &str) -> Result<(), SessionError> {
        let mut sessions = self.sessions();
        if session != to && sessions.contains_key(to) && sessions.contains_key(session) {
            return Err(SessionError::AlreadyExists { session: to.to_owned() });
        }
        let not_found = || SessionError::NotFound { session: session.to_owned() };
        let renamed = sessions.remove(session).ok_or_else(not_found)?;
        sessions.insert(to.to_owned(), renamed);
        Ok(())
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.sessions().remove(session);
        Ok(())
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
