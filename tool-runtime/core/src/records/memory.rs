use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::{Expected, Record, RecordList, RecordQuery, Records, StoreError, check_sizes};

/// Keeps records in memory, for tests and for programs whose records need not survive a restart.
/// Clones share them.
///
/// ```
/// use tool_runtime::records::{Expected, MemoryRecords, Records};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// let store = MemoryRecords::new();
/// store.save("notes", "ada", Expected::Any, "Buy milk", None).await?;
/// store.clone().delete("notes", "ada", Expected::Any).await?;
/// assert_eq!(store.load("notes", "ada").await?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryRecords(Arc<watch::Sender<HashMap<String, Collection>>>);

#[derive(Debug, Default)]
struct Collection {
    counter: u64,
    records: BTreeMap<String, Record>,
}

impl MemoryRecords {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes a collection if the record is as expected, and returns the revision.
    fn write(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        change: impl FnOnce(&mut BTreeMap<String, Record>, u64),
    ) -> Result<u64, StoreError> {
        let mut written = Ok(0);
        self.0.send_if_modified(|collections| {
            let known = collections.get(collection);
            let stored = known.and_then(|it| it.records.get(key)).map(|record| record.revision);
            written = expected.check(key, stored).map(|()| {
                let Collection { counter, records } =
                    collections.entry(collection.to_owned()).or_default();
                *counter += 1;
                change(records, *counter);
                *counter
            });
            written.is_ok()
        });
        written
    }
}

#[async_trait]
impl Records for MemoryRecords {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let collections = self.0.borrow();
        Ok(collections.get(collection).and_then(|it| it.records.get(key)).cloned())
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, value)?;
        self.write(collection, key, expected, |records, revision| {
            let record = Record::new(key, revision, value).order(order);
            records.insert(key.to_owned(), record);
        })
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, "")?;
        self.write(collection, key, expected, |records, _| {
            records.remove(key);
        })
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let collections = self.0.borrow();
        let Some(Collection { counter, records }) = collections.get(collection) else {
            return Ok(RecordList::default());
        };
        Ok(RecordList::new(*counter, query.select(records)))
    }

    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        let counter = |collections: &HashMap<String, Collection>| {
            collections.get(collection).map_or(0, |it| it.counter)
        };
        let mut changes = self.0.subscribe();
        let changed = changes.wait_for(|collections| counter(collections) > since).await;
        changed.map(|collections| counter(&collections)).map_err(StoreError::unavailable)
    }
}
