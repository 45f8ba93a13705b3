//! A store in memory with a function that runs before each operation, and can delay or refuse it.
//! Targets of several crates use it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Load,
    Save,
    Delete,
    List,
}

type Hook = dyn Fn(Operation, &str) -> Allowed + Send + Sync;

type Allowed = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

#[derive(Clone)]
pub(crate) struct Intercepted {
    store: MemoryRecords,
    before: Arc<Hook>,
}

impl Intercepted {
    /// Calls `before` with each operation and its collection. Changes are reported without it.
    pub(crate) fn new<F>(
        store: MemoryRecords,
        before: impl Fn(Operation, &str) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let before = move |operation, collection: &str| -> Allowed {
            Box::pin(before(operation, collection))
        };
        Self { store, before: Arc::new(before) }
    }
}

impl fmt::Debug for Intercepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercepted").field("store", &self.store).finish_non_exhaustive()
    }
}

#[async_trait]
impl Records for Intercepted {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        (self.before)(Operation::Load, collection).await?;
        self.store.load(collection, key).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        (self.before)(Operation::Save, collection).await?;
        self.store.save(collection, key, expected, value, order).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        (self.before)(Operation::Delete, collection).await?;
        self.store.delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        (self.before)(Operation::List, collection).await?;
        self.store.list(collection, query).await
    }

    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        self.store.changed(collection, since).await
    }
}
