//! Schemas of megabytes. Work that grows with the product of schema and text would take minutes.

use serde_json::{Map, Value, json};

use crate::{FixKind, parse_as};

const SCHEMA: usize = 70_000;
const ITEMS: usize = 3_000;

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

/// Reads a list of this item.
fn assert_list_is_read(items: &Value, item: &str) {
    let text = format!("[{}]", vec![item; ITEMS].join(", "));
    let result = parse_as(&text, &list_of(items));
    let length = result.map(|parsed| parsed.value.as_array().map(Vec::len));
    assert!(matches!(length, Ok(Some(ITEMS)) | Err(_)), "{item}: {length:?}");
}

#[test]
fn large_object_is_read_in_bounded_time() {
    assert_list_is_read(&closed(SCHEMA), r#"{"Name-7": "1"}"#);
}

#[test]
fn text_with_faults_is_read_for_a_large_object_in_bounded_time() {
    let schema = closed(SCHEMA);
    for item in ["{Name-7: 1}", r#"{"a": "b "Name-7": c"}"#] {
        assert_list_is_read(&schema, item);
    }
}

#[test]
fn large_enum_is_read_in_bounded_time() {
    let listed: Vec<_> = names(SCHEMA).collect();
    assert_list_is_read(&json!({"enum": listed}), r#""NAME_7 ""#);
    assert_list_is_read(&json!({"type": "string", "enum": listed}), "7");
}

fn branches() -> Vec<Value> {
    let branch = |at| {
        json!({"type": "object", "properties": {"kind": {"const": format!("k{at}")}},
        "required": ["kind"]})
    };
    (0..SCHEMA / 4).map(branch).collect()
}

#[test]
fn many_branches_are_read_in_bounded_time() {
    assert_list_is_read(&json!({"anyOf": branches()}), r#"{"kind": "K7"}"#);
}

#[test]
fn text_with_faults_is_read_for_many_branches_in_bounded_time() {
    assert_list_is_read(&json!({"anyOf": branches()}), "{Kind: k7}");
}

#[test]
fn many_exclusive_branches_are_read_in_bounded_time() {
    assert_list_is_read(&json!({"oneOf": branches(), "type": "object"}), r#"{"kind": 7}"#);
}

#[test]
fn many_parts_and_required_members_are_read_in_bounded_time() {
    let part = json!({"properties": {"a": {"type": "integer"}}});
    assert_list_is_read(&json!({"allOf": vec![part; SCHEMA]}), r#"{"a": "7"}"#);
    let listed: Vec<_> = names(SCHEMA).collect();
    assert_list_is_read(&json!({"type": "object", "required": listed}), r#"{"a": null}"#);
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
