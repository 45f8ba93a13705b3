//! What a provider doesn't take as a keyword, in words.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A description with what else is to be told: `How many. (minimum: 1, maximum: 7)`.
pub(super) fn described(description: Option<&str>, told: &Map<String, Value>) -> Option<String> {
    let mut words = description.unwrap_or_default().trim().to_owned();
    for (at, (keyword, value)) in told.iter().enumerate() {
        // Writing to a String can't fail.
        let _ = match (at, words.is_empty()) {
            (0, true) => write!(words, "({keyword}: {value}"),
            (0, false) => write!(words, " ({keyword}: {value}"),
            _ => write!(words, ", {keyword}: {value}"),
        };
    }
    if !told.is_empty() {
        words.push(')');
    }
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::described;

    #[test]
    fn what_is_told_stands_behind_what_was_said() {
        let told = |told| serde_json::from_value::<Map<_, _>>(told).unwrap();
        let one = told(json!({ "minimum": 1 }));
        let two = told(json!({ "maxLength": 3, "pattern": "^a" }));
        assert_eq!(described(None, &Map::new()), None);
        assert_eq!(described(Some("Days."), &Map::new()).as_deref(), Some("Days."));
        assert_eq!(described(Some("Days."), &one).as_deref(), Some("Days. (minimum: 1)"));
        let both = described(None, &two);
        assert_eq!(both.as_deref(), Some(r#"(maxLength: 3, pattern: "^a")"#));
    }
}
