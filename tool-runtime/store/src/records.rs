//! Statements and rows of the tables of records, for both databases.

use tool_core::records::{CorruptRecord, Record, RecordList, RecordQuery};

pub(crate) const COUNTER: &str = "SELECT counter FROM tool_record_counters WHERE collection = $1";

/// Raises the counter of a collection. Its lock orders the writes of the collection.
pub(crate) const NEXT: &str = "INSERT INTO tool_record_counters VALUES ($1, 1) \
    ON CONFLICT (collection) DO UPDATE SET counter = tool_record_counters.counter + 1 \
    RETURNING counter";

pub(crate) const REVISION: &str =
    "SELECT revision FROM tool_records WHERE collection = $1 AND key = $2";

pub(crate) const LOAD: &str = "SELECT key, revision, sort_order, value FROM tool_records \
    WHERE collection = $1 AND key = $2";

pub(crate) const SAVE: &str = "INSERT INTO tool_records VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (collection, key) DO UPDATE SET revision = excluded.revision, \
    sort_order = excluded.sort_order, value = excluded.value";

pub(crate) const DELETE: &str = "DELETE FROM tool_records WHERE collection = $1 AND key = $2";

/// A query with its parameters, which appear in it in their order.
#[derive(Debug, PartialEq)]
pub(crate) struct Select {
    pub(crate) text: String,
    pub(crate) parameters: Vec<Parameter>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Parameter {
    Bytes(Vec<u8>),
    Integer(i64),
}

impl Select {
    /// Has only the conditions that the query needs, so that the index of its order serves it.
    pub(crate) fn new(collection: &str, query: &RecordQuery<'_>) -> Self {
        let mut select = Self {
            text: "SELECT key, revision, sort_order, value FROM tool_records WHERE collection = $1"
                .to_owned(),
            parameters: vec![Parameter::Bytes(collection.into())],
        };
        let key_after = query.after.as_ref().map(|after| after.key.as_bytes());
        let by = if let Some(limit) = query.order_up_to {
            select.condition("sort_order <= ", Parameter::Integer(limit));
            if let (Some(after), Some(key)) = (&query.after, key_after) {
                // A position without an order is before all others.
                if let Some(order) = after.order {
                    select.condition("(sort_order, key) > (", Parameter::Integer(order));
                    select.part(", ", Parameter::Bytes(key.into()));
                    select.text.push(')');
                }
            }
            "sort_order, key"
        } else {
            if let Some(key) = key_after {
                select.condition("key > ", Parameter::Bytes(key.into()));
            }
            "key"
        };
        if let Some(end) = successor(query.prefix) {
            select.condition("key >= ", Parameter::Bytes(query.prefix.into()));
            select.condition("key < ", Parameter::Bytes(end));
        }
        select.text.push_str(" ORDER BY ");
        select.text.push_str(by);
        let limit = query.limit.and_then(|limit| i64::try_from(limit).ok());
        if let Some(limit) = limit {
            select.part(" LIMIT ", Parameter::Integer(limit));
        }
        select
    }

    fn condition(&mut self, condition: &str, parameter: Parameter) {
        self.text.push_str(" AND ");
        self.part(condition, parameter);
    }

    fn part(&mut self, text: &str, parameter: Parameter) {
        self.parameters.push(parameter);
        self.text.push_str(&format!("{text}${}", self.parameters.len()));
    }
}

/// Returns the first text that follows all texts with this prefix; `None` if there is none.
pub(crate) fn successor(prefix: &str) -> Option<Vec<u8>> {
    let mut bytes = prefix.as_bytes().to_vec();
    // No byte of a text is 255, so the last one can be incremented.
    let last = bytes.last_mut()?;
    *last = last.saturating_add(1);
    Some(bytes)
}

/// A record as it is stored. Another program may have written bytes that are no text.
#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) key: Vec<u8>,
    pub(crate) revision: i64,
    pub(crate) order: Option<i64>,
    pub(crate) value: Vec<u8>,
}

impl RecordRow {
    pub(crate) fn decode(self) -> Result<Record, CorruptRecord> {
        let (revision, order) = (self.revision.cast_unsigned(), self.order);
        let text = |bytes| String::from_utf8(bytes).map_err(|error| error.utf8_error());
        match (String::from_utf8(self.key), text(self.value)) {
            (Ok(key), Ok(value)) => Ok(Record::new(key, revision, value).order(order)),
            (Ok(key), Err(error)) => {
                Err(CorruptRecord::new(key, revision, format!("its value: {error}")).order(order))
            }
            (Err(error), _) => {
                let key = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let reason = format!("its key: {}", error.utf8_error());
                Err(CorruptRecord::new(key, revision, reason).order(order))
            }
        }
    }
}

/// Separates the records that can be read from the others.
pub(crate) fn list(counter: i64, rows: Vec<RecordRow>) -> RecordList {
    let mut list = RecordList::new(counter.cast_unsigned(), Vec::new());
    for row in rows {
        match row.decode() {
            Ok(record) => list.records.push(record),
            Err(corrupt) => list.corrupt.push(corrupt),
        }
    }
    list
}
