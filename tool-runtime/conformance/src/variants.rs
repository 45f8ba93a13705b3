//! The variants of the enums of the core, which other crates can't match completely.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the names of the variants of an enum, which the error for an unknown one lists.
pub(crate) fn variants<T: DeserializeOwned>(unknown: Value) -> BTreeSet<String> {
    let error = serde_json::from_value::<T>(unknown).err().map(|error| error.to_string());
    let error = error.unwrap_or_default();
    // Every second part is between backquotes. The first of them is the unknown name.
    let found: BTreeSet<_> =
        error.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect();
    assert!(!found.is_empty(), "{error}");
    found
}
