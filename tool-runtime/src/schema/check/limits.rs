//! What a walk may cost, whatever the schema.

use serde_json::Value;

/// Schemas within schemas, and values within values, that the walk goes into.
///
/// A value of depth 128 (serde_json's limit) takes at most three schemas a level in what schemars
/// emits: a nullable branch, a reference, its target.
pub(super) const MAX_DEPTH: usize = 512;

/// Fuel for the smallest value, and for each further node or 64 bytes of text in it: about a second
/// at the very most, and another for each megabyte.
pub(super) const FUEL: usize = 500_000;
pub(super) const FUEL_PER_NODE: usize = 64;

/// How much there is to look at: nodes, and 64 bytes of text each; `None` beyond `depth`.
pub(super) fn weight(value: &Value, depth: usize) -> Option<usize> {
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
