use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::records::{CorruptRecord, Record, StoreError};

/// The version of the format.
const VERSION: u32 = 1;

/// The records of a file: a header, and then a line for each record in the order of the keys.
#[derive(Debug, Default)]
pub(super) struct Collection {
    pub(super) counter: u64,
    pub(super) records: BTreeMap<String, Record>,
    /// Lines that can't be read, which are written back as they are.
    unreadable: Vec<(Vec<u8>, CorruptRecord)>,
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
        let mut decoded = Self { counter, ..Self::default() };
        for (number, line) in (2..).zip(lines) {
            if let Err(reason) = decoded.add(line) {
                let name = format!("line {number}");
                decoded.unreadable.push((line.to_owned(), CorruptRecord::new(name, 0, reason)));
            }
        }
        Ok(decoded)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        let Line { key, revision, order, value } =
            serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if self.records.contains_key(&key) {
            return Err(format!("the key {key:?} is in a line above as well"));
        }
        self.records.insert(key.clone(), Record::new(key, revision, value).order(order));
        Ok(())
    }

    /// # Errors
    /// Those of `serde_json`, which has no reason for one.
    pub(super) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&Header { version: VERSION, counter: self.counter })?;
        bytes.push(b'\n');
        for record in self.records.values() {
            let Record { key, revision, order, value } = record.clone();
            serde_json::to_writer(&mut bytes, &Line { key, revision, order, value })?;
            bytes.push(b'\n');
        }
        for (line, _) in &self.unreadable {
            bytes.extend(line);
            // The last line of a file that was cut.
            if line.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
        }
        Ok(bytes)
    }

    pub(super) fn revision(&self, key: &str) -> Option<u64> {
        self.records.get(key).map(|record| record.revision)
    }

    /// Saves or deletes a record, and returns the revision of that.
    pub(super) fn change(&mut self, key: &str, record: Option<Record>) -> u64 {
        self.counter += 1;
        match record {
            Some(record) => {
                let record = Record { revision: self.counter, ..record };
                self.records.insert(key.to_owned(), record);
            }
            None => drop(self.records.remove(key)),
        }
        self.counter
    }

    pub(super) fn corrupt(self) -> Vec<CorruptRecord> {
        self.unreadable.into_iter().map(|(_, corrupt)| corrupt).collect()
    }
}
