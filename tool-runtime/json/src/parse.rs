//! Runs the passes of a parse, from the text to the value that fits the schema.
//!
//! [`parse_value`] runs the strict pass, and searches the text if it fails. [`parse_and_coerce`]
//! also decodes a value that was encoded up to three times, and coerces it to the schema. `steps`
//! counts the work.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{
    Fix, FixKind, Options, ParseError, ParseErrorKind, Parsed, Risk,
    coerce::{Coerced, InnerText, InnerValue, TypeSet, accepts_empty_object, coerce, fits_schema},
    fix::sort_by_position,
    locate::{LocatedValue, locate},
    parsed::JsonText,
    recover::{Checkpoint, NodeBuilder, ParseSettings, RecoveryError, SchemaKeys, recover},
    respell::Respelling,
    strict::{is_json, parse_strict, parse_unique},
    tree::{Node, parse_valid_tree},
};

/// The number of times that a value may have been encoded as a string.
const MAX_ENCODINGS: usize = 3;

/// The maximum depth that serde_json parses.
const MAX_DEPTH: usize = 127;

/// Parses a value, decodes it if it was encoded twice, and coerces it to the schema.
pub(crate) fn parse_and_coerce(
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
        let LocatedValue { parsed, span } = parse_arguments(text, schema, settings, steps)?;
        let parsed = decode_string(text, parsed, &span, schema, settings, steps)?;
        coerce_parsed(text, parsed, &span, schema, settings, steps)?
    };
    let deepens = |fix: &Fix| matches!(fix.kind, FixKind::IntoArray | FixKind::EncodedTwice);
    let depth = settings.options.depth();
    if parsed.fixes.iter().any(deepens) && exceeds_depth(&parsed.value, depth) {
        return Err(ParseError::from_recovery(text, &RecoveryError::too_deep(0, depth), expected));
    }
    settings.check_limits(text, &parsed.fixes, parsed.truncated, expected)?;
    Ok(parsed)
}

/// Parses a value, also beside an object without members that the schema does not accept.
fn parse_arguments(
    text: &str,
    schema: &Value,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<LocatedValue, ParseError> {
    let expected = TypeSet::of_schema(schema);
    match parse_value(text, expected, settings, steps) {
        Err(error) if error.is_ambiguous() && !accepts_empty_object(schema) => {
            parse_beside_empty(text, expected, settings, steps).ok_or(error)
        }
        located => located,
    }
}

/// Decodes a value that is a string as a whole, if the schema allows no string.
fn decode_string(
    text: &str,
    outer: Parsed,
    span: &Range<usize>,
    schema: &Value,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<Parsed, ParseError> {
    let expected = TypeSet::of_schema(schema);
    let Value::String(inner) = &outer.value else {
        return Ok(outer);
    };
    if expected.allows_string() {
        return Ok(outer);
    }
    let (mut inner, mut fixes) = (inner.clone(), outer.fixes.clone());
    let inner = loop {
        fixes.push(Fix::new(FixKind::EncodedTwice, span.clone()));
        let Ok(LocatedValue { parsed: next, .. }) =
            parse_arguments(&inner, schema, settings, steps)
        else {
            return Ok(outer);
        };
        let levels = fixes.len() - outer.fixes.len();
        match &next.value {
            Value::String(text) if levels < MAX_ENCODINGS => inner.clone_from(text),
            value if expected.allows(value) && is_container(value) => break next,
            _ => return Ok(outer),
        }
    };
    let json = inner.json();
    *steps += json.len();
    if parse_unique(json).is_err() {
        let reason = "a key comes twice in this string";
        return Err(ParseError::syntax(text, span.start, reason, expected));
    }
    fixes.extend(inner.fixes.iter().map(|fix| Fix::new(fix.kind, span.clone())));
    sort_by_position(&mut fixes);
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
) -> Result<Parsed, ParseError> {
    let is_valid = matches!(parsed.json, JsonText::Ready(_));
    if is_valid && fits_schema(&parsed.value, schema, text.len()) {
        return Ok(parsed);
    }
    let limit = settings.options.max_repair_bytes;
    if text.len() > limit {
        return Err(ParseError::too_long_to_repair(text, limit, TypeSet::of_schema(schema)));
    }
    *steps += parsed.json.source().len();
    if !is_valid {
        // The tree takes its place, and both take much memory.
        parsed.value = Value::Null;
    }
    let Some(mut node) = parse_tree(&parsed.json, settings, steps) else {
        return Ok(parsed);
    };
    let from = text.get(span.start..).unwrap_or_default();
    if from.starts_with(parsed.json.source()) {
        node.move_by(span.start);
    } else {
        node.set_span(span);
    }
    let mut parse_inner_text =
        |text: &str, expected, place| parse_inner(text, expected, place, schema, settings, steps);
    let Coerced { node, fixes, callees, truncated, is_shut } =
        coerce(node, schema, text.len(), &mut parse_inner_text);
    if is_shut {
        let expected = TypeSet::of_schema(schema);
        return Err(ParseError::shut_envelope(text, span.start, expected));
    }
    parsed.callees.extend(callees);
    parsed.truncated |= truncated;
    if !fixes.is_empty() || !is_valid {
        parsed.json = JsonText::Ready(node.to_json());
        parsed.value = node.into_value();
        parsed.fixes.extend(fixes);
        sort_by_position(&mut parsed.fixes);
    }
    Ok(parsed)
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

/// Parses the text inside a string. A member may be plain text, and its keys are not known here, so
/// only lossless repairs are allowed in it. Arguments in an envelope are read as without it.
fn parse_inner(
    text: &str,
    expected: TypeSet,
    place: InnerText,
    schema: &Value,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Option<InnerValue> {
    let located = match place {
        InnerText::Member => {
            let options = settings.options.max_risk(Risk::Lossless);
            let settings = ParseSettings { options, keys: SchemaKeys::NONE };
            parse_value(text, expected, &settings, steps)
        }
        InnerText::Arguments => {
            let options = Options::default().max_depth(settings.options.max_depth);
            let settings = ParseSettings { options, keys: settings.keys };
            parse_arguments(text, schema, &settings, steps)
        }
    };
    let LocatedValue { parsed: inner, .. } = located.ok()?;
    let json = inner.json();
    *steps += 2 * json.len();
    parse_unique(json).ok()?;
    let kinds = inner.fixes.iter().map(|fix| fix.kind).collect();
    let node = parse_valid_tree(json, 0)?;
    Some(InnerValue { node, kinds, truncated: inner.truncated })
}

/// Runs the strict pass and, if it fails, the search for the value; `steps` counts the work.
pub(crate) fn parse_value(
    text: &str,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Result<LocatedValue, ParseError> {
    *steps += text.len();
    let limit = settings.options.max_bytes;
    if text.len() > limit {
        return Err(ParseError::too_long(text, limit, expected));
    }
    let limit = settings.options.max_repair_bytes;
    // Before values are built: those of a damaged text take memory, too.
    if text.len() > limit && !is_json(text) {
        return Err(ParseError::too_long_to_repair(text, limit, expected));
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
            let parsed = Parsed { value, fixes, truncated: false, callees, json };
            Ok(LocatedValue { parsed, span })
        }
        Err(_) if text.len() > limit => Err(ParseError::too_long_to_repair(text, limit, expected)),
        Err((error, progress)) => {
            // Otherwise the text's first bracket is known to begin something that is not JSON.
            let starts_damaged = !progress.has_value;
            // The checkpoint's containers were built under serde_json's depth limit.
            let is_deep = settings.options.depth() >= MAX_DEPTH;
            let checkpoint = is_deep.then(|| Checkpoint::new(text, &error, progress)).flatten();
            *steps += checkpoint.as_ref().map_or(0, |checkpoint| text.len() - checkpoint.start());
            let located = locate(text, expected, settings, starts_damaged, checkpoint, steps);
            located.or_else(|error| {
                let respelled = parse_respelled(text, &error, expected, settings, steps);
                respelled.ok_or(error)
            })
        }
    }
}

/// Parses another reading of the whole text, if one applies and holds a value.
fn parse_respelled(
    text: &str,
    error: &ParseError,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Option<LocatedValue> {
    if !matches!(error.kind(), ParseErrorKind::Syntax | ParseErrorKind::NoValue) {
        return None;
    }
    *steps += text.len();
    let respelling = Respelling::of(text, expected)?;
    let damaged = match parse_strict(&respelling.text) {
        Ok(_) => false,
        Err((_, progress)) => !progress.has_value,
    };
    let LocatedValue { mut parsed, span } =
        locate(&respelling.text, expected, settings, damaged, None, steps).ok()?;
    for fix in &mut parsed.fixes {
        fix.span = respelling.original(&fix.span, text.len());
    }
    let span = respelling.original(&span, text.len());
    parsed.fixes.extend(respelling.fixes);
    sort_by_position(&mut parsed.fixes);
    settings.check_limits(text, &parsed.fixes, parsed.truncated, expected).ok()?;
    Some(LocatedValue { parsed, span })
}

/// Parses the value before or after an object without members, which the schema does not accept.
fn parse_beside_empty(
    text: &str,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    steps: &mut usize,
) -> Option<LocatedValue> {
    let start = text.len() - text.trim_start().len();
    let end = text.trim_end().len();
    let span = match text.trim() {
        members if members.starts_with("{}") => start..start + 2,
        members if members.ends_with("{}") => end - 2..end,
        _ => return None,
    };
    let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
    let blanked = format!("{before}  {after}");
    let LocatedValue { mut parsed, span: value } =
        parse_value(&blanked, expected, settings, steps).ok()?;
    parsed.fixes.push(Fix::new(FixKind::Prose, span));
    sort_by_position(&mut parsed.fixes);
    Some(LocatedValue { parsed, span: value })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate::STEPS_PER_BYTE;

    const LEN: usize = 80_000;

    /// Counts steps instead of time, so that the test gives the same result on every machine.
    #[test]
    fn parse_steps_are_linear_in_text_length() {
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
            "a:",
            "a::",
            "{\"a\"::",
            "\"a\";",
            "{\"a\":\"b\"; ",
            "{\"a\":1;",
            "true ",
            "[true +",
            "'a'b",
            "A: [1]\n",
            "[0,0",
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
            "\"a: ",
            "\"a\" 1",
            "\"a\" \"b\", ",
            "a\": ",
            "a = b, ",
            "\", a: \"",
            "'a\": ",
            "a\", ",
            "{```",
            "`a",
            "｛",
            "\\\"a ",
            "u'",
            "u'a', ",
            "a\\'",
            "a\\'b",
            "u'a' ",
            "b'",
            "r'\\d', ",
            "`${",
        ];
        let settings = ParseSettings { options: Options::default(), keys: SchemaKeys::NONE };
        for unit in units {
            for (prefix, expected, len) in [
                // Short texts come first, so that superlinear work fails the test quickly.
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
                let _ = parse_and_coerce(&text, expected, &settings, &mut steps);
                assert!(
                    steps <= STEPS_PER_BYTE * text.len(),
                    "{prefix:?} and {unit:?}: {steps} steps for {} bytes",
                    text.len()
                );
            }
        }
    }
}
