//! Members that came twice: one reader takes the first, another the last, so what is looked at need
//! not be what runs.

use serde_json::Value;

/// Whether the text of this value has members that the value lost to others of their name.
pub(super) fn has_repeated(json: &str, value: &Value) -> bool {
    written(json) > members(value)
}

/// How many members sound JSON has: each has one colon that stands in no string.
fn written(json: &str) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b':' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(own) => own.len() + own.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::has_repeated;

    #[test]
    fn only_what_came_twice_is_repeated() {
        for (json, expected) in [
            (r#"{}"#, false),
            (r#"{"a": 1, "b": {"a": ":"}}"#, false),
            (r#"{"a\":": "\\", "b": ["::", {"c": null}]}"#, false),
            (r#"{"a": 1, "a": 1}"#, true),
            (r#"{"a": 1, "\u0061": 2}"#, true),
            (r#"{"a": [{"b": 1, "b": ":\""}]}"#, true),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(has_repeated(json, &value), expected, "{json}");
        }
    }
}
