//! A session store in memory whose saves a test delays, counts or refuses.

use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart,
    SessionQuery, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::async_trait;

/// What a test does in the place of a save.
#[async_trait]
pub trait OnSave: Send + Sync + Debug {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError>;
}

/// A store in memory with a function for its saves.
#[derive(Clone, Debug, Default)]
pub struct Intercepted<F> {
    pub store: MemorySessions,
    pub on_save: F,
}

impl<F> Intercepted<F> {
    pub fn new(on_save: F) -> Self {
        Self { store: MemorySessions::new(), on_save }
    }
}

#[async_trait]
impl<F: OnSave> SessionStore for Intercepted<F> {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.store.load(session).await
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        self.store.load_range(session, range).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.on_save.save(&self.store, session, write).await
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
        self.store.acquire(session, owner, lifetime).await
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.store.renew(session, epoch, lifetime).await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.store.release(session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        self.store.locks()
    }
}
