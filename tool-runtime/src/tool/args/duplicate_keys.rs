//! Detects duplicate keys. Parsers disagree on which of them counts, so what is approved could
//! differ from what runs.

use serde_json::Value;

/// Whether the text of this value contains duplicate keys.
pub(super) fn has_duplicate_keys(json: &str, value: &Value) -> bool {
    key_count(json) > member_count(value)
}

/// Counts the keys in valid JSON: each has one colon outside of strings.
fn key_count(json: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            b':' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

fn member_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(member_count).sum(),
        Value::Object(members) => members.len() + members.values().map(member_count).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::has_duplicate_keys;

    #[test]
    fn only_equal_keys_of_one_object_are_duplicates() {
        for (json, expected) in [
            (r#"{}"#, false),
            (r#"{"a": 1, "b": {"a": ":"}}"#, false),
            (r#"{"a\":": "\\", "b": ["::", {"c": null}]}"#, false),
            (r#"{"a": 1, "a": 1}"#, true),
            (r#"{"a": 1, "\u0061": 2}"#, true),
            (r#"{"a": [{"b": 1, "b": ":\""}]}"#, true),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(has_duplicate_keys(json, &value), expected, "{json}");
        }
    }
}
