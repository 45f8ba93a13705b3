//! Access to the keywords of one schema.

use serde_json::{Map, Value};

use super::exact_number::ExactNumber;

/// Returns true if `type` is absent or names the type of `value`.
pub(in crate::check) fn fits_type(rules: &Map<String, Value>, value: &Value) -> bool {
    let fits = |name: &Value| match (name.as_str(), value) {
        (Some("null"), Value::Null)
        | (Some("boolean"), Value::Bool(_))
        | (Some("string"), Value::String(_))
        | (Some("number"), Value::Number(_))
        | (Some("array"), Value::Array(_))
        | (Some("object"), Value::Object(_)) => true,
        (Some("integer"), Value::Number(number)) => ExactNumber::of(number).is_integer(),
        _ => false,
    };
    match rules.get("type") {
        Some(Value::Array(names)) => names.iter().any(fits),
        Some(name) => fits(name),
        None => true,
    }
}

/// Returns the schemas in a keyword that holds a list.
pub(in crate::check) fn list<'s>(rules: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    match rules.get(key) {
        Some(Value::Array(schemas)) => schemas,
        _ => &[],
    }
}

/// Returns a count such as `minItems`; 2.0 is a valid count.
pub(in crate::check) fn count(rules: &Map<String, Value>, key: &str) -> Option<usize> {
    match ExactNumber::from_value(rules.get(key)?)? {
        ExactNumber::Whole(count) => usize::try_from(count).ok(),
        ExactNumber::Other(_) => None,
    }
}

/// Returns true if `length` is within both counts.
pub(in crate::check) fn fits_count(
    rules: &Map<String, Value>,
    min: &str,
    max: &str,
    length: usize,
) -> bool {
    count(rules, min).is_none_or(|min| length >= min)
        && count(rules, max).is_none_or(|max| length <= max)
}

/// Returns the inclusive and the exclusive bound of a number.
///
/// Before draft 6, an exclusive bound was the inclusive keyword next to `exclusive…: true`. Schemas
/// of tool servers still use that form.
pub(in crate::check) fn bounds<'s>(
    rules: &'s Map<String, Value>,
    inclusive: &str,
    exclusive: &str,
) -> [Option<&'s Value>; 2] {
    let number = |key| rules.get(key).filter(|bound| bound.is_number());
    match rules.get(exclusive) {
        Some(Value::Bool(true)) => [None, number(inclusive)],
        _ => [number(inclusive), number(exclusive)],
    }
}

/// Returns the members of a keyword that holds an object.
pub(in crate::check) fn object_at<'s>(
    rules: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'s str, &'s Value)> + use<'s> {
    let members = rules.get(key).and_then(Value::as_object);
    members.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// Returns the strings in a list of names.
pub(in crate::check) fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let names = list.and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}
