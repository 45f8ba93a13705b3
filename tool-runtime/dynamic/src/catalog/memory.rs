//! Catalog store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tool_core::async_trait;

use super::error::CatalogError;
use super::store::{CatalogRecord, CatalogRecords, CatalogStore};

/// Catalog store in memory, which ends with the process. Clones share the records.
///
/// ```
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::dynamic::catalog::MemoryCatalog;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let catalog = Catalog::new(MemoryCatalog::new());
/// assert!(catalog.contents().await?.entries.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryCatalog(Arc<watch::Sender<Records>>);

#[derive(Default)]
struct Records {
    by_key: BTreeMap<(String, String), CatalogRecord>,
    revision: u64,
}

fn key(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

impl MemoryCatalog {
    /// Creates a store without records.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Records::default())))
    }

    /// Changes the records if `revision` is the stored one of the key, and returns the new
    /// revision.
    fn write(
        &self,
        (kind, name): (&str, &str),
        revision: u64,
        change: impl FnOnce(&mut Records, (String, String)),
    ) -> Result<u64, CatalogError> {
        let mut written = Err(CatalogError::conflict(kind, name, revision));
        self.0.send_if_modified(|records| {
            let key = key(kind, name);
            let stored = records.by_key.get(&key).map_or(0, |record| record.revision);
            if stored != revision {
                return false;
            }
            records.revision += 1;
            written = Ok(records.revision);
            change(records, key);
            true
        });
        written
    }
}

impl Default for MemoryCatalog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.0.borrow().revision;
        f.debug_struct("MemoryCatalog").field("revision", &revision).finish_non_exhaustive()
    }
}

#[async_trait]
impl CatalogStore for MemoryCatalog {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        Ok(self.0.borrow().by_key.get(&key(kind, name)).cloned())
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        self.write((&record.kind, &record.name), record.revision, |records, key| {
            let revision = records.revision;
            records.by_key.insert(key, CatalogRecord { revision, ..record.clone() });
        })
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        if revision == 0 {
            return Err(CatalogError::conflict(kind, name, revision));
        }
        self.write((kind, name), revision, |records, key| drop(records.by_key.remove(&key)))
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        let records = self.0.borrow();
        Ok(CatalogRecords::new(records.revision, records.by_key.values().cloned().collect()))
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        Ok(self.0.borrow().by_key.len())
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        Ok(self.0.borrow().revision)
    }

    async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        let mut changes = self.0.subscribe();
        let changed = changes.wait_for(|records| records.revision > since).await;
        changed.map(|records| records.revision).map_err(CatalogError::unavailable)
    }
}
