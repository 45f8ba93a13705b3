use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::damage::Damage;
use crate::records::{Expected, Record, RecordList, RecordQuery, StoreError};

/// The version of the format.
const VERSION: u32 = 1;

/// The records of a file: a header, and then a line for each record in the order of the keys.
#[derive(Debug, Default)]
pub(super) struct Collection {
    pub(super) counter: u64,
    /// All records. Those that can't be read have an empty value here.
    records: BTreeMap<String, Record>,
    /// The lines of records that can't be read, which are written back as they are.
    damages: BTreeMap<String, Damage>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    counter: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    revision: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<i64>,
    value: String,
}

impl Collection {
    pub(super) fn decode(bytes: &[u8], collection: &str) -> Result<Self, StoreError> {
        let corrupt = |reason: String| StoreError::Corrupt { key: collection.to_owned(), reason };
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let header = serde_json::from_slice(lines.next().unwrap_or_default());
        let Header { version, counter } =
            header.map_err(|error| corrupt(format!("the first line of the file: {error}")))?;
        if version != VERSION {
            return Err(corrupt(format!("format {version}; this version reads {VERSION}")));
        }
        let mut by_key: BTreeMap<String, Vec<(Damage, Option<Record>)>> = BTreeMap::new();
        let lines = (2..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty());
        for (number, line) in lines {
            let (damage, record) = match serde_json::from_slice(line) {
                Ok(Line { key, revision, order, value }) => {
                    let damage = Damage::of_line(line, number, "its key is in several lines");
                    (damage, Some(Record::new(key, revision, value).order(order)))
                }
                Err(error) => (Damage::of_line(line, number, &error.to_string()), None),
            };
            by_key.entry(damage.corrupt.key.clone()).or_default().push((damage, record));
        }
        let mut decoded = Self { counter, ..Self::default() };
        for (key, mut lines) in by_key {
            let record = match lines.as_mut_slice() {
                [(_, record)] => record.take(),
                // Which one is valid is unknown.
                _ => None,
            };
            let damages = lines.into_iter().map(|(damage, _)| damage);
            match (record, damages.reduce(Damage::followed_by)) {
                (None, Some(damage)) => {
                    decoded.records.insert(key.clone(), damage.record());
                    decoded.damages.insert(key, damage);
                }
                (record, _) => decoded.records.extend(record.map(|record| (key, record))),
            }
        }
        Ok(decoded)
    }

    /// # Errors
    /// Those of `serde_json`, which has no reason for one.
    pub(super) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&Header { version: VERSION, counter: self.counter })?;
        bytes.push(b'\n');
        for record in self.records.values() {
            if let Some(damage) = self.damages.get(&record.key) {
                bytes.extend(&damage.lines);
                continue;
            }
            let Record { key, revision, order, value } = record.clone();
            serde_json::to_writer(&mut bytes, &Line { key, revision, order, value })?;
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// # Errors
    /// [`StoreError::Corrupt`] if the record can't be read, or if it may be in a damaged line.
    pub(super) fn load(&self, key: &str) -> Result<Option<Record>, StoreError> {
        match (self.damages.get(key), self.records.get(key)) {
            (Some(damage), _) => Err(damage.corrupt.clone().into()),
            (None, Some(record)) => Ok(Some(record.clone())),
            (None, None) => match self.damages.values().find(|damage| damage.hides_key) {
                None => Ok(None),
                Some(damage) => Err(StoreError::Corrupt {
                    key: key.to_owned(),
                    reason: format!("it may be in a damaged line: {}", damage.corrupt.reason),
                }),
            },
        }
    }

    /// Saves a record, or deletes it, if the stored one is as expected, and returns the revision.
    ///
    /// # Errors
    /// The errors of [`Expected::check`], and those of [`load`](Self::load) if the record may be in
    /// a damaged line and is not replaced with [`Expected::Any`].
    pub(super) fn change(
        &mut self,
        key: &str,
        expected: Expected,
        record: Option<Record>,
    ) -> Result<u64, StoreError> {
        let stored = self.records.get(key).map(|record| record.revision);
        if stored.is_none() && (record.is_none() || expected != Expected::Any) {
            self.load(key)?;
        }
        expected.check(key, stored)?;
        self.counter += 1;
        self.damages.remove(key);
        match record {
            Some(record) => {
                let record = Record { revision: self.counter, ..record };
                self.records.insert(key.to_owned(), record);
            }
            None => drop(self.records.remove(key)),
        }
        Ok(self.counter)
    }

    pub(super) fn list(&self, query: &RecordQuery<'_>) -> RecordList {
        let mut list = RecordList::new(self.counter, Vec::new());
        for record in query.select(&self.records) {
            match self.damages.get(&record.key) {
                Some(damage) => list.corrupt.push(damage.corrupt.clone()),
                None => list.records.push(record),
            }
        }
        list
    }
}
