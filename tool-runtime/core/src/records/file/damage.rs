//! Lines that can't be read.

use std::fmt::Write;

use hmac_sha256::Hash;
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

use crate::records::{CorruptRecord, Record};

/// The beginning of each line. In a text of JSON, its quotes are escaped.
const START: &[u8] = b"{\"key\":";

/// One or more lines from which the record of a key can't be read.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    /// The lines, each with its end.
    pub(super) lines: Vec<u8>,
    pub(super) corrupt: CorruptRecord,
    /// Whether the key of a line can't be read, so that the record of any key may be in it.
    pub(super) hides_key: bool,
}

impl Damage {
    /// Describes a line that is no record, with what can be read of it.
    pub(super) fn of_line(line: &[u8], number: usize, reason: &str) -> Self {
        let reason = format!("line {number} of its file: {reason}");
        let known = known_members(line);
        let hides_key = known.is_none();
        let corrupt = match known {
            Some((key, revision, order)) => CorruptRecord::new(key, revision, reason).order(order),
            None => CorruptRecord::new(name(line), 0, reason),
        };
        let mut lines = line.to_owned();
        // The last line of a file that was cut.
        if !lines.ends_with(b"\n") {
            lines.push(b'\n');
        }
        Self { lines, corrupt, hides_key }
    }

    /// Adds the lines of another record with the same key: which of them is valid is unknown.
    pub(super) fn followed_by(mut self, later: Self) -> Self {
        self.lines.extend(later.lines);
        self.hides_key |= later.hides_key;
        self.corrupt.revision = self.corrupt.revision.max(later.corrupt.revision);
        self.corrupt.reason.push_str("; ");
        self.corrupt.reason.push_str(&later.corrupt.reason);
        self
    }

    /// Returns the record without its value.
    pub(super) fn record(&self) -> Record {
        Record::new(&self.corrupt.key, self.corrupt.revision, "").order(self.corrupt.order)
    }
}

/// Names a line whose key can't be read by its content, so that it can be deleted.
fn name(line: &[u8]) -> String {
    let mut name = String::from("damaged line ");
    for byte in Hash::hash(line.trim_ascii_end()).iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Returns the key, the revision and the order of a line, as far as they can be read.
fn known_members(line: &[u8]) -> Option<(String, u64, Option<i64>)> {
    if let Ok(Value::Object(members)) = serde_json::from_slice(line) {
        let key = members.get("key")?.as_str()?.to_owned();
        let number = |name| members.get(name);
        let revision = number("revision").and_then(Value::as_u64).unwrap_or_default();
        return Some((key, revision, number("order").and_then(Value::as_i64)));
    }
    let rest = line.strip_prefix(START)?;
    // If the end of the line was lost, the next record is behind it.
    if rest.windows(START.len()).any(|window| window == START) {
        return None;
    }
    let (key, rest) = first::<String>(rest)?;
    let Some((revision, rest)) = member(rest, b",\"revision\":") else {
        return Some((key, 0, None));
    };
    Some((key, revision, member(rest, b",\"order\":").map(|(order, _)| order)))
}

/// Reads a number, and returns what follows it.
fn member<'l, T: DeserializeOwned>(rest: &'l [u8], name: &[u8]) -> Option<(T, &'l [u8])> {
    // Without the comma behind it, its end may be missing.
    first(rest.strip_prefix(name)?).filter(|(_, rest)| rest.starts_with(b","))
}

/// Reads a value at the beginning of a text, and returns what follows it.
fn first<T: DeserializeOwned>(text: &[u8]) -> Option<(T, &[u8])> {
    let mut values = Deserializer::from_slice(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}
