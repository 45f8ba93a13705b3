//! Limits of a validation, for every schema.

use serde_json::Value;

/// The nesting depth of schemas and of values that is validated.
///
/// A value of depth 128, the limit of serde_json, takes at most three schemas for each level in the
/// output of schemars: a nullable branch, a reference and its target.
pub(in crate::check) const MAX_DEPTH: usize = 512;

/// Fuel for the smallest value, and for each further node or 64 bytes of text in it. This is about
/// a second in the worst case, and another one for each megabyte.
pub(in crate::check) const FUEL: usize = 500_000;
pub(in crate::check) const FUEL_PER_NODE: usize = 64;

/// Returns the size of a value in nodes, plus one for each 64 bytes of text; `None` if it is nested
/// deeper than `depth`.
pub(in crate::check) fn weight(value: &Value, depth: usize) -> Option<usize> {
    let inner = depth.checked_sub(1)?;
    Some(match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => {
            let mut sum = 1;
            for item in items {
                sum += weight(item, inner)?;
            }
            sum
        }
        Value::Object(members) => {
            let mut sum = 1;
            for (key, member) in members {
                sum += key.len() / 64 + weight(member, inner)?;
            }
            sum
        }
        _ => 1,
    })
}
