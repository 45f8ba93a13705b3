//! Model text to JSON value.
//!
//! Models wrap their JSON in fences, tags and prose. [`parse`] reads a value in spite of it, tells
//! every [`Fix`] that it took, and refuses rather than guess: no key, string or number comes out
//! that the text does not spell, where two values could be meant none is returned, and neither is
//! one that may be a part of something larger: `"city": "Oslo", "limits": {"days": 3}` is no object.
//!
//! Two passes: serde_json over the whole text, then, on failure, one search for the value, which has
//! the recovery parser read what is damaged. What counts as the value is written down with the
//! search. The depth limit is serde_json's; the work is linear in the length of the text.
//!
//! What is refused, because it can be read in several ways or in none:
//!
//! | What stands in the text | Why it is refused |
//! |---|---|
//! | prose alone; a bare word or list at the root | every sentence would be a value; a schema that wants text decides for a word |
//! | two values that differ, in a row or line by line | nothing says which is meant, or that it is a list of both |
//! | a value in a call that has other arguments, is in another or has no end, beside a key, among labels, or behind an operator | it may be a part of something larger |
//! | in damaged text, a key twice with two values | nothing says which is meant; the same value twice is read |
//! | an ellipsis outside strings | what it stands for is not there |
//! | `1.234,56`, `1,234`, `1'000`; zeros before a number without a schema | it may be one number, another, or text |
//! | letters in a number, `1/3`, `10-20` | it may be text, or a calculation that nobody made |
//! | `NaN`, infinity | JSON has no such number, and null is not what was written |
//! | a number with which the text ends | 12 may have become 1234, unless a blank follows it |
//! | a literal with which the text ends | read only where a schema leaves one |
//! | quotes that stand in two ways: `"a": "x, b: 1}`, `"a": "say "x", "b": 1` | the string may end here or there; a key that the schema knows decides |
//! | a member without a key or without a value, a word between members | nothing is dropped from the middle, and nothing is filled in |
//! | a number or literal behind a literal, `true false`; semicolons in a list | it may be text, several values, or rows of a table |
//! | a bracket that is closed but was never opened | it could have been opened in several places |
//! | more than [`Options`] allow | a limit never changes how a text is read |
//!
//! And what a string says is its own: fences and JSON in it stay text, its line breaks stay where
//! they are, a backslash that escapes nothing stays in it, and `<your text>` or `TODO` is a text like
//! any other.
//!
//! ```
//! use tool_runtime::json::{FixKind, parse};
//!
//! let parsed = parse("Sure!\n```json\n{\"city\": \"Oslo\"}\n```").unwrap();
//! assert_eq!(parsed.value["city"], "Oslo");
//! let kinds: Vec<_> = parsed.fixes.iter().map(|fix| fix.kind).collect();
//! assert_eq!(kinds, [FixKind::Prose, FixKind::Fence, FixKind::Fence]);
//! ```

mod advice;
mod around;
mod blank;
mod coerce;
pub(crate) mod ends;
mod fix;
mod found;
mod key;
#[cfg(test)]
mod linear;
mod locate;
mod mark;
mod number;
mod options;
mod parsed;
mod partial;
mod piece;
mod print;
mod reach;
mod recover;
mod scalar;
mod scan;
mod sound;
mod strict;
mod token;
mod tree;
mod unique;
mod unreadable;
mod whole;

use std::ops::Range;

use serde_json::{Map, Value};

pub(crate) use self::number::whole_numbers;
use self::{
    coerce::{Coerced, Inner, Roots, coerce, is_settled, takes_nothing},
    locate::{Located, locate},
    parsed::Json,
    recover::{Keys, Mode, Nodes, Refusal, Resume, allow, recover},
    sound::read_sound,
    strict::read_strict,
    tree::Node,
    unique::read_unique,
};
pub use self::{
    fix::{Fix, FixKind, Level, Risk},
    number::make_whole,
    options::Options,
    parsed::Parsed,
    partial::{Partial, SoFar},
    unreadable::{Unreadable, UnreadableKind},
};

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
/// let parsed = parse("{city: 'Oslo', note: \"the \"old\" town\",}").unwrap();
/// assert_eq!(parsed.value["note"], "the \"old\" town");
///
/// // The inner object is whole, but it is only a part of what was meant.
/// assert!(parse(r#""place": {"city": "Oslo"}"#).is_err());
/// ```
pub fn parse(text: &str) -> Result<Parsed, Unreadable> {
    parse_with(text, &Options::default())
}

/// As [`parse`], within the limits of `options`.
///
/// # Errors
/// As [`parse`], and where a limit is exceeded.
///
/// ```
/// use tool_runtime::json::{Options, Risk, parse_with};
///
/// // A file must not be written from half a string.
/// let careful = Options::default().with_max_risk(Risk::Inferred);
/// assert!(parse_with(r#"{"body": "Dear M"#, &careful).is_err());
/// ```
pub fn parse_with(text: &str, options: &Options) -> Result<Parsed, Unreadable> {
    let reading = Reading { options: *options, keys: Keys::NONE };
    read(text, Roots::ANY, &reading, &mut 0).map(Parsed::from)
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
///   an object without members where none is required ([`FixKind::Empty`]). Null is no member, where
///   there need be none and null is no value of it ([`FixKind::Absent`]).
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
    parse_as_with(text, schema, &Options::default())
}

/// As [`parse_as`], within the limits of `options`.
///
/// # Errors
/// As [`parse_as`], and where a limit is exceeded.
///
/// ```
/// use tool_runtime::json::{Level, Options, parse_as_with};
///
/// let schema = serde_json::json!({"type": "object"});
/// let options = Options::default().with_max_level(Level::Truncation);
/// assert!(parse_as_with("", &schema, &options).is_err());
/// ```
pub fn parse_as_with(text: &str, schema: &Value, options: &Options) -> Result<Parsed, Unreadable> {
    let reading = Reading { options: *options, keys: Keys::of_schema(schema) };
    read_as(text, schema, &reading, &mut 0)
}

/// As deep as serde_json reads.
const DEPTH: usize = 127;

/// How a text is to be read.
#[derive(Clone, Copy, Debug)]
struct Reading<'s> {
    options: Options,
    keys: Keys<'s>,
}

impl<'s> Reading<'s> {
    const fn mode(&self, in_prose: bool) -> Mode<'s> {
        Mode { options: self.options, keys: self.keys, in_prose, is_sound: false }
    }

    /// Whether what it took to read `text` is within the limits.
    fn allow(
        &self,
        text: &str,
        fixes: &[Fix],
        truncated: bool,
        wanted: Roots,
    ) -> Result<(), Unreadable> {
        if truncated && self.options.max_risk < Risk::Lossy {
            return Err(Unreadable::cut(text, wanted));
        }
        let refusal =
            fixes.iter().enumerate().find_map(|(at, fix)| allow(&self.options, fix, at).err());
        refusal.map_or(Ok(()), |refusal| Err(Unreadable::refused(text, &refusal, wanted)))
    }
}

/// Found in the text, decoded if it was encoded twice, then brought into what the schema wants.
fn read_as(
    text: &str,
    schema: &Value,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Result<Parsed, Unreadable> {
    let wanted = Roots::of_schema(schema);
    let parsed =
        if matches!(text.trim(), "" | "null") && wanted.is_object_only() && takes_nothing(schema) {
            // What many servers send for a call without arguments.
            let fixes = vec![Fix::new(FixKind::Empty, 0..text.len())];
            let value = Value::Object(Map::new());
            let json = Json::Text(value.to_string());
            Parsed { value, fixes, truncated: false, called: Vec::new(), json }
        } else {
            let outer = read(text, wanted, reading, steps)?;
            let span = outer.span.clone();
            let parsed = decode(text, outer, wanted, reading, steps)?;
            settle(text, parsed, &span, schema, reading, steps)
        };
    let deepens = |fix: &Fix| matches!(fix.kind, FixKind::Listed | FixKind::EncodedTwice);
    let depth = reading.options.depth();
    if parsed.fixes.iter().any(deepens) && is_deeper(&parsed.value, depth) {
        return Err(Unreadable::refused(text, &Refusal::too_deep(0, depth), wanted));
    }
    reading.allow(text, &parsed.fixes, parsed.truncated, wanted)?;
    Ok(parsed)
}

/// What a string holds that is the whole value, where the schema allows no string.
fn decode(
    text: &str,
    outer: Located,
    wanted: Roots,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Result<Parsed, Unreadable> {
    let Value::String(inner) = &outer.value else {
        return Ok(outer.into());
    };
    if wanted.allows_text() {
        return Ok(outer.into());
    }
    // Once only: a text that is encoded three times is nobody's plain mistake.
    let inner = match read(inner, wanted, reading, steps) {
        Ok(inner) if wanted.allows(&inner.value) && is_container(&inner.value) => inner,
        _ => return Ok(outer.into()),
    };
    let json = inner.json.text(&inner.value);
    *steps += json.len();
    if read_unique(json).is_err() {
        let what = "a key comes twice in this string";
        return Err(Unreadable::syntax(text, outer.span.start, what, wanted));
    }
    let mut fixes = outer.fixes;
    fixes.push(Fix::new(FixKind::EncodedTwice, outer.span.clone()));
    fixes.extend(inner.fixes.iter().map(|fix| Fix::new(fix.kind, outer.span.clone())));
    fixes.sort_by_key(|fix| fix.span.start);
    let truncated = outer.truncated || inner.truncated;
    let called = [outer.called, inner.called].concat();
    Ok(Parsed { value: inner.value, json: inner.json, fixes, truncated, called })
}

const fn is_container(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// The value, which stands at `span`, as the schema wants it; what fits and was sound costs no tree.
fn settle(
    text: &str,
    mut parsed: Parsed,
    span: &Range<usize>,
    schema: &Value,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Parsed {
    let is_sound = matches!(parsed.json, Json::Text(_));
    if is_sound && is_settled(&parsed.value, schema, text.len()) {
        return parsed;
    }
    *steps += parsed.json.source().len();
    let Some(mut node) = tree(&parsed.json, reading, steps) else {
        return parsed;
    };
    let from = text.get(span.start..).unwrap_or_default();
    if from.starts_with(parsed.json.source()) {
        node.move_by(span.start);
    } else {
        node.place_at(span);
    }
    let mut read_inner = |text: &str, wanted| read_within(text, wanted, reading, steps);
    let Coerced { node, fixes, called } = coerce(node, schema, text.len(), &mut read_inner);
    parsed.called.extend(called);
    if !fixes.is_empty() || !is_sound {
        parsed.json = Json::Text(node.to_json());
        parsed.value = node.into_value();
        parsed.fixes.extend(fixes);
        parsed.fixes.sort_by_key(|fix| fix.span.start);
    }
    parsed
}

/// The tree of a value that was read before: the same parser over the same text, so it reads the
/// same again.
fn tree(json: &Json, reading: &Reading<'_>, steps: &mut usize) -> Option<Node> {
    match json {
        Json::Text(json) => read_sound(json, 0),
        Json::Damaged { text, in_prose, .. } => {
            let mode = reading.mode(*in_prose);
            recover::<Nodes>(text, 0, text.len(), mode, steps).ok().map(|read| read.value)
        }
    }
}

/// The value of a text that is a string in another. Which keys it may have is not known here, and it
/// may be no more than text: so only what can't be anything else counts.
fn read_within(
    text: &str,
    wanted: Roots,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Option<Inner> {
    let options = reading.options.with_max_risk(Risk::Lossless);
    let reading = Reading { options, keys: Keys::NONE };
    let located = read(text, wanted, &reading, steps).ok()?;
    let json = located.json.text(&located.value);
    *steps += 2 * json.len();
    read_unique(json).ok()?;
    let kinds = located.fixes.iter().map(|fix| fix.kind).collect();
    Some((read_sound(json, 0)?, kinds))
}

/// The passes. `steps` counts the work.
fn read(
    text: &str,
    wanted: Roots,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Result<Located, Unreadable> {
    *steps += text.len();
    let limit = reading.options.max_len;
    if text.len() > limit {
        return Err(Unreadable::too_long(text, limit, wanted));
    }
    match read_strict(text) {
        Ok(value) => {
            let depth = reading.options.depth();
            if depth < DEPTH && is_deeper(&value, depth) {
                return Err(Unreadable::refused(text, &Refusal::too_deep(0, depth), wanted));
            }
            let start = text.len() - text.trim_start().len();
            let span = start..start + text.trim().len();
            let json = Json::Text(text.trim().to_owned());
            let (fixes, called) = (Vec::new(), Vec::new());
            Ok(Located { value, json, span, fixes, truncated: false, called })
        }
        Err((error, progress)) => {
            // Then the text's first bracket opens what is damaged, or is none of JSON.
            let is_first = !error.to_string().starts_with("trailing characters");
            // Other limits of depth hold for what was built as well.
            let is_deep = reading.options.depth() >= DEPTH;
            let resume = is_deep.then(|| Resume::new(text, &error, progress)).flatten();
            *steps += resume.as_ref().map_or(0, |resume| text.len() - resume.start());
            locate(text, wanted, reading, is_first, resume, steps)
        }
    }
}

/// Whether more than `depth` lists and objects are open at once in `value`.
fn is_deeper(value: &Value, depth: usize) -> bool {
    let next = |value| depth == 0 || is_deeper(value, depth - 1);
    match value {
        Value::Array(items) => depth == 0 || items.iter().any(next),
        Value::Object(members) => depth == 0 || members.values().any(next),
        _ => false,
    }
}

impl From<Located> for Parsed {
    fn from(located: Located) -> Self {
        let Located { value, json, fixes, truncated, called, .. } = located;
        Self { value, fixes, truncated, called, json }
    }
}
