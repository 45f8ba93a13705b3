//! Stores that wait at each operation, so that a process can end there.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart,
    SessionQuery, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError,
};

/// Sessions whose operations wait before and after they take effect.
#[derive(Clone, Debug)]
pub(super) struct Slow(pub(super) MemorySessions);

async fn slowly<T>(operation: impl Future<Output = T>) -> T {
    yield_now().await;
    let result = operation.await;
    yield_now().await;
    result
}

#[async_trait]
impl SessionStore for Slow {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        slowly(self.0.load(session)).await
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        slowly(self.0.load_range(session, range)).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        slowly(self.0.save(session, write)).await
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        self.0.list(query).await
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        self.0.set_title(session, title).await
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        self.0.rename(session, to, epoch).await
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        self.0.delete(session, epoch).await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        self.0.acquire(session, owner, lifetime).await
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.0.renew(session, epoch, lifetime).await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.0.release(session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        self.0.locks()
    }
}

type Fails = dyn Fn() -> bool + Send + Sync;

/// Records whose operations wait before and after they take effect, and whose lists may fail.
#[derive(Clone)]
pub(super) struct Failing {
    records: MemoryRecords,
    fails: Arc<Fails>,
}

impl Failing {
    pub(super) fn new(
        records: MemoryRecords,
        fails: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { records, fails: Arc::new(fails) }
    }
}

impl fmt::Debug for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failing").finish_non_exhaustive()
    }
}

#[async_trait]
impl Records for Failing {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.records.load(collection, key).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        slowly(self.records.save(collection, key, expected, value, order)).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        slowly(self.records.delete(collection, key, expected)).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        if (self.fails)() {
            return Err(StoreError::unavailable("the connection was cut off"));
        }
        slowly(self.records.list(collection, query)).await
    }
}
