//! Texts of any size: `head.rs` is the record of a text, which names the parts of a long one.

mod head;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    CorruptRecord, Expected, MAX_RECORD_BYTES, Record, RecordList, RecordQuery, Records,
    StoreError, check_sizes,
};
use head::{Head, MARK, PartName, Parts, divide};

/// The largest size in bytes of the key of a text in [`LargeRecords`]. The keys of its parts, which
/// begin with this one, are records as well.
pub const MAX_LARGE_KEY_BYTES: usize = 900;

/// The number of parts that are read at once to find unused ones.
const PAGE: usize = 16;

/// Keeps texts of any size in a collection of a store of records.
///
/// A text of at most [`MAX_RECORD_BYTES`] is one record. A longer one is divided into parts, which
/// are records of a second collection with `_parts` at the end of its name. The record under the
/// key of the text names them and is written last, so that a kill at any moment, or a dropped
/// future, leaves the previous text whole. Then the parts of the previous text are deleted. Parts
/// that a killed writer has left are deleted with the next change of their key, or by
/// [`delete_unused_parts`](Self::delete_unused_parts).
///
/// A key has at most [`MAX_LARGE_KEY_BYTES`], because those of the parts are longer. The name of
/// the collection of the parts must not be too long either.
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::records::{Expected, LargeRecords, MemoryRecords};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
/// let text = "Call me Ishmael. ".repeat(50_000);
/// let revision = texts.save("moby-dick", Expected::Absent, &text).await?;
///
/// let record = texts.load("moby-dick").await?.unwrap();
/// assert_eq!((record.revision, record.value), (revision, text));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LargeRecords {
    store: Arc<dyn Records>,
    collection: Arc<str>,
    parts: Arc<str>,
}

impl LargeRecords {
    /// Keeps texts in the collection of this name, and their parts in a second one.
    pub fn new(store: Arc<dyn Records>, collection: &str) -> Self {
        let parts = format!("{collection}_parts").into();
        Self { store, collection: collection.into(), parts }
    }

    /// Loads a text, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if its record is damaged or parts are missing or altered, or
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// assert_eq!(texts.load("moby-dick").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn load(&self, key: &str) -> Result<Option<Record>, StoreError> {
        match self.store.load(&self.collection, key).await? {
            Some(record) => Ok(self.read(record).await??),
            None => Ok(None),
        }
    }

    /// Saves a text if the stored one is as expected, and returns the new revision.
    ///
    /// # Errors
    /// The errors of [`Records::save`]: [`StoreError::TooLarge`] concerns the key and the name of
    /// the collection, whether or not the text is long. The stored text is unchanged.
    ///
    /// # Cancellation
    /// Dropping the future leaves the previous text or the new one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{Expected, LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// let revision = texts.save("moby-dick", Expected::Absent, "Call me Ishmael.").await?;
    /// let other = Expected::Revision(revision + 1);
    /// let refused = texts.save("moby-dick", other, "Some years ago").await.unwrap_err();
    /// assert!(refused.is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn save(&self, key: &str, expected: Expected, text: &str) -> Result<u64, StoreError> {
        if key.len() > MAX_LARGE_KEY_BYTES {
            return Err(StoreError::too_large(key, key.len(), MAX_LARGE_KEY_BYTES));
        }
        check_sizes(&self.parts, "", "")?;
        let saved = self.write(key, expected, text).await;
        self.delete_parts_of(key).await.ok();
        saved
    }

    /// Deletes a text if it is as expected, and returns the revision of the deletion.
    ///
    /// # Errors
    /// The errors of [`Records::delete`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{Expected, LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// texts.save("moby-dick", Expected::Absent, "Call me Ishmael.").await?;
    /// texts.delete("moby-dick", Expected::Any).await?;
    /// assert_eq!(texts.load("moby-dick").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self, key: &str, expected: Expected) -> Result<u64, StoreError> {
        let deleted = self.store.delete(&self.collection, key, expected).await?;
        self.delete_parts_of(key).await.ok();
        Ok(deleted)
    }

    /// Lists all texts in the order of their keys, with the counter of the collection.
    ///
    /// A text that changes meanwhile is listed as it was when the list began, or as it is now.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{Expected, LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// texts.save("moby-dick", Expected::Absent, "Call me Ishmael.").await?;
    /// assert_eq!(texts.list().await?.records[0].key, "moby-dick");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list(&self) -> Result<RecordList, StoreError> {
        let stored = self.store.list(&self.collection, RecordQuery::all()).await?;
        let mut list = RecordList { records: Vec::new(), ..stored };
        for record in stored.records {
            match self.read(record).await? {
                Ok(record) => list.records.extend(record),
                Err(corrupt) => list.corrupt.push(corrupt),
            }
        }
        list.corrupt.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(list)
    }

    /// Counts the texts, corrupt ones included.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// assert_eq!(texts.count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn count(&self) -> Result<usize, StoreError> {
        let stored = self.store.list(&self.collection, RecordQuery::all()).await?;
        let texts = stored.records.iter().filter(|record| record.value != MARK);
        Ok(texts.count() + stored.corrupt.len())
    }

    /// Waits until the counter of the collection is above `since`, by a write of any process, and
    /// returns it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{Expected, LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// let revision = texts.save("moby-dick", Expected::Absent, "Call me Ishmael.").await?;
    /// assert_eq!(texts.changed(revision - 1).await?, revision);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn changed(&self, since: u64) -> Result<u64, StoreError> {
        self.store.changed(&self.collection, since).await
    }

    /// Deletes the parts that belong to no text and that no writer can use any more, such as those
    /// of a process that was killed. Returns their number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::records::{LargeRecords, MemoryRecords};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let texts = LargeRecords::new(Arc::new(MemoryRecords::new()), "books");
    /// assert_eq!(texts.delete_unused_parts().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_unused_parts(&self) -> Result<usize, StoreError> {
        let (mut keys, mut count) = (BTreeSet::new(), 0);
        let mut query = RecordQuery::all().limit(PAGE);
        loop {
            let page = self.store.list(&self.parts, query.clone()).await?;
            keys.extend(
                part_keys(&page).filter_map(|it| Some(PartName::parse(it)?.key.to_owned())),
            );
            let Some(end) = page.end(&query) else { break };
            query.after = Some(end);
        }
        for key in keys {
            count += self.delete_parts_of(&key).await?;
        }
        Ok(count)
    }

    /// Returns the whole text of a record; `None` if its key is only reserved.
    async fn read(
        &self,
        mut record: Record,
    ) -> Result<Result<Option<Record>, CorruptRecord>, StoreError> {
        loop {
            let corrupt = match Head::decode(&record) {
                Ok(Head::Text) => return Ok(Ok(Some(record))),
                Ok(Head::Reserved) => return Ok(Ok(None)),
                Ok(Head::Parts(parts)) => {
                    let prefix = parts.prefix(&record.key);
                    let query = RecordQuery::all().prefix(&prefix);
                    let stored = self.store.list(&self.parts, query).await?;
                    match parts.join(&stored.records) {
                        Ok(value) => return Ok(Ok(Some(Record { value, ..record }))),
                        Err(reason) => record.corrupt(reason),
                    }
                }
                Err(corrupt) => corrupt,
            };
            // Parts disappear when another writer has replaced the text.
            match self.store.load(&self.collection, &record.key).await? {
                Some(newer) if newer.revision != record.revision => record = newer,
                Some(_) => return Ok(Err(corrupt)),
                None => return Ok(Ok(None)),
            }
        }
    }

    async fn write(
        &self,
        key: &str,
        mut expected: Expected,
        text: &str,
    ) -> Result<u64, StoreError> {
        let is_long = text.len() > MAX_RECORD_BYTES || text.starts_with(MARK);
        loop {
            let written = if is_long {
                self.write_parts(key, expected, text).await
            } else {
                self.store.save(&self.collection, key, expected, text, None).await
            };
            expected = match (written, expected) {
                // Another writer was faster, which this one replaces.
                (Err(error), Expected::Any) if error.is_conflict() => Expected::Any,
                (Err(error @ StoreError::AlreadyExists(_)), Expected::Absent) => {
                    match self.store.load(&self.collection, key).await? {
                        Some(record) if record.value == MARK => Expected::Revision(record.revision),
                        _ => return Err(error),
                    }
                }
                (written, _) => return written,
            };
        }
    }

    /// Saves the parts of a text, and then the record that names them.
    async fn write_parts(
        &self,
        key: &str,
        expected: Expected,
        text: &str,
    ) -> Result<u64, StoreError> {
        let base = match expected {
            Expected::Revision(revision) => revision,
            Expected::Absent => self.reserve(key, Expected::Absent).await?,
            Expected::Any => match self.store.load(&self.collection, key).await {
                Ok(Some(record)) => record.revision,
                Ok(None) => self.reserve(key, Expected::Absent).await?,
                Err(StoreError::Corrupt { .. }) => self.reserve(key, Expected::Any).await?,
                Err(error) => return Err(error),
            },
        };
        let parts = Parts::new(base, text);
        for (number, part) in divide(text).enumerate() {
            let part_key = parts.part_key(key, number);
            self.store.save(&self.parts, &part_key, Expected::Any, part, None).await?;
        }
        let head = parts.encode().map_err(StoreError::unavailable)?;
        self.store.save(&self.collection, key, Expected::Revision(base), &head, None).await
    }

    /// Saves a record that reserves the key, so that the writer of a new text has a base, too.
    async fn reserve(&self, key: &str, expected: Expected) -> Result<u64, StoreError> {
        self.store.save(&self.collection, key, expected, MARK, None).await
    }

    /// Deletes the unused parts of a text, and returns their number.
    ///
    /// A part is used if the record names it, or if its writer may still save the record: the
    /// revision that the writer replaces is the current one. The parts are listed first, so that
    /// the record is not older than any of them.
    async fn delete_parts_of(&self, key: &str) -> Result<usize, StoreError> {
        let prefix = format!("{key}/");
        let stored = self.store.list(&self.parts, RecordQuery::all().prefix(&prefix)).await?;
        let names = part_keys(&stored).filter_map(|it| Some((it, PartName::parse(it)?)));
        // Those of a text whose key begins with this one are left out.
        let mut names: Vec<_> = names.filter(|(_, name)| name.key == key).collect();
        if names.is_empty() {
            return Ok(0);
        }
        if let Some(record) = self.store.load(&self.collection, key).await? {
            let head = Head::decode(&record)?;
            names.retain(|(_, name)| !name.is_used(&record, &head));
        }
        for (part_key, _) in &names {
            self.store.delete(&self.parts, part_key, Expected::Any).await?;
        }
        Ok(names.len())
    }
}

fn part_keys(list: &RecordList) -> impl Iterator<Item = &str> {
    let corrupt = list.corrupt.iter().map(|record| record.key.as_str());
    list.records.iter().map(|record| record.key.as_str()).chain(corrupt)
}
