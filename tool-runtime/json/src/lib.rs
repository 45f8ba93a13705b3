//! Parses and repairs the JSON in a model's output.
//!
//! Models wrap JSON in code fences, tags and prose, and write it with syntax errors. [`parse`]
//! extracts the one value of such a text and records every repair as a [`Fix`]. If the text can be
//! read in two ways, it is refused: a repair never guesses.
//!
//! # Flow
//!
//! ```text
//! parse     ─▶ strict        serde_json over the whole text; if it succeeds, nothing else runs
//!               └▶ locate       finds the one candidate among fences, tags and prose
//!                   ├▶ scan        cuts the text into segments and candidates
//!                   ├▶ recover     parses a candidate that is not valid JSON
//!                   └▶ completeness   checks that the candidate is not a part of something larger
//! parse_as  ─▶ parse, then coerce: changes values to fit the schema
//! Partial   ─▶ partial       parses a text while it arrives
//! ```
//!
//! # Invariants
//!
//! - Valid JSON is returned as serde_json parses it, without fixes. Only a schema changes it
//!   further.
//! - Every key, string and number of the result is spelled in the text. Nothing is filled in.
//! - A value that may be a part of something larger is refused:
//!   `"city": "Oslo", "limits": {"days": 3}` is not an object.
//! - A limit of [`Options`] only refuses. It never changes how a text is read.
//! - The work is linear in the length of the text.
//! - The content of a string is not interpreted: code fences and JSON in it stay text, its line
//!   breaks stay, a backslash that escapes nothing stays, and placeholders such as `<your text>` or
//!   `TODO` are not detected.
//! - The maximum depth is serde_json's, 127, unless [`Options`] sets another one.
//!
//! # Refused texts
//!
//! - **Prose alone; a bare word or a list without brackets at the root.** Every sentence would be a
//!   value; a bare word is read only if the schema allows nothing but a string.
//! - **Two values that differ, on one line or line by line.** Nothing decides between them, or says
//!   that they form a list.
//! - **A value in a call with other arguments, in a nested or unclosed call, beside a key, among
//!   labels, or next to an operator.** It may be a part of something larger.
//! - **In damaged text, a key twice with two values.** Nothing decides between them; the same value
//!   twice is read.
//! - **An ellipsis outside strings.** The omitted content is missing.
//! - **`1.234,56`, `1,234`, `1'000`; leading zeros without a schema.** It may be one number,
//!   another, or text.
//! - **Letters in a number, `1/3`, `10-20`.** It may be text, or an unevaluated calculation.
//! - **`NaN`, infinity.** JSON has no such number, and null is not what was written.
//! - **A number at the end of a truncated text.** 12 may have become 1234, unless whitespace
//!   follows it.
//! - **A literal cut off at the end of the text.** It is read only if the schema allows exactly one
//!   literal.
//! - **Quotes with two readings: `"a": "x, b: 1}`, `"a": "say "x", "b": 1`.** The string may end
//!   here or there; a key that the schema knows decides.
//! - **A member without a key or without a value, a word between members.** Nothing is dropped from
//!   the middle, and nothing is filled in.
//! - **A number or literal after a literal, `true false`; semicolons in a list.** It may be text,
//!   several values, or rows of a table.
//! - **A closing bracket without an opening one.** It could have been opened in several places.
//! - **More than [`Options`] allow.** A limit is exceeded.
//!
//! # Example
//!
//! ```
//! use tool_json::{FixKind, parse};
//!
//! let parsed = parse("Sure!\n```json\n{\"city\": \"Oslo\"}\n```").unwrap();
//! assert_eq!(parsed.value["city"], "Oslo");
//! let kinds: Vec<_> = parsed.fixes.iter().map(|fix| fix.kind).collect();
//! assert_eq!(kinds, [FixKind::Prose, FixKind::Fence, FixKind::Fence]);
//! ```

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod adjacent;
mod advice;
mod bracketed;
mod candidate;
#[cfg(feature = "check")]
mod check;
mod coerce;
mod completeness;
mod error;
mod fix;
mod labels;
#[cfg(test)]
mod linear_work_tests;
mod locate;
mod markup;
mod number;
mod options;
mod parsed;
mod partial;
#[cfg(feature = "check")]
mod pointer;
mod print;
mod recover;
mod scalar;
mod scan;
mod strict;
mod token;
mod tree;
mod unique_keys;
#[cfg(feature = "check")]
mod valid;
mod valid_tree;
mod value_limit;
mod whitespace;

use std::ops::Range;

use serde_json::{Map, Value};

#[cfg(feature = "check")]
pub use self::{
    check::{Mismatch, MismatchKind, check},
    valid::{ParseValidError, parse_valid, parse_valid_with},
};
use self::{
    coerce::{Coerced, InnerValue, TypeSet, accepts_empty_object, coerce, fits_schema},
    locate::{LocatedValue, locate},
    parsed::JsonText,
    recover::{
        Checkpoint, NodeBuilder, RecoveryError, RecoveryMode, SchemaKeys, check_fix, recover,
    },
    strict::parse_strict,
    tree::Node,
    unique_keys::parse_unique,
    valid_tree::parse_valid_tree,
};
pub use self::{
    error::{ParseError, ParseErrorKind},
    fix::{Fix, FixKind, Level, Risk},
    number::normalize_integers,
    options::Options,
    parsed::Parsed,
    partial::{Partial, PartialValue},
};

/// Parses the one JSON value in `text`, repairing it if necessary.
///
/// Valid JSON is returned as serde_json parses it. Everything else is repaired, and each repair is
/// recorded in [`Parsed::fixes`].
///
/// # Errors
/// Returns a [`ParseError`] if the text holds no value, holds several values that differ, or is
/// damaged in a way that has no single reading.
///
/// ```
/// use tool_json::parse;
///
/// let parsed = parse("Use {city} as in: {\"city\": \"Oslo\"}").unwrap();
/// assert_eq!(parsed.value["city"], "Oslo");
///
/// let parsed = parse("{city: 'Oslo', note: \"the \"old\" town\",}").unwrap();
/// assert_eq!(parsed.value["note"], "the \"old\" town");
///
/// // The inner object is complete, but it is a member of something larger.
/// assert!(parse(r#""place": {"city": "Oslo"}"#).is_err());
/// ```
pub fn parse(text: &str) -> Result<Parsed, ParseError> {
    parse_with(text, &Options::default())
}

/// Parses the one JSON value in `text` within the limits of `options`.
///
/// The result is that of [`parse`] unless a limit is exceeded.
///
/// # Errors
/// Returns a [`ParseError`] in the cases of [`parse`], and with
/// [`ParseErrorKind::Limit`] or [`ParseErrorKind::TooDeep`] if the text or its repairs exceed a
/// limit. A truncated text that `max_risk` excludes is [`ParseErrorKind::Incomplete`].
///
/// ```
/// use tool_json::{Options, Risk, parse_with};
///
/// // A file must not be written from a truncated string.
/// let careful = Options::default().with_max_risk(Risk::Inferred);
/// assert!(parse_with(r#"{"body": "Dear M"#, &careful).is_err());
/// ```
pub fn parse_with(text: &str, options: &Options) -> Result<Parsed, ParseError> {
    let settings = ParseSettings { options: *options, keys: SchemaKeys::NONE };
    parse_value(text, TypeSet::ANY, &settings, &mut 0).map(Parsed::from)
}

/// Parses the one JSON value in `text` whose type `schema` allows, and coerces it to the schema.
///
/// Among prose or other wrapping, values of a type that the schema does not allow at its root are
/// ignored. The value is then changed to fit the schema wherever exactly one change does so:
///
/// - A number, boolean or null is taken out of its quotes ([`FixKind::Unquoted`]). A number becomes
///   the string that it was written as ([`FixKind::Quoted`]): 1.10 and 02139 keep their digits.
///   30.0 becomes an integer ([`FixKind::IntegralNumber`]); 3.7 never does.
/// - A string that holds an object or array is decoded ([`FixKind::EncodedTwice`]). One value
///   becomes an array of one ([`FixKind::IntoArray`]), or the reverse ([`FixKind::OutOfArray`]).
/// - Keys and enum values are spelled as in the schema ([`FixKind::KeyCase`],
///   [`FixKind::EnumCase`]).
/// - Arguments are taken out of an envelope such as `{"name": …, "arguments": …}`
///   ([`FixKind::Envelope`]). An empty text becomes an object without members if no member is
///   required ([`FixKind::Empty`]). A null member is removed if the schema knows it, does not
///   require it and allows no null for it ([`FixKind::NullMember`]).
///
/// A value that fits the schema is never changed, and nothing is filled in. A value that cannot be
/// coerced is returned as it was written: it may not satisfy the schema.
/// [`parse_valid`] also checks it.
///
/// # Errors
/// Returns a [`ParseError`] in the cases of [`parse`].
///
/// ```
/// use serde_json::json;
/// use tool_json::{FixKind, parse_as};
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "max_days": {"type": "integer"},
///         "unit": {"enum": ["celsius", "fahrenheit"]},
///         "zip": {"type": "string"},
///     },
/// });
/// let text = r#"{"name": "f", "arguments": {"maxDays": "7", "unit": "Celsius", "zip": 1.10}}"#;
/// let parsed = parse_as(text, &schema).unwrap();
/// assert_eq!(parsed.value, json!({"max_days": 7, "unit": "celsius", "zip": "1.10"}));
///
/// // Two readings, or none: the value stays as it was written.
/// let parsed = parse_as(r#"{"maxDays": "1,234", "unit": "kelvin"}"#, &schema).unwrap();
/// assert_eq!(parsed.value, json!({"max_days": "1,234", "unit": "kelvin"}));
/// ```
pub fn parse_as(text: &str, schema: &Value) -> Result<Parsed, ParseError> {
    parse_as_with(text, schema, &Options::default())
}

/// Parses the one JSON value in `text` and coerces it to `schema`, within the limits of `options`.
///
/// The result is that of [`parse_as`] unless a limit is exceeded. Coercions count as fixes of
/// [`Level::Schema`].
///
/// # Errors
/// Returns a [`ParseError`] in the cases of [`parse_as`], and if a limit is exceeded as described
/// at [`parse_with`].
///
/// ```
/// use tool_json::{Level, Options, parse_as_with};
///
/// let schema = serde_json::json!({"type": "object"});
/// let options = Options::default().with_max_level(Level::Truncation);
/// assert!(parse_as_with("", &schema, &options).is_err());
/// ```
pub fn parse_as_with(text: &str, schema: &Value, options: &Options) -> Result<Parsed, ParseError> {
    let settings = ParseSettings { options: *options, keys: SchemaKeys::of_schema(schema) };
    parse_and_coerce(text, schema, &settings, &mut 0)
}

/// The maximum depth that serde_json parses.
const MAX_DEPTH: usize = 127;

/// The limits and the schema keys that one parse uses.
#[derive(Clone, Copy, Debug)]
struct ParseSettings<'s> {
    options: Options,
    keys: SchemaKeys<'s>,
}

impl<'s> ParseSettings<'s> {
    const fn mode(&self, in_prose: bool) -> RecoveryMode<'s> {
        RecoveryMode { options: self.options, keys: self.keys, in_prose, is_valid: false }
    }

    /// Checks the fixes and the truncation of `text` against the limits.
    fn check_limits(
        &self,
        text: &str,
        fixes: &[Fix],
        truncated: bool,
        expected: TypeSet,
    ) -> Result<(), ParseError> {
        if truncated && self.options.max_risk < Risk::Lossy {
            return Err(ParseError::truncated(text, expected));
        }
        let error =
            fixes.iter().enumerate().find_map(|(at, fix)| check_fix(&self.options, fix, at).err());
        error.map_or(Ok(()), |error| Err(ParseError::from_recovery(text, &error, expected)))
    }
}

/// Parses a value, decodes it if it was encoded twice, and coerces it to the schema.
fn parse_and_coerce(
    text: &str,
    schema: &Value,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<Parsed, ParseError> {
    let expected = TypeSet::of_schema(schema);
    let parsed = if matches!(text.trim(), "" | "null")
        && expected.is_object_only()
        && accepts_empty_object(schema)
    {
        // Many servers send an empty text or null for a call without arguments.
        let fixes = vec![Fix::new(FixKind::Empty, 0..text.len())];
        let value = Value::Object(Map::new());
        let json = JsonText::Ready(value.to_string());
        Parsed { value, fixes, truncated: false, callees: Vec::new(), json }
    } else {
        let outer = parse_value(text, expected, settings, steps)?;
        let span = outer.span.clone();
        let parsed = decode_string(text, outer, expected, settings, steps)?;
        coerce_parsed(text, parsed, &span, schema, settings, steps)
    };
    let deepens = |fix: &Fix| matches!(fix.kind, FixKind::IntoArray | FixKind::EncodedTwice);
    let depth = settings.options.depth();
    if parsed.fixes.iter().any(deepens) && exceeds_depth(&parsed.value, depth) {
        return Err(ParseError::from_recovery(text, &RecoveryError::too_deep(0, depth), expected));
    }
    settings.check_limits(text, &parsed.fixes, parsed.truncated, expected)?;
    Ok(parsed)
}

/// Decodes a value that is a string as a whole, if the schema allows no string.
fn decode_string(
    text: &str,
    outer: LocatedValue,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<Parsed, ParseError> {
    let Value::String(inner) = &outer.value else {
        return Ok(outer.into());
    };
    if expected.allows_string() {
        return Ok(outer.into());
    }
    // Decode once only: a text that was encoded three times is not a plain mistake.
    let inner = match parse_value(inner, expected, settings, steps) {
        Ok(inner) if expected.allows(&inner.value) && is_container(&inner.value) => inner,
        _ => return Ok(outer.into()),
    };
    let json = inner.json.as_str(&inner.value);
    *steps += json.len();
    if parse_unique(json).is_err() {
        let reason = "a key comes twice in this string";
        return Err(ParseError::syntax(text, outer.span.start, reason, expected));
    }
    let mut fixes = outer.fixes;
    fixes.push(Fix::new(FixKind::EncodedTwice, outer.span.clone()));
    fixes.extend(inner.fixes.iter().map(|fix| Fix::new(fix.kind, outer.span.clone())));
    fixes.sort_by_key(|fix| fix.span.start);
    let truncated = outer.truncated || inner.truncated;
    let callees = [outer.callees, inner.callees].concat();
    Ok(Parsed { value: inner.value, json: inner.json, fixes, truncated, callees })
}

const fn is_container(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// Coerces the value at `span` to the schema; valid JSON that fits already needs no tree.
fn coerce_parsed(
    text: &str,
    mut parsed: Parsed,
    span: &Range<usize>,
    schema: &Value,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Parsed {
    let is_valid = matches!(parsed.json, JsonText::Ready(_));
    if is_valid && fits_schema(&parsed.value, schema, text.len()) {
        return parsed;
    }
    *steps += parsed.json.source().len();
    let Some(mut node) = parse_tree(&parsed.json, settings, steps) else {
        return parsed;
    };
    let from = text.get(span.start..).unwrap_or_default();
    if from.starts_with(parsed.json.source()) {
        node.move_by(span.start);
    } else {
        node.set_span(span);
    }
    let mut parse_inner_text = |text: &str, expected| parse_inner(text, expected, settings, steps);
    let Coerced { node, fixes, callees } = coerce(node, schema, text.len(), &mut parse_inner_text);
    parsed.callees.extend(callees);
    if !fixes.is_empty() || !is_valid {
        parsed.json = JsonText::Ready(node.to_json());
        parsed.value = node.into_value();
        parsed.fixes.extend(fixes);
        parsed.fixes.sort_by_key(|fix| fix.span.start);
    }
    parsed
}

/// Returns the tree of a value that was parsed before: the same parser over the same text gives the
/// same result.
fn parse_tree(json: &JsonText, settings: &ParseSettings<'_>, steps: &mut usize) -> Option<Node> {
    match json {
        JsonText::Ready(json) => parse_valid_tree(json, 0),
        JsonText::Deferred { text, in_prose, .. } => {
            let mode = settings.mode(*in_prose);
            recover::<NodeBuilder>(text, 0, text.len(), mode, steps).ok().map(|read| read.value)
        }
    }
}

/// Parses the text inside a string. The keys that it may have are not known here, and it may be
/// plain text, so only lossless repairs are allowed.
fn parse_inner(
    text: &str,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Option<InnerValue> {
    let options = settings.options.with_max_risk(Risk::Lossless);
    let settings = ParseSettings { options, keys: SchemaKeys::NONE };
    let located = parse_value(text, expected, &settings, steps).ok()?;
    let json = located.json.as_str(&located.value);
    *steps += 2 * json.len();
    parse_unique(json).ok()?;
    let kinds = located.fixes.iter().map(|fix| fix.kind).collect();
    Some((parse_valid_tree(json, 0)?, kinds))
}

/// Runs the strict pass and, if it fails, the search for the value; `steps` counts the work.
fn parse_value(
    text: &str,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<LocatedValue, ParseError> {
    *steps += text.len();
    let limit = settings.options.max_len;
    if text.len() > limit {
        return Err(ParseError::too_long(text, limit, expected));
    }
    match parse_strict(text) {
        Ok(value) => {
            let depth = settings.options.depth();
            if depth < MAX_DEPTH && exceeds_depth(&value, depth) {
                return Err(ParseError::from_recovery(
                    text,
                    &RecoveryError::too_deep(0, depth),
                    expected,
                ));
            }
            let start = text.len() - text.trim_start().len();
            let span = start..start + text.trim().len();
            let json = JsonText::Ready(text.trim().to_owned());
            let (fixes, callees) = (Vec::new(), Vec::new());
            Ok(LocatedValue { value, json, span, fixes, truncated: false, callees })
        }
        Err((error, progress)) => {
            // Otherwise the text's first bracket is known to begin something that is not JSON.
            let starts_damaged = !error.to_string().starts_with("trailing characters");
            // The checkpoint's containers were built under serde_json's depth limit.
            let is_deep = settings.options.depth() >= MAX_DEPTH;
            let checkpoint = is_deep.then(|| Checkpoint::new(text, &error, progress)).flatten();
            *steps += checkpoint.as_ref().map_or(0, |checkpoint| text.len() - checkpoint.start());
            locate(text, expected, settings, starts_damaged, checkpoint, steps)
        }
    }
}

/// Returns whether more than `depth` arrays and objects are nested in `value`.
fn exceeds_depth(value: &Value, depth: usize) -> bool {
    let next = |value| depth == 0 || exceeds_depth(value, depth - 1);
    match value {
        Value::Array(items) => depth == 0 || items.iter().any(next),
        Value::Object(members) => depth == 0 || members.values().any(next),
        _ => false,
    }
}

impl From<LocatedValue> for Parsed {
    fn from(located: LocatedValue) -> Self {
        let LocatedValue { value, json, fixes, truncated, callees, .. } = located;
        Self { value, fixes, truncated, callees, json }
    }
}
