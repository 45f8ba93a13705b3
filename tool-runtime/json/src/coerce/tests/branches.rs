//! References and branches, and the bounds on following them.

use serde_json::json;

use super::{changed, member_changed, member_unchanged, read, unchanged};
use crate::{
    FixKind::*,
    coerce::{Coerced, coerce},
    tree::parse_valid_tree,
};

#[test]
fn coercion_follows_references_and_branches() {
    let tree = json!({
        "$ref": "#/$defs/Tree",
        "$defs": {"Tree": {"type": "object", "properties": {
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "next": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
            "all": {"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]},
        }}},
    });
    changed(
        &tree,
        &[(
            r#"{"size":"1","next":{"Size":"2","next":{"all":"3","next":null}}}"#,
            r#"{"size":1,"next":{"size":2,"next":{"all":3,"next":null}}}"#,
            &[Unquoted, KeyCase, Unquoted, Unquoted],
        )],
    );
    unchanged(&tree, &[r#"{"next":{"size":"two"}}"#]);

    let shapes = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        {"type": "object", "properties": {"kind": {"const": "text"}, "radius": {"type": "string"}}, "required": ["kind", "radius"]},
    ]});
    member_changed(
        &shapes,
        &[
            (r#"{"kind":"circle","radius":"2"}"#, r#"{"kind":"circle","radius":2}"#, &[Unquoted]),
            (
                r#"{"kind":"Square","Side":2}"#,
                r#"{"kind":"square","side":2}"#,
                &[EnumCase, KeyCase],
            ),
        ],
    );
    member_unchanged(
        &shapes,
        &[r#"{"kind":"text","radius":"2"}"#, r#"{"kind":"cube","side":"2"}"#],
    );
    changed(
        &shapes,
        &[(r#"{"kind":"circle","radius":"2"}"#, r#"{"kind":"circle","radius":2}"#, &[Unquoted])],
    );

    // Two branches give two values: neither is chosen.
    let either = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]});
    member_unchanged(&either, &[r#""7""#, r#""true""#]);
    let numbers = json!({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]});
    member_changed(&numbers, &[(r#""7""#, "7", &[Unquoted])]);
    member_unchanged(&numbers, &["7.5", "7.0"]);
    let one_or_more =
        json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "integer"}]});
    member_changed(&one_or_more, &[(r#"["7"]"#, "[7]", &[Unquoted])]);
    // A schema that only refers to itself declares nothing.
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"allOf": [{"$ref": "#"}]}),
    ] {
        unchanged(&schema, &[r#"{"a":"1"}"#, "\"1\"", "[1]"]);
    }
}

#[test]
fn nested_branches_are_bounded() {
    // Without a bound, the work doubles at each level.
    let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "c": {"type": "integer"}}},
        {"type": "array", "items": {"$ref": "#/$defs/A"}},
    ]}}});
    for unit in [r#"{"a":"#, "[", r#"{"c":"1","a":"#] {
        for depth in [5, 60, 126] {
            let close = if unit == "[" { "]" } else { "}" };
            let text = unit.repeat(depth) + "\"x\"" + &close.repeat(depth);
            unchanged(&schema, &[&text]);
        }
    }
}

#[test]
fn discriminated_branches_do_not_multiply_work() {
    let branch = |kind: &str| {
        json!({"type": "object", "required": ["kind", "of"], "properties": {
            "kind": {"const": kind}, "of": {"$ref": "#"}, "n": {"type": "integer"},
        }})
    };
    let kinds = ["not", "neg", "abs", "sin", "cos"];
    let mut branches: Vec<_> = kinds.into_iter().map(branch).collect();
    branches.push(json!({"type": "integer"}));
    let schema = json!({"oneOf": branches});
    for depth in [1, 10, 60] {
        let text = r#"{"Kind":"abs","n":"2","of":"#.repeat(depth) + "\"1\"" + &"}".repeat(depth);
        let expected = text.replace("Kind", "kind").replace("\"2\"", "2").replace("\"1\"", "1");
        let (json, fixes) = read(&text, &schema);
        assert_eq!(json, expected);
        assert_eq!(fixes.len(), 2 * depth + 1);
    }
}

/// Values may be nested as deep as this; the walk must end before the stack overflows.
#[test]
fn coercion_stops_at_maximum_depth() {
    let schema = json!({"anyOf": [
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
        {"type": "integer"},
    ]});
    for depth in [5, 100, 512] {
        let text = "[".repeat(depth) + "\"1\"" + &"]".repeat(depth);
        let node = parse_valid_tree(&text, 0).unwrap();
        let Coerced { node: coerced, fixes, .. } =
            coerce(node, &schema, text.len(), &mut |_, _, _| None);
        assert_eq!(fixes.is_empty(), coerced.to_json() == text, "{depth}");
        assert_eq!(fixes.is_empty(), depth > 5, "{depth}");
    }
}

#[test]
fn value_equal_to_listed_value_is_unchanged() {
    for (listed, text) in [
        (json!(1), "1.0"),
        (json!([1]), "[1.0]"),
        (json!([1.0]), "[1]"),
        (json!([[1], {"a": 2}]), r#"[[1.0],{"a":2.0}]"#),
        (json!({"a": [1], "b": 2}), r#"{"b":2.0,"a":[1.0]}"#),
    ] {
        for schema in [json!({"enum": [listed]}), json!({"const": listed})] {
            unchanged(&schema, &[text]);
            // A branch for strings would take the value otherwise.
            unchanged(&json!({"anyOf": [{"type": "string"}, schema]}), &[text]);
            unchanged(&json!({"anyOf": [{"type": "array"}, schema]}), &[text]);
        }
    }
    // Digits are not lost: 2^53 + 1 is no equal of 2^53.
    let list = json!({"anyOf": [{"type": "integer"}, {"enum": [[9_007_199_254_740_992_u64]]}]});
    changed(&list, &[("[9007199254740993]", "9007199254740993", &[OutOfArray])]);
}

#[test]
fn integral_number_becomes_an_integer_where_a_text_is_allowed_as_well() {
    let integer = json!({"type": "integer"});
    let text = json!({"type": "string"});
    let short = json!({"type": "string", "maxLength": 1});
    for schema in [
        json!({"type": ["integer", "string"]}),
        json!({"anyOf": [integer, text]}),
        json!({"oneOf": [text, integer, short]}),
        json!({"anyOf": [{"oneOf": [text, integer, short]}, text]}),
        json!({"anyOf": [text, {"anyOf": [text, {"oneOf": [short, integer]}]}]}),
    ] {
        for (number, expected) in [("5.0", "5"), ("5e9", "5000000000"), ("-1.50e1", "-15")] {
            changed(&schema, &[(number, expected, &[IntegralNumber])]);
        }
        unchanged(&schema, &["5", r#""5.0""#]);
    }
}
