use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;

use super::{SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite};

/// Keeps conversations for as long as the process runs. Clones share them.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemoryStore, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// store.clone().save("ada", SessionWrite::first().messages(0, &[Message::user("Hello")])).await?;
/// assert_eq!(store.list().await?[0].session, "ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    sessions: Arc<Mutex<BTreeMap<String, Kept>>>,
}

#[derive(Debug)]
struct Kept {
    stored: SessionRecord,
    saved_at: SystemTime,
}

impl MemoryStore {
    /// No conversations yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        Ok(self.sessions().get(session).map(|kept| kept.stored.clone()))
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let mut sessions = self.sessions();
        let found = sessions.get(session).map(|kept| &kept.stored);
        let (found, kept) = found.map_or((0, 0), |it| (it.revision, it.messages.len()));
        let revision = write.check(session, found, kept)?;
        let begun =
            || Kept { stored: SessionRecord::new(Vec::new(), "", 0), saved_at: SystemTime::now() };
        let Kept { stored, saved_at } = sessions.entry(session.to_owned()).or_insert_with(begun);
        stored.messages.truncate(write.from);
        stored.messages.extend_from_slice(write.messages);
        write.state.clone_into(&mut stored.state);
        stored.revision = revision;
        *saved_at = SystemTime::now();
        Ok(revision)
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        let sessions = self.sessions();
        let listed = sessions.iter().map(|(session, Kept { stored, saved_at })| {
            SessionInfo::new(session, stored.messages.len(), stored.revision, *saved_at)
        });
        Ok(listed.collect())
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.sessions().remove(session);
        Ok(())
    }
}
