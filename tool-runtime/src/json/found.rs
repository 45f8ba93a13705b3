//! A value that was found in the text.

use std::ops::Range;

use serde_json::Value;

use super::{Fix, blank::is_blank, number::has_float, parsed::Json};

/// A value in the text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) value: Value,
    /// The text of the value, without the escapes of an escaped one.
    pub(super) json: Json,
    pub(super) span: Range<usize>,
    pub(super) escaped: bool,
    /// What was mended in the value itself.
    pub(super) mends: Vec<Fix>,
    pub(super) truncated: bool,
}

impl Found {
    /// Floats count as the same only where their digits are.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let bare = |found: &Self| found.json.text(&found.value).replace(is_blank, "");
        self.value == other.value && (!has_float(&self.value) || bare(self) == bare(other))
    }
}
