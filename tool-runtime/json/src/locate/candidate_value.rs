//! A value found in the text.

use std::ops::Range;

use serde_json::Value;

use crate::{Fix, integers::contains_float, parsed::JsonText, whitespace::is_json_whitespace};

/// A value found in the text.
#[derive(Debug)]
pub(super) struct CandidateValue {
    pub(super) value: Value,
    /// The JSON of the value, without the extra level of escaping of an escaped one.
    pub(super) json: JsonText,
    pub(super) span: Range<usize>,
    pub(super) escaped: bool,
    /// The repairs inside the value.
    pub(super) fixes: Vec<Fix>,
    pub(super) truncated: bool,
}

impl CandidateValue {
    /// Creates a candidate that needs no repair.
    pub(super) const fn valid(value: Value, json: JsonText, span: Range<usize>) -> Self {
        Self { value, json, span, escaped: false, fixes: Vec::new(), truncated: false }
    }

    /// Compares two values; floats are equal only if their digits are.
    pub(super) fn has_same_value(&self, other: &Self) -> bool {
        let bare = |candidate: &Self| {
            candidate.json.as_str(&candidate.value).replace(is_json_whitespace, "")
        };
        self.value == other.value && (!contains_float(&self.value) || bare(self) == bare(other))
    }
}
