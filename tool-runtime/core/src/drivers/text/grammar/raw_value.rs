//! Conversion of plain text to a JSON value, by the schema of the tool.

use serde_json::Value;

use crate::json::__private::is_placeholder_for;

/// The nesting limit of references.
const MAX_DEPTH: usize = 8;

/// Returns `text` as the JSON value of the argument `key`. Text stays a string if the schema allows
/// one. If the schema has no such argument, valid JSON other than a string is taken as JSON.
pub(crate) fn raw_to_json(schema: &Value, key: &str, text: &str) -> String {
    let property = schema.get("properties").and_then(|members| members.get(key));
    let trimmed = text.trim();
    if is_placeholder_for(trimmed, key) {
        // Without quotes, the tool refuses it.
        return trimmed.to_owned();
    }
    let allows_string = property.is_some_and(|property| allows_string(schema, property, MAX_DEPTH));
    let is_json = || {
        trimmed.starts_with(['{', '[', '(', '-'])
            || trimmed.starts_with(|c: char| c.is_ascii_digit())
            || ["true", "false", "null", "True", "False", "None"].contains(&trimmed)
    };
    let is_null = property.is_some() && trimmed == "null" && !allows_only_string(property);
    if !allows_string && is_json() || is_null {
        let is_valid = property.is_some() || serde_json::from_str::<Value>(trimmed).is_ok();
        if is_valid {
            return trimmed.to_owned();
        }
    }
    // A quoted string, if the schema allows none, is decoded by the repair.
    Value::from(text).to_string()
}

fn allows_only_string(property: Option<&Value>) -> bool {
    property.and_then(|property| property.get("type")) == Some(&Value::from("string"))
}

fn allows_string(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    if schema == &Value::Bool(true) {
        return false;
    }
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
    if let Some(target) = target.and_then(|target| root.pointer(target)) {
        return allows_string(root, target, depth);
    }
    let is_string = |value: &Value| value == "string";
    if let Some(kind) = schema.get("type") {
        return is_string(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_string));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices.iter().any(Value::is_string);
    }
    if let Some(only) = schema.get("const") {
        return only.is_string();
    }
    let branches =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array());
    branches.flatten().any(|branch| allows_string(root, branch, depth))
}

#[cfg(test)]
mod tests {
    use super::raw_to_json;
    use serde_json::json;

    #[test]
    fn schema_decides_type_of_raw_text() {
        let schema = json!({
            "properties": {
                "text": {"type": "string"},
                "maybe": {"type": ["string", "null"]},
                "count": {"type": "integer"},
                "tags": {"type": "array"},
                "unit": {"$ref": "#/$defs/unit"},
                "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "$defs": {"unit": {"enum": ["c", "f"]}},
        });
        for (key, text, json) in [
            ("text", "7", "\"7\""),
            ("text", "null", "\"null\""),
            ("maybe", "null", "null"),
            ("text", "a\"b\n", "\"a\\\"b\\n\""),
            ("count", " 7 ", "7"),
            ("count", "seven", "\"seven\""),
            ("tags", "[\"a\"]", "[\"a\"]"),
            ("tags", "['a', True]", "['a', True]"),
            ("unit", "c", "\"c\""),
            ("either", "null", "null"),
            ("other", "7", "7"),
            ("other", "[7", "\"[7\""),
            ("other", "x", "\"x\""),
            ("text", "<text>", "<text>"),
            ("text", " [your text here]\n", "[your text here]"),
            ("text", "...", "..."),
            ("text", "<b>", "\"<b>\""),
            ("text", "[x]", "\"[x]\""),
        ] {
            assert_eq!(raw_to_json(&schema, key, text), json, "{key} {text}");
        }
    }
}
