use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use super::{CorruptRecord, Record};

/// Selects the records of a collection to list, and their order.
///
/// Without [`order_up_to`](Self::order_up_to), records are in the order of their keys, compared as
/// bytes.
///
/// ```
/// use tool_runtime::records::{Expected, MemoryRecords, RecordQuery, Records};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// let store = MemoryRecords::new();
/// for (key, due) in [("mail", 20), ("news", 10), ("tidy", 90)] {
///     store.save("jobs", key, Expected::Absent, "{}", Some(due)).await?;
/// }
/// let due = store.list("jobs", RecordQuery::all().order_up_to(20)).await?;
/// assert_eq!(due.records.iter().map(|it| &it.key).collect::<Vec<_>>(), ["news", "mail"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordQuery<'q> {
    /// Only records whose keys begin with this text.
    pub prefix: &'q str,
    /// Only records after this position in the order of the query.
    pub after: Option<Position>,
    /// Only records with an order of at most this number, in the order of these numbers, and then
    /// of the keys.
    pub order_up_to: Option<i64>,
    /// At most this many records; `None` for all, as of one moment.
    pub limit: Option<usize>,
}

impl<'q> RecordQuery<'q> {
    /// Creates the query for all records, in the order of their keys.
    pub fn all() -> Self {
        Self::default()
    }

    /// Lists only records whose keys begin with a text.
    #[must_use]
    pub fn prefix(self, prefix: &'q str) -> Self {
        Self { prefix, ..self }
    }

    /// Lists only what follows a position, such as the [end](super::RecordList::end) of the
    /// previous page.
    #[must_use]
    pub fn after(self, position: impl Into<Option<Position>>) -> Self {
        Self { after: position.into(), ..self }
    }

    /// Lists only records with an order of at most this number, the lowest first.
    #[must_use]
    pub fn order_up_to(self, order: i64) -> Self {
        Self { order_up_to: Some(order), ..self }
    }

    /// Limits the number of records.
    #[must_use]
    pub fn limit(self, limit: impl Into<Option<usize>>) -> Self {
        Self { limit: limit.into(), ..self }
    }

    /// Compares two positions in the order of the query.
    pub(super) fn compare(&self, left: &Position, right: &Position) -> Ordering {
        let by_key = left.key.cmp(&right.key);
        match self.order_up_to {
            Some(_) => left.order.cmp(&right.order).then(by_key),
            None => by_key,
        }
    }

    /// Selects records of a collection that is in memory as a whole.
    pub(super) fn select(&self, records: &BTreeMap<String, Record>) -> Vec<Record> {
        let from = match &self.after {
            Some(after) if self.order_up_to.is_none() && *after.key >= *self.prefix => {
                Bound::Excluded(&*after.key)
            }
            _ => Bound::Included(self.prefix),
        };
        let mut found: Vec<_> = records
            .range::<str, _>((from, Bound::Unbounded))
            .map(|(_, record)| record)
            .take_while(|record| record.key.starts_with(self.prefix))
            .filter(|record| self.has(record))
            .collect();
        if self.order_up_to.is_some() {
            // Stable: equal ones stay in the order of their keys.
            found.sort_by_key(|record| record.order);
        }
        found.into_iter().take(self.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    fn has(&self, record: &Record) -> bool {
        let is_due =
            self.order_up_to.is_none_or(|limit| record.order.is_some_and(|order| order <= limit));
        let is_after = |after| self.compare(&Position::from(record), after).is_gt();
        is_due && self.after.as_ref().is_none_or(is_after)
    }
}

/// A place in a list: behind the record with this key and order.
///
/// The record need not exist any more.
///
/// ```
/// use tool_runtime::records::{Position, Record};
///
/// let record = Record::new("ada", 7, "{}").order(3);
/// assert_eq!(Position::from(&record), Position::new("ada", 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The key of the record.
    pub key: String,
    /// The order of the record, which lists in the order of keys ignore.
    pub order: Option<i64>,
}

impl Position {
    /// Creates the position of a record with this key and order.
    pub fn new(key: impl Into<String>, order: impl Into<Option<i64>>) -> Self {
        Self { key: key.into(), order: order.into() }
    }
}

impl From<&Record> for Position {
    fn from(record: &Record) -> Self {
        Self::new(&record.key, record.order)
    }
}

impl From<&CorruptRecord> for Position {
    fn from(record: &CorruptRecord) -> Self {
        Self::new(&record.key, record.order)
    }
}
