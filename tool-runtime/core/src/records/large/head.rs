use std::iter;

use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};

use crate::records::{CorruptRecord, MAX_RECORD_BYTES, Record};

/// The value of a record that reserves its key, and the beginning of one that names parts. A text
/// that begins so is always stored in parts.
pub(super) const MARK: &str = "#parts ";

/// The content of the record under a key.
pub(super) enum Head {
    /// The text itself.
    Text,
    /// Nothing: a writer reserved the key before it saved parts.
    Reserved,
    /// The names of the parts of the text.
    Parts(Parts),
}

/// The parts of a text, which one writer saves and which never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parts {
    /// The revision of the record that the writer replaces. Once the record has another one, a
    /// writer with this base can't succeed any more.
    base: u64,
    count: usize,
    /// The digest of the text.
    digest: String,
}

impl Head {
    pub(super) fn decode(record: &Record) -> Result<Self, CorruptRecord> {
        match record.value.strip_prefix(MARK) {
            None => Ok(Self::Text),
            Some("") => Ok(Self::Reserved),
            Some(parts) => serde_json::from_str(parts)
                .map(Self::Parts)
                .map_err(|error| record.corrupt(format!("the list of its parts: {error}"))),
        }
    }
}

impl Parts {
    pub(super) fn new(base: u64, text: &str) -> Self {
        Self { base, count: divide(text).count(), digest: digest(text) }
    }

    pub(super) fn encode(&self) -> Result<String, serde_json::Error> {
        Ok(format!("{MARK}{}", serde_json::to_string(self)?))
    }

    /// Returns the beginning of the keys of the parts.
    pub(super) fn prefix(&self, key: &str) -> String {
        format!("{key}/{}/{}/", self.base, self.digest)
    }

    /// Returns the key of a part. The order of the keys is that of the parts.
    pub(super) fn part_key(&self, key: &str, number: usize) -> String {
        format!("{}{number:05}", self.prefix(key))
    }

    /// Joins the parts to the text, if all are there and unchanged.
    pub(super) fn join(&self, parts: &[Record]) -> Result<String, String> {
        if parts.len() != self.count {
            return Err(format!("{} of its {} parts are stored", parts.len(), self.count));
        }
        let text: String = parts.iter().map(|part| part.value.as_str()).collect();
        if digest(&text) != self.digest {
            return Err("its parts were altered".to_owned());
        }
        Ok(text)
    }
}

/// The name of a part, from its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartName<'k> {
    /// The key of the text.
    pub(super) key: &'k str,
    base: u64,
    digest: &'k str,
}

impl<'k> PartName<'k> {
    pub(super) fn parse(part_key: &'k str) -> Option<Self> {
        let mut names = part_key.rsplitn(4, '/');
        let (_number, digest, base) = (names.next()?, names.next()?, names.next()?.parse().ok()?);
        Some(Self { key: names.next()?, base, digest })
    }

    /// Returns whether the part belongs to the record, or a writer may still save a record with it.
    /// The record was loaded after the part was listed.
    pub(super) fn is_used(&self, record: &Record, head: &Head) -> bool {
        let is_named = |parts: &Parts| (parts.base, &*parts.digest) == (self.base, self.digest);
        self.base >= record.revision || matches!(head, Head::Parts(parts) if is_named(parts))
    }
}

/// Divides a text into parts of the size of a record.
pub(super) fn divide(mut text: &str) -> impl Iterator<Item = &str> {
    iter::from_fn(move || {
        let mut end = text.len().min(MAX_RECORD_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (part, rest) = text.split_at(end);
        text = rest;
        (!part.is_empty()).then_some(part)
    })
}

fn digest(text: &str) -> String {
    Hash::hash(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_key_with_slashes_has_the_name_of_its_text() {
        let parts = Parts::new(7, "text");
        for key in ["ada", "tool/add", "", "/", "a/7/b/00000"] {
            let part_key = parts.part_key(key, 12);
            let name = PartName::parse(&part_key).unwrap();
            assert_eq!((name.key, name.base, name.digest), (key, 7, &*parts.digest));
        }
        assert_eq!(PartName::parse("ada/7/00001"), None);
    }

    #[test]
    fn text_is_divided_between_characters() {
        let text = |umlauts: usize| "ä".repeat(umlauts) + "x";
        let (long, shorter) = (text(MAX_RECORD_BYTES), text(MAX_RECORD_BYTES - 1));
        for (text, count) in [(&*long, 3), (&shorter, 2), (&format!("x{long}"), 3)] {
            let parts: Vec<_> = divide(text).collect();
            assert!(parts.iter().all(|part| part.len() <= MAX_RECORD_BYTES));
            assert_eq!(parts.len(), count);
            assert_eq!(parts.concat(), text);
        }
    }
}
