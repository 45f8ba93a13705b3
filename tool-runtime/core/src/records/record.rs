use serde::de::DeserializeOwned;

use super::StoreError;

/// A small text under a key.
///
/// ```
/// use tool_runtime::records::Record;
///
/// let record = Record::new("ada", 7, r#"{"city":"Rome"}"#).order(1_700_000_000);
/// let value: serde_json::Value = record.decode()?;
/// assert_eq!(value["city"], "Rome");
/// # Ok::<_, tool_runtime::records::CorruptRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The key within the collection.
    pub key: String,
    /// The value of the collection's counter after the save.
    pub revision: u64,
    /// A number by which records can be listed, such as a time.
    pub order: Option<i64>,
    /// The text, which a store does not interpret.
    pub value: String,
}

impl Record {
    /// Creates a record without an order.
    pub fn new(key: impl Into<String>, revision: u64, value: impl Into<String>) -> Self {
        Self { key: key.into(), revision, order: None, value: value.into() }
    }

    /// Sets the order by which the record can be listed.
    #[must_use]
    pub fn order(self, order: impl Into<Option<i64>>) -> Self {
        Self { order: order.into(), ..self }
    }

    /// Decodes the value as JSON.
    ///
    /// # Errors
    /// Returns the record as a corrupt one, with the reason, if the value is not JSON of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, CorruptRecord> {
        serde_json::from_str(&self.value).map_err(|error| self.corrupt(error.to_string()))
    }

    /// Returns this record as one that can't be read, for a reason.
    pub fn corrupt(&self, reason: impl Into<String>) -> CorruptRecord {
        CorruptRecord::new(&self.key, self.revision, reason).order(self.order)
    }
}

/// A record that can't be read.
///
/// Lists contain such records beside the others, so that no record is lost silently.
///
/// ```
/// use tool_runtime::records::{Record, StoreError};
///
/// let corrupt = Record::new("ada", 7, "{").decode::<serde_json::Value>().unwrap_err();
/// assert_eq!(corrupt.key, "ada");
/// assert!(matches!(StoreError::from(corrupt), StoreError::Corrupt { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorruptRecord {
    /// The key within the collection. Bytes that are not UTF-8 are replaced.
    pub key: String,
    /// The revision, by which the record can be deleted or replaced.
    pub revision: u64,
    /// The order of the record.
    pub order: Option<i64>,
    /// The reason why it can't be read.
    pub reason: String,
}

impl CorruptRecord {
    /// Creates the description of a record without an order.
    ///
    /// ```
    /// use tool_runtime::records::CorruptRecord;
    ///
    /// let corrupt = CorruptRecord::new("ada", 7, "not JSON").order(3);
    /// assert_eq!((corrupt.order, &*corrupt.reason), (Some(3), "not JSON"));
    /// ```
    pub fn new(key: impl Into<String>, revision: u64, reason: impl Into<String>) -> Self {
        Self { key: key.into(), revision, order: None, reason: reason.into() }
    }

    /// Sets the order by which the record can be listed.
    #[must_use]
    pub fn order(self, order: impl Into<Option<i64>>) -> Self {
        Self { order: order.into(), ..self }
    }
}

impl From<CorruptRecord> for StoreError {
    fn from(corrupt: CorruptRecord) -> Self {
        Self::Corrupt { key: corrupt.key, reason: corrupt.reason }
    }
}

/// Records of a collection at one moment.
///
/// ```
/// use tool_runtime::records::{MemoryRecords, RecordList, RecordQuery, Records};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// let list = MemoryRecords::new().list("notes", RecordQuery::all()).await?;
/// assert_eq!(list, RecordList::default());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordList {
    /// The counter of the collection. The list shows all writes up to it.
    pub counter: u64,
    /// The records, in the order of the query.
    pub records: Vec<Record>,
    /// The records that the store can't read, in the order of the query.
    pub corrupt: Vec<CorruptRecord>,
}

impl RecordList {
    /// Creates a list of readable records.
    ///
    /// ```
    /// use tool_runtime::records::{Record, RecordList, RecordQuery};
    ///
    /// let list = RecordList::new(7, vec![Record::new("ada", 7, "{}")]);
    /// assert_eq!(list.end(&RecordQuery::all()).unwrap().key, "ada");
    /// ```
    pub fn new(counter: u64, records: Vec<Record>) -> Self {
        Self { counter, records, corrupt: Vec::new() }
    }

    /// Returns the position after the last record, corrupt ones included: where the next page
    /// begins. `None` if the list is empty.
    pub fn end(&self, query: &super::RecordQuery<'_>) -> Option<super::Position> {
        let readable = self.records.last().map(super::Position::from);
        let corrupt = self.corrupt.last().map(super::Position::from);
        readable.into_iter().chain(corrupt).max_by(|left, right| query.compare(left, right))
    }
}
