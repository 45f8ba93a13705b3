//! Moves a schema into another document: its references have to follow.

use serde_json::Value;

/// Rewrites the references of a schema for a document in which it is located at `place`
/// (`/$defs/X`, …).
pub(crate) fn rebase(schema: &Value, pointer: &str) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let moved = keywords.iter().map(|(keyword, value)| {
        let value = match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) => match reference.strip_prefix('#') {
                Some(rest) => format!("#{pointer}{rest}").into(),
                None => value.clone(),
            },
            // Values, not schemas.
            ("const" | "enum" | "default" | "examples", _) => value.clone(),
            (keyword, Value::Object(named)) if SCHEMA_MAP_KEYWORDS.contains(&keyword) => {
                let moved =
                    named.iter().map(|(name, schema)| (name.clone(), rebase(schema, pointer)));
                Value::Object(moved.collect())
            }
            (_, Value::Array(items)) => items.iter().map(|item| rebase(item, pointer)).collect(),
            _ => rebase(value, pointer),
        };
        (keyword.clone(), value)
    });
    Value::Object(moved.collect())
}

/// Keywords whose members are schemas under arbitrary names.
const SCHEMA_MAP_KEYWORDS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

#[cfg(test)]
mod tests {
    use super::rebase;
    use crate::json::__private::resolve;
    use serde_json::json;

    #[test]
    fn rebased_references_resolve() {
        let schema = json!({
            "properties": { "next": { "$ref": "#" }, "$ref": { "$ref": "#/$defs/A" }, "enum": { "$ref": "#/$defs/A" } },
            "items": [{ "anyOf": [{ "$ref": "other#/A" }] }],
            "default": { "$ref": "#" },
            "$defs": { "A": { "type": "string" } },
        });
        let root = json!({ "$defs": { "a/b": rebase(&schema, "/$defs/a~1b") } });
        let moved = &root["$defs"]["a/b"];
        let resolved = |reference: &serde_json::Value| resolve(&root, reference.as_str().unwrap());
        assert_eq!(resolved(&moved["properties"]["next"]["$ref"]), Some(moved));
        for name in ["$ref", "enum"] {
            let reference = &moved["properties"][name]["$ref"];
            assert_eq!(resolved(reference), Some(&json!({ "type": "string" })), "{name}");
        }
        assert_eq!(moved["items"][0]["anyOf"][0]["$ref"], "other#/A");
        assert_eq!(moved["default"]["$ref"], "#");
    }
}
