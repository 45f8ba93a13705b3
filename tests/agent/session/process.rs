//! A store as another process sees it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart,
    SessionQuery, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::async_trait;

/// A handle of a store with locks of its own, as another process has it, which counts the messages
/// that it loads and saves.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) store: MemorySessions,
    locks: SessionLocks,
    pub(super) loaded: Arc<AtomicUsize>,
    pub(super) saved: Arc<AtomicUsize>,
    /// Whether the store can't be reached for renewals and releases.
    pub(super) is_cut_off: Arc<AtomicBool>,
    /// How long the confirmation of an acquired lease takes.
    pub(super) acquire_delay: Duration,
    /// How long the confirmation of a released lease takes.
    pub(super) release_delay: Duration,
}

impl Process {
    pub(super) fn of(store: &MemorySessions) -> Self {
        Self { store: store.clone(), ..Self::default() }
    }

    fn check_connection(&self) -> Result<(), SessionError> {
        if self.is_cut_off.load(Ordering::SeqCst) {
            return Err(SessionError::unavailable("connection lost"));
        }
        Ok(())
    }

    /// Returns the number of messages that were loaded and saved since the last call.
    pub(super) fn take_counts(&self) -> (usize, usize) {
        (self.loaded.swap(0, Ordering::SeqCst), self.saved.swap(0, Ordering::SeqCst))
    }
}

#[async_trait]
impl SessionStore for Process {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let record = self.store.load(session).await?;
        let count = record.as_ref().map_or(0, |record| record.messages.len());
        self.loaded.fetch_add(count, Ordering::SeqCst);
        Ok(record)
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        let part = self.store.load_range(session, range).await?;
        let count = part.as_ref().map_or(0, |part| part.messages.len());
        self.loaded.fetch_add(count, Ordering::SeqCst);
        Ok(part)
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.saved.fetch_add(write.messages.len(), Ordering::SeqCst);
        self.store.save(session, write).await
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        self.store.list(query).await
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        self.store.set_title(session, title).await
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        self.store.rename(session, to, epoch).await
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        self.store.delete(session, epoch).await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        let epoch = self.store.acquire(session, owner, lifetime).await?;
        sleep(self.acquire_delay).await;
        Ok(epoch)
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.check_connection()?;
        self.store.renew(session, epoch, lifetime).await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.check_connection()?;
        sleep(self.release_delay).await;
        self.store.release(session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
