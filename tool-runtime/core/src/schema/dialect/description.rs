//! Rules in descriptions, for keywords that a dialect lacks.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Appends rules to a description: `How many. (minimum: 1, maximum: 7)`.
pub(super) fn with_rules(description: Option<&str>, rules: &Map<String, Value>) -> Option<String> {
    let mut words = description.unwrap_or_default().trim().to_owned();
    for (at, (keyword, value)) in rules.iter().enumerate() {
        // Writing to a String can't fail.
        let _ = match (at, words.is_empty()) {
            (0, true) => write!(words, "({keyword}: {value}"),
            (0, false) => write!(words, " ({keyword}: {value}"),
            _ => write!(words, ", {keyword}: {value}"),
        };
    }
    if !rules.is_empty() {
        words.push(')');
    }
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::with_rules;

    #[test]
    fn rules_are_appended_to_the_description() {
        let rules = |rules| serde_json::from_value::<Map<_, _>>(rules).unwrap();
        let single = rules(json!({ "minimum": 1 }));
        let two = rules(json!({ "maxLength": 3, "pattern": "^a" }));
        assert_eq!(with_rules(None, &Map::new()), None);
        assert_eq!(with_rules(Some("Days."), &Map::new()).as_deref(), Some("Days."));
        assert_eq!(with_rules(Some("Days."), &single).as_deref(), Some("Days. (minimum: 1)"));
        let description = with_rules(None, &two);
        assert_eq!(description.as_deref(), Some(r#"(maxLength: 3, pattern: "^a")"#));
    }
}
