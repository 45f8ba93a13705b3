//! What came, in words: values, names and paths, each cut to a readable length.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

use super::fault::Step;

/// Characters of a value or a name that are shown.
const SHOWN: usize = 60;

/// At most `most` characters, with a sign that there were more.
pub(super) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The same on one line, for text from a schema.
pub(super) fn line(text: &str, most: usize) -> String {
    clip(text, most).replace(char::is_control, " ")
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(clip(text, SHOWN)).to_string()
}

/// The value as JSON.
pub(super) fn literal(value: &Value) -> String {
    if let Value::String(text) = value
        && text.len() > SHOWN
    {
        return quoted(text);
    }
    // Room for characters of four bytes; a writer that is full ends the printing.
    let mut room = Room(Vec::new(), 4 * SHOWN + 4);
    let _cut = serde_json::to_writer(&mut room, value);
    clip(&String::from_utf8_lossy(&room.0), SHOWN + 2)
}

struct Room(Vec<u8>, usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.1 - self.0.len());
        self.0.extend(bytes.iter().take(fits));
        // Zero once full, which `write_all` takes for an error.
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The value with its type.
pub(super) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null | Value::Bool(_) => return literal(value),
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("the {kind} {}", literal(value))
}

/// A member's name, as the model would write it.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", line(name, SHOWN))
}

/// `stops[2].city`; a name that is no plain identifier is quoted: `prices["odd key"]`.
pub(crate) fn path(steps: &[Step<'_>]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Index(at) => {
                // Writing to a String can't fail.
                let _ = write!(path, "[{at}]");
            }
            Step::Key(key) if is_plain(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Key(key) => {
                let _ = write!(path, "[{}]", quoted(key));
            }
        }
    }
    path
}

/// The path of a member that isn't there.
pub(super) fn path_to(steps: &[Step<'_>], name: &str) -> String {
    let steps: Vec<_> = steps.iter().copied().chain([Step::Key(name)]).collect();
    path(&steps)
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= SHOWN
        && !key.starts_with(|first: char| first.is_numeric())
        && key.chars().all(|each| each.is_alphanumeric() || each == '_')
}

/// The known spelling that `word` is likely meant to be: the same but for case and separators, or
/// one or two slips in longer words.
pub(super) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    const COMPARED: usize = 500;
    if word.len() > SHOWN {
        return None;
    }
    let bare = bare(word);
    let allowed = bare.chars().count() / 3;
    known
        .take(COMPARED)
        .filter(|known| known.len() <= SHOWN)
        .map(|known| (strsim::damerau_levenshtein(&bare, &self::bare(known)), known))
        .filter(|(distance, known)| *distance <= allowed.min(2) && *known != word)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Without case and separators.
fn bare(word: &str) -> String {
    word.chars()
        .filter(|each| !matches!(each, '_' | '-' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Step, literal, nearest, path, typed};
    use serde_json::json;

    #[test]
    fn values_are_cut_between_characters() {
        assert_eq!(literal(&json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
        assert_eq!(literal(&json!("ü\n\"")), r#""ü\n\"""#);
        let long = literal(&json!("ü".repeat(1_000_000)));
        assert_eq!(long, format!("\"{}…\"", "ü".repeat(60)));
        let list = literal(&json!(vec!["😀"; 1_000]));
        assert!(list.ends_with('…') && list.chars().count() == 63, "{list}");
        assert!(!list.contains('\u{fffd}'));
        assert_eq!(typed(&json!(true)), "true");
        assert_eq!(typed(&json!([1])), "the array [1]");
    }

    #[test]
    fn paths_quote_what_is_no_identifier() {
        let key = "k".repeat(100);
        for (steps, written) in [
            (vec![], ""),
            (vec![Step::Key("stops"), Step::Index(2), Step::Key("city")], "stops[2].city"),
            (vec![Step::Index(0)], "[0]"),
            (vec![Step::Key("odd key"), Step::Key("a")], "[\"odd key\"].a"),
            (vec![Step::Key("größe"), Step::Key("1st")], "größe[\"1st\"]"),
            (vec![Step::Key("")], "[\"\"]"),
            (vec![Step::Key(&key)], &format!("[\"{}…\"]", "k".repeat(60))),
        ] {
            assert_eq!(path(&steps), written);
        }
    }

    #[test]
    fn only_near_words_are_suggested() {
        for (word, near) in [
            ("citty", Some("city")),
            ("City", Some("city")),
            ("max-days", Some("max_days")),
            ("maxDays", Some("max_days")),
            ("town", None),
            ("x", None),
            ("", None),
        ] {
            let known = ["city", "max_days", "unit"];
            assert_eq!(nearest(word, known.into_iter()), near, "{word}");
        }
    }
}
