use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;

use super::{Record, RecordList, RecordQuery, StoreError};

/// The largest size of a value in bytes.
pub const MAX_RECORD_BYTES: usize = 256 * 1024;

/// The largest size of a key in bytes.
pub const MAX_KEY_BYTES: usize = 1024;

/// The largest size of the name of a collection in bytes.
pub const MAX_COLLECTION_BYTES: usize = 64;

/// The time between two reads of the counter by the default of [`Records::changed`].
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Storage backend for small records: texts under keys, in collections.
///
/// Schedules, catalogs, descriptions of tools, pinned definitions and tokens are kept in such a
/// store. Implement this trait to keep all of them in a database of your own.
///
/// # Contract
/// - Each collection has one counter, which starts at 0. Each successful save and delete raises it
///   by at least 1, and has the new value as its revision. A value is never used again. The order
///   of revisions is the order in which the writes become visible.
/// - [`save`](Self::save) and [`delete`](Self::delete) write only if the stored record is as
///   [expected](Expected). Of concurrent writers that expect one revision, exactly one succeeds.
/// - A write is durable when its future returns, and is visible to all processes.
/// - A list shows the collection at one moment.
/// - Names of collections, keys and values are any text, and are returned byte for byte. Two texts
///   that differ in a byte are different. The store interprets none of them.
/// - A write with a text that is larger than [`MAX_COLLECTION_BYTES`], [`MAX_KEY_BYTES`] or
///   [`MAX_RECORD_BYTES`] is refused: [`check_sizes`] does this. So nothing is stored under a larger
///   name, and a read of it finds nothing.
/// - If the future of a write is dropped, the write is done completely or not at all.
/// - No operation changes two records.
/// - A damaged record is [listed as corrupt](RecordList::corrupt), and [`load`](Self::load) returns
///   an error for it. If its key can be read, it can be deleted or replaced by its revision or by
///   [`Expected::Any`], and other records are not affected.
///
/// The crate `tool-conformance` tests an implementation against these rules: see the page `testing`
/// of the guide.
///
/// ```
/// use tool_runtime::records::{Expected, MemoryRecords, Records, StoreError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), StoreError> {
/// let store = MemoryRecords::new();
/// let revision = store.save("notes", "ada", Expected::Absent, "Buy milk", None).await?;
/// store.save("notes", "ada", Expected::Revision(revision), "Buy tea", None).await?;
///
/// let late = store.save("notes", "ada", Expected::Revision(revision), "Buy oats", None).await;
/// assert!(matches!(late, Err(StoreError::Conflict { expected: 1, actual: 2, .. })));
/// assert_eq!(store.load("notes", "ada").await?.unwrap().value, "Buy tea");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Records: Send + Sync + Debug {
    /// Loads a record, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the record is damaged, or [`StoreError::Unavailable`].
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError>;

    /// Saves a record if the stored one is as expected, and returns the new revision.
    ///
    /// `order` is a number by which records can be [listed](RecordQuery::order_up_to).
    ///
    /// # Errors
    /// - [`StoreError::Conflict`], [`StoreError::NotFound`] or [`StoreError::AlreadyExists`] if the
    ///   stored record is not as expected.
    /// - [`StoreError::TooLarge`] if a size is above its limit.
    /// - [`StoreError::Unavailable`].
    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError>;

    /// Deletes a record if it is as expected, and returns the revision of the deletion.
    ///
    /// Deleting what does not exist succeeds if that is as expected, and is a write like others.
    ///
    /// # Errors
    /// Those of [`save`](Self::save).
    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError>;

    /// Lists records, with the counter of the collection.
    ///
    /// A list with the limit 0 has only the counter.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError>;

    /// Waits until the counter of the collection is above `since`, by a write of any process, and
    /// returns it. Default: reads the counter four times a second.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        loop {
            let counter = self.list(collection, RecordQuery::all().limit(0)).await?.counter;
            if counter > since {
                return Ok(counter);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

#[async_trait]
impl<R: Records + ?Sized> Records for Arc<R> {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.as_ref().load(collection, key).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        self.as_ref().save(collection, key, expected, value, order).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        self.as_ref().delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        self.as_ref().list(collection, query).await
    }

    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        self.as_ref().changed(collection, since).await
    }
}

/// The expectation of a writer about the stored record.
///
/// ```
/// use tool_runtime::records::{Expected, StoreError};
///
/// assert!(Expected::Absent.check("ada", None).is_ok());
/// let error = Expected::Absent.check("ada", Some(7)).unwrap_err();
/// assert!(matches!(error, StoreError::AlreadyExists(_)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing: the write replaces whatever there is.
    Any,
    /// There is no record.
    Absent,
    /// The record has this revision.
    Revision(u64),
}

impl Expected {
    /// Compares the expectation with the revision of the stored record, or with `None` if there is
    /// no record.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::NotFound`] or [`StoreError::AlreadyExists`].
    pub fn check(self, key: &str, stored: Option<u64>) -> Result<(), StoreError> {
        match (self, stored) {
            (Self::Any, _) | (Self::Absent, None) => Ok(()),
            (Self::Absent, Some(_)) => Err(StoreError::AlreadyExists(key.to_owned())),
            (Self::Revision(_), None) => Err(StoreError::NotFound(key.to_owned())),
            (Self::Revision(expected), Some(actual)) if expected == actual => Ok(()),
            (Self::Revision(expected), Some(actual)) => {
                Err(StoreError::Conflict { key: key.to_owned(), expected, actual })
            }
        }
    }
}

/// Compares the sizes of what is to be stored with the limits of the contract.
///
/// # Errors
/// [`StoreError::TooLarge`].
///
/// ```
/// use tool_runtime::records::{MAX_KEY_BYTES, check_sizes};
///
/// let error = check_sizes("notes", &"x".repeat(MAX_KEY_BYTES + 1), "").unwrap_err();
/// assert!(error.to_string().ends_with("has 1025 bytes; the limit is 1024"));
/// ```
pub fn check_sizes(collection: &str, key: &str, value: &str) -> Result<(), StoreError> {
    let check = |name: &str, bytes: usize, max_bytes: usize| {
        if bytes <= max_bytes { Ok(()) } else { Err(StoreError::too_large(name, bytes, max_bytes)) }
    };
    check(collection, collection.len(), MAX_COLLECTION_BYTES)?;
    check(key, key.len(), MAX_KEY_BYTES)?;
    check(key, value.len(), MAX_RECORD_BYTES)
}
