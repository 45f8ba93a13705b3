//! Parses and repairs the JSON in a model's output.
//!
//! Models wrap JSON in code fences, tags and prose, and write it with syntax errors. [`parse`]
//! extracts the one value of such a text and records every repair as a [`Fix`]. If the text can be
//! read in two ways, it is refused: a repair never guesses.
//!
//! # Flow
//!
//! ```text
//! parse     ─▶ parse         runs the passes
//!               ├▶ strict        serde_json over the whole text; if it succeeds, nothing else runs
//!               └▶ locate        finds the one candidate among fences, tags and prose, and checks
//!                   │            that it is not a part of something larger
//!                   └▶ recover       parses a candidate that is not valid JSON
//! parse_as  ─▶ parse, then coerce: changes values to fit the schema
//! Partial   ─▶ partial       parses a text while it arrives
//! ```
//!
//! `fix` lists all repairs, `level` their levels and risks, `error` the reasons to refuse a text,
//! `options` the limits.
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
//!   breaks stay, and placeholders such as `"<your text>"` or `"TODO"` are not detected.
//! - A backslash that begins no JSON escape stays, except before an apostrophe in a word of prose
//!   and before a curly quote. If the model may not have intended it, the fix is [`Risk::Lossy`].
//! - The maximum depth is serde_json's, 127, unless [`Options`] sets another one.
//!
//! # Refused texts
//!
//! - **Prose alone; a bare word or a list without brackets at the root.** Every sentence would be a
//!   value; a bare word is read only if the schema allows nothing but a string.
//! - **Two values that differ, on one line or line by line.** It is unknown which one is intended,
//!   or whether they form a list. Only `{}` is ignored next to another object, if a member is
//!   required.
//! - **A value in a call with other arguments, in a nested or unclosed call, next to a key, among
//!   labels, or next to an operator.** It may be a part of something larger.
//! - **In damaged text, a key twice with two values.** It is unknown which one is intended. The
//!   same value twice is read.
//! - **An ellipsis outside strings.** The omitted content is missing.
//! - **Two quotes at one end of a string: `"24""`.** One of them may be superfluous, or part of the
//!   text. The second one is removed only after a name, a date or a time.
//! - **Several strings as one value: `"a" "b"`, `"a" . "b"`, `"Tom" and "Jerry"`.** Code joins
//!   them, or they are a text with quotes in it. Only plus signs and items of a list are read.
//! - **A template, `f"{city}"` or `` `${city}` ``; code, `datetime.now()` or `names[0]`; escaped
//!   bytes, `b'\xff'`.** The text that it evaluates to is unknown. Code without quotes is read as
//!   text only if the key contains a word such as `expression` or `formula`.
//! - **A comment with one quote, `true // so", "b": 1`.** It may hold the end of a string.
//! - **A placeholder without quotes: `<city>`, `[your city here]`, `${city}`, `string`, `TODO`.**
//!   The value is missing.
//! - **`1.234,56`, `1,234`, `1'000`; leading zeros without a schema, and `0755`, which may be
//!   octal.** It may be one number, another, or text.
//! - **Letters in a number, `1/3`, `7 // 2`, `10-20`.** It may be text, or an unevaluated
//!   calculation.
//! - **`NaN`, infinity.** JSON has no such number, and null would be another value.
//! - **A number at the end of a truncated text.** 12 may have become 1234, unless whitespace
//!   follows it.
//! - **A literal cut off at the end of the text.** It is read only if the schema allows exactly one
//!   literal.
//! - **Quotes with two readings: `"a": "x, b: 1}`, `"a": "say "x", "b": 1`.** The string may end
//!   here or there. A key that the schema knows decides, unless a quotation in the string is open.
//! - **A member without a key or without a value, a word between members.** Nothing is dropped from
//!   the middle, and nothing is filled in.
//! - **A number or literal after a literal, `true false`; semicolons in a list.** It may be text,
//!   several values, or rows of a table.
//! - **A closing bracket whose opening one is missing.** It could have been opened in several
//!   places. Only the brace before the first key of the text is inserted
//!   ([`FixKind::MissingOpener`]). A bracket that closes too early, or is left over after the
//!   value, is removed ([`FixKind::ExtraCloser`]).
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

mod call_keys;
#[cfg(feature = "check")]
mod check;
mod coerce;
mod error;
mod fix;
mod integers;
mod level;
mod locate;
mod options;
mod parse;
mod parsed;
mod partial;
mod position;
mod recover;
mod respell;
#[cfg(test)]
mod risk_table;
mod strict;
mod tree;
mod whitespace;

use serde_json::Value;

#[cfg(feature = "check")]
pub use self::{
    check::{Mismatch, MismatchKind, check},
    error::ParseValidError,
};
use self::{
    coerce::TypeSet,
    parse::{parse_and_coerce, parse_value},
    recover::{ParseSettings, SchemaKeys},
};
pub use self::{
    error::{ParseError, ParseErrorKind},
    fix::{Fix, FixKind},
    integers::normalize_integers,
    level::{Level, Risk},
    options::Options,
    parsed::Parsed,
    partial::{Partial, PartialValue},
};

/// Internals that `tool-runtime` uses. They are not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::call_keys::{
        ARGUMENTS, LAYERS, LISTS, METHOD, NAMED_ARGUMENTS, NAMES, OTHERS, is_one_of,
    };
    #[cfg(feature = "check")]
    pub use crate::check::{
        Correction, Edit, Expectation, PathSegment, corrections, expectation, has_uniform_items,
        is_supported, path, resolve,
    };
    pub use crate::integers::with_normalized_integers;
    pub use crate::recover::is_placeholder_for;
}

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
/// let careful = Options::default().max_risk(Risk::Inferred);
/// assert!(parse_with(r#"{"body": "Dear M"#, &careful).is_err());
/// ```
pub fn parse_with(text: &str, options: &Options) -> Result<Parsed, ParseError> {
    let settings = ParseSettings { options: *options, keys: SchemaKeys::NONE };
    parse_value(text, TypeSet::ANY, &settings, &mut 0).map(|located| located.parsed)
}

/// Parses the one JSON value in `text` whose type `schema` allows, and coerces it to the schema.
///
/// Among prose or other wrapping, values of a type that the schema does not allow at its root are
/// ignored. The value is then changed to fit the schema wherever exactly one change does so:
///
/// - A number, boolean or null is taken out of its quotes ([`FixKind::Unquoted`]). A number becomes
///   the string that it was written as ([`FixKind::Quoted`]): 1.10 and 02139 keep their digits.
///   30.0 becomes an integer ([`FixKind::IntegralNumber`]); 3.7 never does.
/// - A string that holds an object or array is decoded, up to three times, even if its inner quotes
///   are not escaped ([`FixKind::EncodedTwice`]). One value becomes an array of one
///   ([`FixKind::IntoArray`]), or the reverse ([`FixKind::OutOfArray`]).
/// - Keys and enum values are spelled as in the schema ([`FixKind::KeyCase`],
///   [`FixKind::EnumCase`]).
/// - Arguments are taken out of an envelope such as `{"name": …, "arguments": …}`,
///   `{"toolName": …, "params": …}`, `{"tool_calls": [{"function": …}]}` or a `tools/call` request
///   of the Model Context Protocol ([`FixKind::Envelope`]). If the arguments are a string there,
///   its text is repaired like a separate text. Case and separators of the envelope's keys don't
///   matter. `payload`, `data` and `inputs` hold arguments only next to the name of the tool.
/// - An empty text becomes an object without members if no member is required
///   ([`FixKind::Empty`]). A null member is removed if the schema knows it, does not require it and
///   allows no null for it ([`FixKind::NullMember`]).
///
/// A value that fits the schema is never changed, and missing values are never filled in. A value
/// that cannot be coerced is returned as it was written: it may not satisfy the schema.
/// [`parse_valid`] also checks it.
///
/// Coercion has 16,384 steps, and 16 more for each byte of the text, whatever the size of the
/// schema. Reading a value takes one step, and so does comparing it with eight values of an `enum`.
/// If a schema of megabytes exhausts the steps, the remaining values are returned as they were
/// written. If more than 256 subschemas apply at a location, the repair of damaged text does not
/// use their keys.
///
/// # Errors
/// Returns the errors of [`parse`], and a [`ParseError`] of the kind [`ParseErrorKind::Envelope`]
/// if the arguments seem to be inside another object. This is an error only if the schema accepts
/// that object although it declares none of its members.
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
/// let options = Options::default().max_level(Level::Truncation);
/// assert!(parse_as_with("", &schema, &options).is_err());
/// ```
pub fn parse_as_with(text: &str, schema: &Value, options: &Options) -> Result<Parsed, ParseError> {
    let settings = ParseSettings { options: *options, keys: SchemaKeys::of_schema(schema) };
    parse_and_coerce(text, schema, &settings, &mut 0)
}

/// Parses the one JSON value in `text` and coerces it to `schema`; the value satisfies the schema.
///
/// Runs [`parse_as`], and then [`check`]. Prefer it if you have a schema.
///
/// # Errors
/// Returns [`ParseValidError::Unreadable`] in the cases of [`parse_as`], and
/// [`ParseValidError::Invalid`] with every mismatch if the value does not satisfy the schema.
///
/// ```
/// use serde_json::json;
/// use tool_json::{ParseValidError, parse_valid};
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "city": {"type": "string"},
///         "days": {"type": "integer", "maximum": 7},
///     },
///     "required": ["city"],
/// });
/// let parsed = parse_valid("Sure: {city: 'Oslo', days: \"3\"}", &schema).unwrap();
/// assert_eq!(parsed.value, json!({"city": "Oslo", "days": 3}));
///
/// let error = parse_valid("{days: 10}", &schema).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`city` is missing: expected a string\n`days`: expected an integer of at most 7, got 10",
/// );
/// let ParseValidError::Invalid(mismatches) = error else { panic!() };
/// assert_eq!(mismatches[1].path, "days");
/// ```
#[cfg(feature = "check")]
pub fn parse_valid(text: &str, schema: &Value) -> Result<Parsed, ParseValidError> {
    parse_valid_with(text, schema, &Options::default())
}

/// Parses the one JSON value in `text` by `schema` and checks it, within the limits of `options`.
///
/// The result is that of [`parse_valid`] unless a limit is exceeded.
///
/// # Errors
/// Returns a [`ParseValidError`] in the cases of [`parse_valid`], and
/// [`ParseValidError::Unreadable`] if a limit is exceeded as described at
/// [`parse_with`].
///
/// ```
/// use tool_json::{Level, Options, parse_valid_with};
///
/// let schema = serde_json::json!({"type": "object"});
/// let options = Options::default().max_level(Level::Wrapping);
/// assert!(parse_valid_with("{a: 1}", &schema, &options).is_err());
/// ```
#[cfg(feature = "check")]
pub fn parse_valid_with(
    text: &str,
    schema: &Value,
    options: &Options,
) -> Result<Parsed, ParseValidError> {
    let parsed = parse_as_with(text, schema, options)?;
    match check(&parsed.value, schema) {
        mismatches if mismatches.is_empty() => Ok(parsed),
        mismatches => Err(ParseValidError::Invalid(mismatches)),
    }
}
