//! The contract of catalog stores.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tool_core::async_trait;

use super::error::CatalogError;

/// How often the default implementation of [`CatalogStore::changed`] polls.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A record of a catalog as a store keeps it.
///
/// ```
/// use tool_runtime::dynamic::catalog::CatalogRecord;
///
/// let record = CatalogRecord::new("tool", "add", r#"{"versions":[]}"#);
/// assert_eq!(record.revision, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogRecord {
    /// The kind of the entry, such as `tool`.
    pub kind: String,
    /// The name of the entry, which is unique within its kind.
    pub name: String,
    /// The entry with its versions as JSON, which a store does not interpret.
    pub content: String,
    /// The revision that the store has given to the record, or 0 if it was never saved.
    pub revision: u64,
}

impl CatalogRecord {
    /// Creates a record that was never saved.
    pub fn new(
        kind: impl Into<String>,
        name: impl Into<String>,
        content: impl Into<String>,
    ) -> Self {
        Self { kind: kind.into(), name: name.into(), content: content.into(), revision: 0 }
    }

    /// Sets the revision that the store has given to the record.
    #[must_use]
    pub fn at_revision(self, revision: u64) -> Self {
        Self { revision, ..self }
    }
}

/// All records of a store at one moment.
///
/// ```
/// use tool_runtime::dynamic::catalog::{CatalogRecords, CatalogStore, MemoryCatalog};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// assert_eq!(MemoryCatalog::new().list().await?, CatalogRecords::new(0, Vec::new()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogRecords {
    /// The revision of the last write that the records include.
    pub revision: u64,
    /// The records in the order of their kinds and names, compared as bytes.
    pub records: Vec<CatalogRecord>,
}

impl CatalogRecords {
    /// Creates the list of the records at a revision.
    pub fn new(revision: u64, records: Vec<CatalogRecord>) -> Self {
        Self { revision, records }
    }
}

/// Storage backend for catalogs.
///
/// A store keeps one record for each kind and name, and does not interpret its content.
///
/// # Contract
/// - The store has one counter of revisions. Each save and each deletion increments it and has the
///   new value as its revision. The order of revisions is that in which the writes become visible.
/// - [`save`](Self::save) and [`delete`](Self::delete) compare and set: they write only if the
///   stored revision is that of the record, or if there is no record and the revision is 0. Of
///   concurrent writers of one revision, exactly one succeeds.
/// - A write is durable before the method returns, and is visible to all processes.
/// - [`list`](Self::list) returns all records of one moment.
/// - If the future of a write is dropped, the write is done completely or not at all.
///
/// [`conformance::check`](super::conformance::check) tests an implementation.
///
/// ```
/// use tool_runtime::dynamic::CatalogError;
/// use tool_runtime::dynamic::catalog::{CatalogRecord, CatalogStore, MemoryCatalog};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), CatalogError> {
/// let store = MemoryCatalog::new();
/// let record = CatalogRecord::new("tool", "add", "{}");
/// let revision = store.save(&record).await?;
/// assert!(matches!(store.save(&record).await, Err(CatalogError::Conflict { .. })));
/// assert_eq!(store.load("tool", "add").await?, Some(record.at_revision(revision)));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait CatalogStore: Send + Sync + Debug {
    /// Loads the record of this kind and name.
    ///
    /// # Errors
    /// Returns an error if the store can't be reached.
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError>;

    /// Saves a record if its revision is the stored one, and returns the new revision. A record
    /// with the revision 0 is created.
    ///
    /// # Errors
    /// [`CatalogError::Conflict`] if the stored revision is another one.
    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError>;

    /// Deletes a record if its revision is the stored one, and returns the revision of the
    /// deletion.
    ///
    /// # Errors
    /// [`CatalogError::Conflict`] if the stored revision is another one, or if there is no record.
    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError>;

    /// Lists all records, with the revision of the last write.
    ///
    /// # Errors
    /// Returns an error if the store can't be reached.
    async fn list(&self) -> Result<CatalogRecords, CatalogError>;

    /// Returns the number of records. Default: counts those of [`list`](Self::list).
    ///
    /// # Errors
    /// Returns an error if the store can't be reached.
    async fn count(&self) -> Result<usize, CatalogError> {
        Ok(self.list().await?.records.len())
    }

    /// Returns the revision of the last write; 0 if there was none.
    ///
    /// # Errors
    /// Returns an error if the store can't be reached.
    async fn revision(&self) -> Result<u64, CatalogError>;

    /// Waits until there is a write after the revision `since`, by any process. Returns the
    /// revision of the last write. Default: polls [`revision`](Self::revision) four times a second.
    ///
    /// # Errors
    /// Returns an error if the store can't be reached.
    async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        loop {
            let revision = self.revision().await?;
            if revision > since {
                return Ok(revision);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[async_trait]
impl<S: CatalogStore + ?Sized> CatalogStore for Arc<S> {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        self.as_ref().load(kind, name).await
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        self.as_ref().save(record).await
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        self.as_ref().delete(kind, name, revision).await
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        self.as_ref().list().await
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        self.as_ref().count().await
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        self.as_ref().revision().await
    }

    async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        self.as_ref().changed(since).await
    }
}
