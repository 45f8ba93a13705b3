//! Text that stands for a value, typed by the schema of the tool.

use serde_json::Value;

/// References within references.
const DEEPEST: usize = 8;

/// The value of the argument `key` that `text` spells, as JSON. A text stays a text where the schema
/// allows one; where it knows of no such argument, JSON that is no string is taken for what it is.
pub(super) fn typed(schema: &Value, key: &str, text: &str) -> String {
    let property = schema.get("properties").and_then(|members| members.get(key));
    let words = text.trim();
    let allows_text = property.is_some_and(|property| allows_text(schema, property, DEEPEST));
    let is_json = || {
        words.starts_with(['{', '[', '(', '-'])
            || words.starts_with(|c: char| c.is_ascii_digit())
            || ["true", "false", "null", "True", "False", "None"].contains(&words)
    };
    let is_null = property.is_some() && words == "null" && !allows_only_text(property);
    if !allows_text && is_json() || is_null {
        let is_sound = property.is_some() || serde_json::from_str::<Value>(words).is_ok();
        if is_sound {
            return words.to_owned();
        }
    }
    // A string in quotes, where no string was wanted, is for the repair to decode.
    Value::from(text).to_string()
}

fn allows_only_text(property: Option<&Value>) -> bool {
    property.and_then(|property| property.get("type")) == Some(&Value::from("string"))
}

fn allows_text(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    if schema == &Value::Bool(true) {
        return false;
    }
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
    if let Some(target) = target.and_then(|target| root.pointer(target)) {
        return allows_text(root, target, depth);
    }
    let is_text = |value: &Value| value == "string";
    if let Some(kind) = schema.get("type") {
        return is_text(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_text));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices.iter().any(Value::is_string);
    }
    if let Some(only) = schema.get("const") {
        return only.is_string();
    }
    let branches =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array());
    branches.flatten().any(|branch| allows_text(root, branch, depth))
}

#[cfg(test)]
mod tests {
    use super::typed;
    use serde_json::json;

    #[test]
    fn the_schema_decides_what_a_text_is() {
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
        ] {
            assert_eq!(typed(&schema, key, text), json, "{key} {text}");
        }
    }
}
