//! Model text to JSON value.
//!
//! Models wrap their JSON in fences, tags and prose. [`parse`] reads a value in spite of it, tells
//! every [`Fix`] that it took, and refuses rather than guess: no key, string or number comes out
//! that the text does not spell, where two values could be meant none is returned, and neither is
//! one that may be a part of something larger: `"city": "Oslo", "limits": {"days": 3}` is no object.
//!
//! Two passes: serde_json over the whole text, then, on failure, one search for the value. What
//! counts as the value is written down with the search. The depth limit is serde_json's; the work
//! is linear in the length of the text. With a schema at hand [`parse_as`] then brings the value
//! into what the schema wants, where that is the single reading. [`Partial`] reads a value while
//! its text arrives.
//!
//! ```
//! use tool_runtime::json::{FixKind, parse};
//!
//! let parsed = parse("Sure!\n```json\n{\"city\": \"Oslo\"}\n```").unwrap();
//! assert_eq!(parsed.value["city"], "Oslo");
//! let kinds: Vec<_> = parsed.fixes.iter().map(|fix| fix.kind).collect();
//! assert_eq!(kinds, [FixKind::Prose, FixKind::Fence, FixKind::Fence]);
//! ```

mod around;
mod coerce;
mod fix;
mod found;
mod key;
mod locate;
mod mark;
mod number;
mod partial;
mod piece;
mod print;
mod scan;
mod sound;
mod token;
mod tree;
mod unique;
mod unreadable;
mod whole;

use std::ops::Range;

use serde_json::{Map, Value};

pub(crate) use self::number::whole_numbers;
use self::{
    coerce::{Inner, Roots, coerce, is_settled, takes_nothing},
    locate::{Located, locate},
    sound::read_sound,
    unique::read_unique,
};
pub use self::{
    fix::{Fix, FixKind, Level, Risk},
    number::make_whole,
    partial::{Partial, SoFar},
    unreadable::{Unreadable, UnreadableKind},
};

/// A value, and every repair that it took to read it.
///
/// ```
/// use tool_runtime::json::{FixKind, Level, parse};
///
/// let parsed = parse("<tool_call>[1, 2]</tool_call>").unwrap();
/// assert_eq!(parsed.value, serde_json::json!([1, 2]));
/// assert_eq!(parsed.fixes[0].kind, FixKind::Tag);
/// assert_eq!(parsed.level(), Level::Wrapping);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// The repairs, in the order of the text; none if the text was JSON already.
    pub fixes: Vec<Fix>,
    json: String,
}

impl Parsed {
    /// The JSON of the value as the model spelled it, without what was around it: numbers have all
    /// their digits. Decode types from this rather than from the value printed again.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// let parsed = parse("```json\n[340282366920938463463374607431768211455]\n```").unwrap();
    /// let numbers: Vec<u128> = serde_json::from_str(parsed.json()).unwrap();
    /// assert_eq!(numbers, [u128::MAX]);
    /// ```
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The highest level of the fixes; [`Level::Strict`] when there are none.
    ///
    /// ```
    /// use tool_runtime::json::{Level, parse};
    ///
    /// assert_eq!(parse("[1, 2]").unwrap().level(), Level::Strict);
    /// ```
    pub fn level(&self) -> Level {
        self.fixes.iter().map(Fix::level).max().unwrap_or(Level::Strict)
    }

    /// The highest risk of the fixes; [`Risk::Lossless`] when there are none.
    ///
    /// ```
    /// use tool_runtime::json::{Risk, parse};
    ///
    /// assert_eq!(parse("Here you are: [1, 2]").unwrap().risk(), Risk::Inferred);
    /// ```
    pub fn risk(&self) -> Risk {
        self.fixes.iter().map(Fix::risk).max().unwrap_or(Risk::Lossless)
    }
}

/// Reads the one JSON value in `text`. Valid JSON is returned as serde_json reads it.
///
/// # Errors
/// [`Unreadable`] where there is no value, more than one, or one that is damaged.
///
/// ```
/// use tool_runtime::json::parse;
///
/// let parsed = parse("Use {city} as in: {\"city\": \"Oslo\"}").unwrap();
/// assert_eq!(parsed.value["city"], "Oslo");
///
/// // The inner object is whole, but it is only a part of what was meant.
/// assert!(parse(r#"{"place": {"city": "Oslo"}, "days": "#).unwrap_err().is_incomplete());
/// ```
pub fn parse(text: &str) -> Result<Parsed, Unreadable> {
    read(text, Roots::ANY, &mut 0).map(Parsed::from)
}

/// Reads the one JSON value in `text` whose type `schema` allows at its root.
///
/// Values of another type, found among prose or other wrapping, don't count. The value is then
/// brought into what the schema wants, wherever that is the single reading of what came:
///
/// - A number, boolean or null comes out of its quotes ([`FixKind::Unquoted`]), a number becomes
///   the text that it was ([`FixKind::Quoted`]): 1.10 and 02139 keep their digits. 30.0 is an
///   integer ([`FixKind::Whole`]), 3.7 never is.
/// - A string that holds an object or list is decoded ([`FixKind::EncodedTwice`]); one value
///   becomes a list of one and the other way round ([`FixKind::Listed`], [`FixKind::Unlisted`]).
/// - Keys and listed values are spelled as the schema does ([`FixKind::KeyCase`],
///   [`FixKind::ChoiceCase`]).
/// - Arguments come out of what stands around them ([`FixKind::Envelope`]), and no text at all is
///   an object without members where none is required ([`FixKind::Empty`]).
///
/// What fits the schema is never touched, nothing is filled in, and what can't be brought to fit is
/// returned as it came: whether the value satisfies the schema is for a validator to say.
///
/// # Errors
/// As [`parse`].
///
/// ```
/// use serde_json::json;
/// use tool_runtime::json::{FixKind, parse_as};
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "max_days": {"type": "integer"},
///         "unit": {"enum": ["celsius", "fahrenheit"]},
///         "zip": {"type": "string"},
///     },
/// });
/// let text = r#"{"name": "weather", "arguments": {"maxDays": "7", "unit": "Celsius", "zip": 1.10}}"#;
/// let parsed = parse_as(text, &schema).unwrap();
/// assert_eq!(parsed.value, json!({"max_days": 7, "unit": "celsius", "zip": "1.10"}));
///
/// // Two readings, or none: left for a validator.
/// let parsed = parse_as(r#"{"maxDays": "1,234", "unit": "kelvin"}"#, &schema).unwrap();
/// assert_eq!(parsed.value, json!({"max_days": "1,234", "unit": "kelvin"}));
/// ```
pub fn parse_as(text: &str, schema: &Value) -> Result<Parsed, Unreadable> {
    read_as(text, schema, &mut 0)
}

/// Found in the text, decoded if it was encoded twice, then brought into what the schema wants.
fn read_as(text: &str, schema: &Value, steps: &mut usize) -> Result<Parsed, Unreadable> {
    let wanted = Roots::of_schema(schema);
    // What many servers send for a call without arguments.
    if matches!(text.trim(), "" | "null") && wanted.is_object_only() && takes_nothing(schema) {
        let fix = Fix::new(FixKind::Empty, 0..text.len());
        let value = Value::Object(Map::new());
        return Ok(Parsed { json: value.to_string(), value, fixes: vec![fix] });
    }
    let outer = read(text, wanted, steps)?;
    let span = outer.span.clone();
    let parsed = decode(text, outer, wanted, steps)?;
    Ok(settle(text, parsed, span, schema, steps))
}

/// What a string holds that is the whole value, where the schema allows no string.
fn decode(
    text: &str,
    outer: Located,
    wanted: Roots,
    steps: &mut usize,
) -> Result<Parsed, Unreadable> {
    let Value::String(inner) = &outer.value else {
        return Ok(outer.into());
    };
    if wanted.allows_text() {
        return Ok(outer.into());
    }
    // Once only: a text that is encoded three times is nobody's plain mistake.
    let inner = match read(inner, wanted, steps) {
        Ok(inner) if wanted.allows(&inner.value) && is_container(&inner.value) => inner,
        _ => return Ok(outer.into()),
    };
    *steps += inner.json.len();
    if read_unique(&inner.json).is_err() {
        let what = "a key comes twice in this string";
        return Err(Unreadable::syntax(text, outer.span.start, what, wanted));
    }
    let mut fixes = outer.fixes;
    fixes.push(Fix::new(FixKind::EncodedTwice, outer.span.clone()));
    fixes.extend(inner.fixes.iter().map(|fix| Fix::new(fix.kind, outer.span.clone())));
    fixes.sort_by_key(|fix| fix.span.start);
    Ok(Parsed { value: inner.value, json: inner.json, fixes })
}

const fn is_container(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// The value, which stands at `span`, as the schema wants it; what fits costs no tree.
fn settle(
    text: &str,
    mut parsed: Parsed,
    span: Range<usize>,
    schema: &Value,
    steps: &mut usize,
) -> Parsed {
    if is_settled(&parsed.value, schema, text.len()) {
        return parsed;
    }
    let as_written = text.get(span.clone()) == Some(&parsed.json);
    let shift = if as_written { span.start } else { 0 };
    let Some(mut node) = read_sound(&parsed.json, shift) else {
        return parsed;
    };
    if !as_written {
        node.place_at(&span);
    }
    *steps += parsed.json.len();
    let mut read_inner = |text: &str, wanted| read_within(text, wanted, steps);
    let (node, fixes) = coerce(node, schema, text.len(), &mut read_inner);
    if !fixes.is_empty() {
        parsed.json = node.to_json();
        parsed.value = node.into_value();
        parsed.fixes.extend(fixes);
        parsed.fixes.sort_by_key(|fix| fix.span.start);
    }
    parsed
}

/// The value of a text that is a string in another.
fn read_within(text: &str, wanted: Roots, steps: &mut usize) -> Option<Inner> {
    let located = read(text, wanted, steps).ok()?;
    *steps += 2 * located.json.len();
    read_unique(&located.json).ok()?;
    let kinds = located.fixes.iter().map(|fix| fix.kind).collect();
    Some((read_sound(&located.json, 0)?, kinds))
}

/// The two passes. `steps` counts the work.
fn read(text: &str, wanted: Roots, steps: &mut usize) -> Result<Located, Unreadable> {
    *steps += text.len();
    match serde_json::from_str(text) {
        Ok(value) => {
            let start = text.len() - text.trim_start().len();
            let span = start..start + text.trim().len();
            Ok(Located { value, json: text.trim().to_owned(), span, fixes: Vec::new() })
        }
        Err(_) => locate(text, wanted, steps),
    }
}

impl From<Located> for Parsed {
    fn from(located: Located) -> Self {
        Self { value: located.value, json: located.json, fixes: located.fixes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::locate::STEPS_PER_BYTE;

    const LEN: usize = 200_000;

    /// The work is counted, never timed, so that the test says the same on every machine.
    #[test]
    fn the_work_is_linear_in_the_text() {
        let any = Value::Bool(true);
        let objects = serde_json::json!({"type": "object"});
        let units = [
            "[",
            "{",
            "{\"a\":",
            "\"",
            "\\",
            "`",
            "```",
            "```json\n",
            "~~~",
            "{ prose {",
            "]}",
            "[1,",
            "[]",
            "{}",
            "{\"a\":1}",
            "{x}",
            "<",
            "<a",
            "<a>",
            "</think>",
            "<think>",
            "[A",
            "[/A]",
            "f(",
            "f([])",
            "\"a\",",
            "{\\\"a\\\":1}",
            "\"{\\\"a\\\":1}\"",
            "[] ",
            " ",
            "\u{a0}",
            "å",
            "9",
            "t",
            "\"a\":[1],",
            "[1 2]",
            "[a]\n",
            "]</think>",
            "[1 2]</think>",
            "x(",
            ",",
            "aaaa",
        ];
        for unit in units {
            for (prefix, wanted, len) in [
                // Small first: work that isn't linear shall fail the test, not hold it up.
                ("", &any, LEN / 100),
                ("", &any, LEN),
                ("", &objects, LEN / 10),
                ("x", &objects, LEN / 10),
                ("\n\n [1] ", &any, LEN / 10),
                ("{\"a\": \"", &any, LEN / 10),
                ("\"", &objects, LEN / 10),
            ] {
                let text = prefix.to_owned() + &unit.repeat(len / unit.len());
                let mut steps = 0;
                let _ = read_as(&text, wanted, &mut steps);
                assert!(
                    steps <= STEPS_PER_BYTE * text.len(),
                    "{prefix:?} and {unit:?}: {steps} steps for {} bytes",
                    text.len()
                );
            }
        }
    }
}
