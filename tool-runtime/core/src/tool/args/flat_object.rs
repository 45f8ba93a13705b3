//! Parses arguments that need no repair: one object of scalars, as most calls have.
//!
//! The [repair](super::repair) of such a text changes nothing if the value is valid, but takes
//! several times as long.

use serde_json::Value;

/// Returns the object in a text that is JSON, if all its members are declared in the schema and no
/// valid one would be changed by a repair.
pub(super) fn flat_object(text: &str, schema: &Value) -> Option<Value> {
    let mut openings = text.bytes().filter(|byte| matches!(byte, b'{' | b'['));
    if openings.next() != Some(b'{') || openings.next().is_some() {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let properties = schema.get("properties")?.as_object()?;
    let mut members = value.as_object()?.iter();
    let is_flat = members.all(|(key, value)| properties.contains_key(key) && stays(value));
    is_flat.then_some(value)
}

/// Whether a repair keeps a value that the schema accepts. Null may stand for an absent member, and
/// 30.0 for an integer.
fn stays(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Bool(_) => true,
        Value::Number(number) => {
            number.as_f64().is_some_and(|it| !number.is_f64() || it.fract() != 0.0)
        }
        _ => false,
    }
}
