//! Explains differences from a suite: the rules of [`tool_json`] that refuse a text, or by
//! which it reads differently.

use serde_json::Value;
use tool_json::{ParseError, ParseErrorKind, check};

use ParseErrorKind::{Ambiguous, Ellipsis, Incomplete, NoValue, Number, Syntax};

/// The kind of an error, a part of its message, and the rule.
const REFUSALS: [(ParseErrorKind, &str, &str); 15] = [
    (Incomplete, "number", "a number with which the text ends may go on"),
    (NoValue, "", "bare words, and lists without brackets, are no value at the root"),
    (Ellipsis, "", "what an ellipsis stands for is not there"),
    (
        Number,
        "no such number",
        "JSON has neither NaN nor infinity, and null is not what was written",
    ),
    (Number, "calculation", "a calculation is not made, and not taken for text"),
    (Number, "letters", "letters in a number: it may be text"),
    (Number, "two ways", "separators of thousands and of fractions differ by country"),
    (Ambiguous, "", "two values that differ: nothing says which is meant, or that it is a list"),
    (
        Syntax,
        "which of these quotes",
        "several readings: a string may end at this quote or at that",
    ),
    (Syntax, "never ends", "several readings: a string without end may be one member or two"),
    (Syntax, "word before this key", "several readings: a word between members is not dropped"),
    (
        Syntax,
        "has no key",
        "several readings: a value without a key, a bracket that was not opened",
    ),
    (Syntax, "key has no value", "nothing is filled in, neither defaults nor empty values"),
    (Syntax, "expected a key", "several readings: a key without a value"),
    (Syntax, "this value is", "several readings: it may be a part, of a call or beside a key"),
];

/// Returns the rule that refuses the text, if it is known.
pub(crate) fn refused_by(error: &ParseError) -> Option<&'static str> {
    let words = error.to_string();
    let is_match = |(kind, part, _): &&(ParseErrorKind, &str, _)| {
        *kind == error.kind() && words.contains(part)
    };
    REFUSALS.iter().find(is_match).map(|(.., rule)| *rule)
}

/// Returns the rule by which `got` differs from the value of its suite.
pub(crate) fn differs_by(expected: Option<&Value>, actual: &Value) -> Option<&'static str> {
    let Some(expected) = expected else {
        return Some("what fits its schema is returned, and so is nothing but an empty text");
    };
    let trimmed = |text: &str| text.trim_end().to_owned();
    if texts(expected, trimmed) == texts(actual, trimmed) {
        return Some("blanks and line breaks at the end of a string stay");
    }
    let bare = |text: &str| text.replace('\\', "");
    if texts(expected, bare) == texts(actual, bare) {
        return Some("a backslash that escapes nothing stays");
    }
    if actual.to_string().contains("```") {
        return Some("fences and JSON in a string stay text");
    }
    let lacks = |actual: &Value| {
        let has = |(key, value): (&String, &Value)| expected.get(key) == Some(value);
        actual.as_object().is_some_and(|actual| actual.iter().all(has))
    };
    lacks(actual).then_some("nothing is filled in, neither defaults nor empty values")
}

/// Returns whether `value` satisfies `schema`; otherwise a model would receive the errors.
pub(crate) fn satisfies(value: &Value, schema: &Value) -> bool {
    check(value, schema).is_empty()
}

/// Applies `change` to each string of a value.
fn texts(value: &Value, change: fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| texts(item, change)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), texts(value, change))).collect()
        }
        other => other.clone(),
    }
}
