//! Intersection of rules: the narrower one of two limits applies.

use serde_json::{Map, Value};

use super::UnsupportedSchema;
use super::location::SchemaLocation;

/// Returns the rules that hold if both sets of rules hold.
pub(super) fn intersect_rules(
    mut left: Map<String, Value>,
    right: Map<String, Value>,
    at: &SchemaLocation,
) -> Result<Map<String, Value>, UnsupportedSchema> {
    for (keyword, value) in right {
        let Some(known) = left.get(&keyword) else {
            left.insert(keyword, value);
            continue;
        };
        if *known == value {
            continue;
        }
        match is_narrower(&keyword, &value, known) {
            Some(true) => _ = left.insert(keyword, value),
            Some(false) => {}
            None => {
                return Err(at.unsupported(format!("two values of the keyword `{keyword}` apply")));
            }
        }
    }
    Ok(left)
}

/// Returns true if a limit allows fewer values than the known one; `None` if that is unknown.
fn is_narrower(keyword: &str, value: &Value, known: &Value) -> Option<bool> {
    let (value, known) = value.as_f64().zip(known.as_f64())?;
    let word = keyword.to_lowercase();
    if word.contains("min") {
        Some(value > known)
    } else {
        word.contains("max").then_some(value < known)
    }
}
