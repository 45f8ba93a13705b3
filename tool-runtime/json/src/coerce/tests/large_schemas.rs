//! Schemas of megabytes. Work that grows with the product of schema and text would take minutes.

use serde_json::{Map, Value, json};

use crate::{FixKind, parse_as};

const SCHEMA: usize = 100_000;
const ITEMS: usize = 2_000;

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|at| format!("name_{at}"))
}

fn properties(count: usize) -> Value {
    names(count).map(|name| (name, json!({"type": "integer"}))).collect::<Map<_, _>>().into()
}

fn closed(count: usize) -> Value {
    json!({"type": "object", "properties": properties(count), "additionalProperties": false})
}

fn list_of(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

#[test]
fn large_schemas_are_read_in_bounded_time() {
    let branch = |at| {
        json!({"type": "object", "properties": {"kind": {"const": format!("k{at}")}},
        "required": ["kind"]})
    };
    let branches: Vec<_> = (0..SCHEMA / 4).map(branch).collect();
    let listed: Vec<_> = names(SCHEMA).collect();
    let part = json!({"properties": {"a": {"type": "integer"}}});
    for (subject, schema, item) in [
        ("misspelled keys", list_of(&closed(SCHEMA)), r#"{"Name-7": "1"}"#),
        ("listed values", list_of(&json!({"enum": listed})), r#""NAME_7 ""#),
        ("listed texts", list_of(&json!({"type": "string", "enum": listed})), "7"),
        ("branches", list_of(&json!({"anyOf": branches})), r#"{"kind": "K7"}"#),
        ("one of", list_of(&json!({"oneOf": branches, "type": "object"})), r#"{"kind": 7}"#),
        ("parts", list_of(&json!({"allOf": vec![part; SCHEMA]})), r#"{"a": "7"}"#),
        ("required", list_of(&json!({"type": "object", "required": listed})), r#"{"a": null}"#),
        ("keys without quotes", list_of(&closed(SCHEMA)), "{Name-7: 1}"),
        ("quotes in texts", list_of(&closed(SCHEMA)), r#"{"a": "b "Name-7": c"}"#),
        ("keys of branches", list_of(&json!({"anyOf": branches})), "{Kind: k7}"),
    ] {
        let text = format!("[{}]", vec![item; ITEMS].join(", "));
        let result = parse_as(&text, &schema);
        let length = result.map(|parsed| parsed.value.as_array().map(Vec::len));
        assert!(matches!(length, Ok(Some(ITEMS)) | Err(_)), "{subject}: {length:?}");
    }
}

#[test]
fn object_with_all_of_many_required_members_is_read() {
    let count = 20_000;
    let members: Vec<_> = names(count).map(|name| format!("\"{name}\": \"1\"")).collect();
    let schema = json!({"type": "object", "properties": properties(count),
        "required": names(count).collect::<Vec<_>>(), "additionalProperties": false});
    let parsed = parse_as(&format!("{{{}}}", members.join(", ")), &schema).unwrap();
    assert_eq!(parsed.fixes.len(), count);
    assert!(parsed.value.as_object().unwrap().values().all(|value| *value == 1));
}

/// Schemas that programs write are read completely.
#[test]
fn schema_with_hundreds_of_names_is_used_completely() {
    let listed: Vec<_> = names(500).collect();
    let mut schema = closed(500);
    schema["properties"]["choice"] = json!({"enum": listed});
    let text = r#"[{"Name-7": "1", "choice": "NAME_8"}, {"name-499": "2", "Choice": "Name_499"}]"#;
    let parsed = parse_as(text, &list_of(&schema)).unwrap();
    let expected =
        json!([{"name_7": 1, "choice": "name_8"}, {"name_499": 2, "choice": "name_499"}]);
    assert_eq!(parsed.value, expected);
    let kinds: Vec<_> = parsed.fixes.iter().map(|fix| fix.kind).collect();
    let count = |kind| kinds.iter().filter(|each| **each == kind).count();
    assert_eq!([FixKind::KeyCase, FixKind::EnumCase, FixKind::Unquoted].map(count), [3, 2, 2]);
}
