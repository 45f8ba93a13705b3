//! Display of values, names and paths, each shortened to a readable length.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

use crate::check::validate::fault::PathSegment;

/// The number of characters of a value or a name that are displayed.
const MAX_CHARS: usize = 60;

/// Shortens a text to `most` characters, with an ellipsis.
pub(in crate::check) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Shortens a text from a schema and replaces line breaks.
pub(in crate::check) fn single_line(text: &str, max: usize) -> String {
    clip(text, max).replace(char::is_control, " ")
}

/// Writes a text as a JSON string.
pub(in crate::check) fn quoted(text: &str) -> String {
    Value::from(clip(text, MAX_CHARS)).to_string()
}

/// Writes a value as JSON.
pub(in crate::check) fn literal(value: &Value) -> String {
    if let Value::String(text) = value
        && text.len() > MAX_CHARS
    {
        return quoted(text);
    }
    // Characters take up to four bytes. A full writer ends the output.
    let mut writer = LimitedWriter(Vec::new(), 4 * MAX_CHARS + 4);
    let _cut = serde_json::to_writer(&mut writer, value);
    clip(&String::from_utf8_lossy(&writer.0), MAX_CHARS + 2)
}

struct LimitedWriter(Vec<u8>, usize);

impl io::Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.1 - self.0.len());
        self.0.extend(bytes.iter().take(fits));
        // Zero once full, which `write_all` reports as an error.
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a value with its type.
pub(in crate::check) fn with_type(value: &Value) -> String {
    let kind = match value {
        Value::Null | Value::Bool(_) => return literal(value),
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("the {kind} {}", literal(value))
}

/// Writes the name of a member in backticks.
pub(in crate::check) fn name(name: &str) -> String {
    format!("`{}`", single_line(name, MAX_CHARS))
}

/// Writes a path such as `stops[2].city`. A name that is not an identifier is quoted: `prices["odd
/// key"]`.
#[doc(hidden)]
pub fn path(segments: &[PathSegment<'_>]) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            PathSegment::Index(at) => {
                // Writing to a String can't fail.
                let _ = write!(path, "[{at}]");
            }
            PathSegment::Key(key) if is_identifier(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            PathSegment::Key(key) => {
                let _ = write!(path, "[{}]", quoted(key));
            }
        }
    }
    path
}

/// Returns the path of a missing member.
pub(in crate::check) fn path_to(segments: &[PathSegment<'_>], name: &str) -> String {
    let segments: Vec<_> = segments.iter().copied().chain([PathSegment::Key(name)]).collect();
    path(&segments)
}

fn is_identifier(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= MAX_CHARS
        && !key.starts_with(|first: char| first.is_numeric())
        && key.chars().all(|each| each.is_alphanumeric() || each == '_')
}

/// Returns the known spelling that `word` probably stands for: one that differs in case and
/// separators only, or in up to two typing errors in a longer word.
pub(in crate::check) fn nearest<'k>(
    word: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<&'k str> {
    const COMPARED: usize = 500;
    if word.len() > MAX_CHARS {
        return None;
    }
    let normalized = normalized(word);
    let allowed = normalized.chars().count() / 3;
    known
        .take(COMPARED)
        .filter(|known| known.len() <= MAX_CHARS)
        .map(|known| (strsim::damerau_levenshtein(&normalized, &self::normalized(known)), known))
        .filter(|(distance, known)| *distance <= allowed.min(2) && *known != word)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Normalizes case and separators.
fn normalized(word: &str) -> String {
    word.chars()
        .filter(|each| !matches!(each, '_' | '-' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{PathSegment, literal, nearest, path, with_type};
    use serde_json::json;

    #[test]
    fn values_are_shortened_between_characters() {
        assert_eq!(literal(&json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
        assert_eq!(literal(&json!("ü\n\"")), r#""ü\n\"""#);
        let long = literal(&json!("ü".repeat(1_000_000)));
        assert_eq!(long, format!("\"{}…\"", "ü".repeat(60)));
        let list = literal(&json!(vec!["😀"; 1_000]));
        assert!(list.ends_with('…') && list.chars().count() == 63, "{list}");
        assert!(!list.contains('\u{fffd}'));
        assert_eq!(with_type(&json!(true)), "true");
        assert_eq!(with_type(&json!([1])), "the array [1]");
    }

    #[test]
    fn path_quotes_names_that_are_no_identifiers() {
        let key = "k".repeat(100);
        for (segments, written) in [
            (vec![], ""),
            (
                vec![PathSegment::Key("stops"), PathSegment::Index(2), PathSegment::Key("city")],
                "stops[2].city",
            ),
            (vec![PathSegment::Index(0)], "[0]"),
            (vec![PathSegment::Key("odd key"), PathSegment::Key("a")], "[\"odd key\"].a"),
            (vec![PathSegment::Key("größe"), PathSegment::Key("1st")], "größe[\"1st\"]"),
            (vec![PathSegment::Key("")], "[\"\"]"),
            (vec![PathSegment::Key(&key)], &format!("[\"{}…\"]", "k".repeat(60))),
        ] {
            assert_eq!(path(&segments), written);
        }
    }

    #[test]
    fn only_similar_words_are_suggested() {
        for (word, nearest_word) in [
            ("citty", Some("city")),
            ("City", Some("city")),
            ("max-days", Some("max_days")),
            ("maxDays", Some("max_days")),
            ("town", None),
            ("x", None),
            ("", None),
        ] {
            let known = ["city", "max_days", "unit"];
            assert_eq!(nearest(word, known.into_iter()), nearest_word, "{word}");
        }
    }
}
