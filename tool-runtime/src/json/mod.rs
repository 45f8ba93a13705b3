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
mod options;
mod parsed;
mod piece;
mod recover;
mod scalar;
mod scan;
mod token;
mod tree;
mod unique;
mod unreadable;
mod whole;

use serde_json::{Map, Value};

pub(crate) use self::number::whole_numbers;
use self::{
    coerce::Roots,
    locate::{Located, locate},
    parsed::Json,
    recover::{Keys, Mode, Refusal, allow},
    unique::read_unique,
};
pub use self::{
    fix::{Fix, FixKind, Level, Risk},
    number::make_whole,
    options::Options,
    parsed::Parsed,
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
/// More than [`parse`] it does three things. Values of another type, found among prose or other
/// wrapping, don't count. And where the schema allows no string, a string that holds a value of an
/// allowed type is decoded ([`FixKind::EncodedTwice`]). And where it allows objects alone, no text at
/// all is one without members ([`FixKind::Empty`]). Only the type at the root is looked at:
/// whether the value satisfies the schema is for a validator to say, so valid JSON of a wrong type
/// is returned as it is.
///
/// # Errors
/// As [`parse`].
///
/// ```
/// use tool_runtime::json::{FixKind, parse_as};
///
/// let schema = serde_json::json!({"type": "object"});
/// let parsed = parse_as("As in [1]: {\"city\": \"Oslo\"}", &schema).unwrap();
/// assert_eq!(parsed.value["city"], "Oslo");
///
/// let parsed = parse_as(r#""{\"city\": \"Oslo\"}""#, &schema).unwrap();
/// assert_eq!(parsed.value["city"], "Oslo");
/// assert_eq!(parsed.fixes[0].kind, FixKind::EncodedTwice);
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
    read_as(text, Roots::of_schema(schema), &reading, &mut 0)
}

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
}

fn read_as(
    text: &str,
    wanted: Roots,
    reading: &Reading<'_>,
    steps: &mut usize,
) -> Result<Parsed, Unreadable> {
    let allowed = |fixes: &[Fix]| {
        let refusal =
            fixes.iter().enumerate().find_map(|(at, fix)| allow(&reading.options, fix, at).err());
        refusal.map_or(Ok(()), |refusal| Err(Unreadable::refused(text, &refusal, wanted)))
    };
    // What many servers send for a call without arguments.
    if matches!(text.trim(), "" | "null") && wanted.is_object_only() {
        let fixes = vec![Fix::new(FixKind::Empty, 0..text.len())];
        allowed(&fixes)?;
        let value = Value::Object(Map::new());
        let json = Json::Text(value.to_string());
        return Ok(Parsed { value, fixes, truncated: false, json });
    }
    let outer = read(text, wanted, reading, steps)?;
    let Value::String(inner) = &outer.value else {
        return Ok(outer.into());
    };
    if wanted.allows_text() {
        return Ok(outer.into());
    }
    // Once only: a text that is encoded three times is nobody's plain mistake.
    let inner = match read(inner, wanted, reading, steps) {
        Ok(inner) if wanted.allows(&inner.value) => inner,
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
    allowed(&fixes)?;
    let truncated = outer.truncated || inner.truncated;
    Ok(Parsed { value: inner.value, json: inner.json, fixes, truncated })
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
        let what = format!("the text is too long: {} bytes, where {limit} are allowed", text.len());
        let refusal = Refusal::new(UnreadableKind::Limit, 0, what);
        return Err(Unreadable::refused(text, &refusal, wanted));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            let depth = reading.options.depth();
            if is_deeper(&value, depth) {
                let what = format!("the JSON is nested too deep: more than {depth} levels");
                let refusal = Refusal::new(UnreadableKind::TooDeep, 0, what);
                return Err(Unreadable::refused(text, &refusal, wanted));
            }
            let start = text.len() - text.trim_start().len();
            let span = start..start + text.trim().len();
            let json = Json::Text(text.trim().to_owned());
            Ok(Located { value, json, span, fixes: Vec::new(), truncated: false })
        }
        Err(error) => {
            // Then the text's first bracket opens what is damaged, or is none of JSON.
            let is_first = !error.to_string().starts_with("trailing characters");
            locate(text, wanted, reading, is_first, steps)
        }
    }
}

/// Whether more than `depth` lists and objects are open at once in `value`.
fn is_deeper(value: &Value, depth: usize) -> bool {
    // As deep as serde_json reads.
    if depth >= 127 {
        return false;
    }
    let next = |value| depth == 0 || is_deeper(value, depth - 1);
    match value {
        Value::Array(items) => depth == 0 || items.iter().any(next),
        Value::Object(members) => depth == 0 || members.values().any(next),
        _ => false,
    }
}

impl From<Located> for Parsed {
    fn from(located: Located) -> Self {
        let Located { value, json, fixes, truncated, .. } = located;
        Self { value, fixes, truncated, json }
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
        let objects = Roots::of_schema(&serde_json::json!({"type": "object"}));
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
            "a:",
            "{:::",
            "a \"b\" c ",
            "a \"b\", c ",
            "\": ",
            "\", \"",
            "'a' ",
            "\"\"",
            "“",
            "/*",
            "\" /* ",
            "\" // \n",
            "#",
            "(",
            "a, ",
            "{'a':1,",
            "1 ",
            "\"+",
            "=>",
            "\n\"a\": ",
        ];
        let reading = Reading { options: Options::default(), keys: Keys::NONE };
        for unit in units {
            for (prefix, wanted, len) in [
                // Small first: work that isn't linear shall fail the test, not hold it up.
                ("", Roots::ANY, LEN / 100),
                ("", Roots::ANY, LEN),
                ("", objects, LEN / 10),
                ("x", objects, LEN / 10),
                ("\n\n [1] ", Roots::ANY, LEN / 10),
                ("{\"a\": \"", Roots::ANY, LEN / 10),
                ("\"", objects, LEN / 10),
            ] {
                let text = prefix.to_owned() + &unit.repeat(len / unit.len());
                let mut steps = 0;
                let _ = read_as(&text, wanted, &reading, &mut steps);
                assert!(
                    steps <= STEPS_PER_BYTE * text.len(),
                    "{prefix:?} and {unit:?}: {steps} steps for {} bytes",
                    text.len()
                );
            }
        }
    }
}
