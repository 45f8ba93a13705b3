//! Text from a server: without invisible characters, and of bounded length.

use std::borrow::Cow;

use serde_json::Value;
use tool_core::Untrusted;
use tool_core::message::strip_invisible;

/// Stands for the rest of a truncated text.
const ELLIPSIS: char = '…';

/// Returns a text without invisible characters, truncated to a number of characters.
pub(crate) fn clean(text: &str, max_chars: usize) -> String {
    // Cut first: the text may be large.
    let cut: String = text.chars().take(max_chars.saturating_mul(2)).collect();
    let stripped = strip_invisible(&cut);
    match stripped.char_indices().nth(max_chars) {
        Some((end, _)) => {
            let mut cut = stripped.get(..end).unwrap_or_default().to_owned();
            cut.push(ELLIPSIS);
            cut
        }
        None if cut.len() < text.len() => format!("{stripped}{ELLIPSIS}"),
        None => stripped.into_owned(),
    }
}

/// Returns a text as [`clean`] does, on one line.
pub(crate) fn clean_line(text: &str, max_chars: usize) -> String {
    clean(text, max_chars).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text of a server between the marks of untrusted text.
pub(crate) fn marked(server: &str, text: &str) -> String {
    Untrusted::new(source(server), text).to_string()
}

/// Returns the name of a server as the source of untrusted text.
pub(crate) fn source(server: &str) -> String {
    format!("MCP server {server}")
}

/// The number of characters of one describing text of a schema that are kept.
const MAX_SCHEMA_TEXT_CHARS: usize = 2_000;

/// The number of bytes of all describing texts of a schema that are kept.
const MAX_SCHEMA_TEXT_BYTES: usize = 32 << 10;

/// Bounds the texts of a schema that only describe, and removes invisible characters from them.
/// Those that are part of an argument stay, so that the definition is refused.
pub(crate) fn clean_schema(schema: &mut Value) {
    let mut bytes = MAX_SCHEMA_TEXT_BYTES;
    clean_schema_within(schema, &mut bytes);
}

fn clean_schema_within(schema: &mut Value, bytes: &mut usize) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| clean_schema_within(item, bytes)),
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                match (name.as_str(), value) {
                    ("description" | "title" | "$comment", Value::String(text)) => {
                        *text = clean(text, MAX_SCHEMA_TEXT_CHARS);
                        match bytes.checked_sub(text.len()) {
                            Some(rest) => *bytes = rest,
                            None => text.clear(),
                        }
                    }
                    (_, value) => clean_schema_within(value, bytes),
                }
            }
        }
        _ => {}
    }
}

/// Removes invisible characters from all texts of a value.
pub(crate) fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(stripped) = strip_invisible(text) {
                *text = stripped;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(members) => members.values_mut().for_each(clean_value),
        _ => {}
    }
}

/// Returns the approximate size of a value as JSON.
pub(crate) fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| name.len() + 4 + json_bytes(value);
            members.iter().map(member).sum::<usize>() + 2
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_stripped_and_truncated() {
        assert_eq!(clean("a\u{202e}b\u{e0041}c\u{1b}[1m", 100), "abc[1m");
        assert_eq!(clean("abcdef", 3), "abc…");
        assert_eq!(clean(&format!("a{}", "\u{200b}".repeat(100)), 3), "a…");
        assert_eq!(clean_line("a\nb\t c", 100), "a b c");
    }

    #[test]
    fn only_describing_texts_of_a_schema_are_stripped() {
        let mut schema = json!({
            "description": "a\u{200b}b",
            "properties": { "x": { "title": "\u{202e}T", "const": "\u{202e}" } },
        });
        clean_schema(&mut schema);
        let expected = json!({
            "description": "ab",
            "properties": { "x": { "title": "T", "const": "\u{202e}" } },
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn describing_texts_of_a_schema_are_bounded() {
        let long = "x".repeat(100_000);
        let property = json!({ "description": long, "enum": ["a"] });
        let names = (0..1_000).map(|n| (format!("p{n}"), property.clone()));
        let mut schema = json!({ "properties": names.collect::<serde_json::Map<_, _>>() });
        clean_schema(&mut schema);
        let size = schema.to_string().len();
        assert!(size < MAX_SCHEMA_TEXT_BYTES + 1_000 * 60, "{size}");
        assert_eq!(schema["properties"]["p999"]["enum"], json!(["a"]));
    }
}
