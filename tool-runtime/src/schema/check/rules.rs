//! How the keywords of one schema are read.

use serde_json::{Map, Value};

use super::num::Num;

/// True when `type` is absent or names the type of `value`.
pub(super) fn fits_type(rules: &Map<String, Value>, value: &Value) -> bool {
    let fits = |name: &Value| match (name.as_str(), value) {
        (Some("null"), Value::Null)
        | (Some("boolean"), Value::Bool(_))
        | (Some("string"), Value::String(_))
        | (Some("number"), Value::Number(_))
        | (Some("array"), Value::Array(_))
        | (Some("object"), Value::Object(_)) => true,
        (Some("integer"), Value::Number(number)) => Num::of(number).is_integer(),
        _ => false,
    };
    match rules.get("type") {
        Some(Value::Array(names)) => names.iter().any(fits),
        Some(name) => fits(name),
        None => true,
    }
}

/// The schemas in a keyword that holds a list of them.
pub(super) fn list<'s>(rules: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    match rules.get(key) {
        Some(Value::Array(schemas)) => schemas,
        _ => &[],
    }
}

/// A count such as `minItems`; 2.0 is one too.
pub(super) fn count(rules: &Map<String, Value>, key: &str) -> Option<usize> {
    match Num::from_value(rules.get(key)?)? {
        Num::Whole(count) => usize::try_from(count).ok(),
        Num::Other(_) => None,
    }
}

/// True when `length` keeps to the two counts.
pub(super) fn fits_count(
    rules: &Map<String, Value>,
    least: &str,
    most: &str,
    length: usize,
) -> bool {
    count(rules, least).is_none_or(|least| length >= least)
        && count(rules, most).is_none_or(|most| length <= most)
}

/// The members of a keyword that holds an object.
pub(super) fn object_at<'s>(
    rules: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'s str, &'s Value)> + use<'s> {
    let members = rules.get(key).and_then(Value::as_object);
    members.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// The texts in a list of names.
pub(super) fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let names = list.and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}
