//! Tests with schemas and values that are made to hang or crash the validator.

use serde_json::{Map, Value, json};

use super::MismatchKind;
use super::check;

/// Nests `value` `times` times without the copies of `json!`. It is leaked, because dropping it
/// would overflow the stack.
fn nest(mut value: Value, times: usize, wrap: impl Fn(Value) -> Value) -> &'static Value {
    for _ in 0..times {
        value = wrap(value);
    }
    Box::leak(Box::new(value))
}

fn under(key: &str) -> impl Fn(Value) -> Value {
    move |inner| Value::Object(Map::from_iter([(key.to_owned(), inner)]))
}

fn is_unchecked(schema: &Value, value: &Value) -> bool {
    let kinds: Vec<_> = check(value, schema).into_iter().map(|each| each.kind).collect();
    kinds == [MismatchKind::Unchecked]
}

/// A reference that leads back to itself adds no rule.
#[test]
fn circular_references_terminate() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"$ref": "#"}], "unevaluatedProperties": false, "properties": {"a": {}}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"oneOf": [{"$ref": "#"}, {"type": "null"}]}),
        json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"}}),
    ] {
        assert_eq!(check(&json!({"a": 1}), &schema), [], "{schema}");
    }
    let schema = json!({"not": {"$ref": "#"}});
    let _either_answer = check(&json!(1), &schema);
}

#[test]
fn deep_schemas_and_values_terminate() {
    let deep = 10_000;
    for key in ["not", "if", "propertyNames", "items", "additionalProperties", "contains"] {
        let schema = nest(json!(true), deep, under(key));
        let _any_answer = check(&json!({"a": [[1]]}), schema);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let list = |inner| under(key)(Value::Array(vec![inner]));
        assert!(is_unchecked(nest(json!(true), deep, list), &json!(1)), "{key}");
    }
    let value = nest(json!(1), 5_000, |inner| Value::Array(vec![inner]));
    assert!(is_unchecked(&json!({"items": {"$ref": "#"}}), value));
}

/// A value of the parser's maximal depth is checked completely, with three schemas for each level.
#[test]
fn a_value_of_depth_128_is_checked() {
    let schema = json!({
        "$defs": {"Tree": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}},
            "additionalProperties": false,
        }},
        "$ref": "#/$defs/Tree",
    });
    assert_eq!(check(nest(json!({}), 127, under("next")), &schema), []);
    let wrong = check(nest(json!({"nxt": 1}), 127, under("next")), &schema);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].path.ends_with("next.nxt"), "{}", wrong[0]);
}

/// Each level refers to the next one twice: 2^64 validations without fuel.
#[test]
fn doubling_references_terminate() {
    for key in ["allOf", "anyOf", "oneOf"] {
        let mut definitions = Map::new();
        for level in 0..64 {
            let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
            let schema = under(key)(json!([next, next]));
            definitions.insert(level.to_string(), schema);
        }
        definitions.insert("64".to_owned(), json!({"type": "string"}));
        let schema =
            json!({"$ref": "#/$defs/0", "$defs": definitions, "unevaluatedProperties": false});
        let _any_answer = check(&json!({"a": 1}), &schema);
        if key != "anyOf" {
            assert!(!check(&json!("a"), &schema).is_empty(), "{key}");
        }
    }
}

/// A union of shapes with the same members and a tag is checked in linear time.
#[test]
fn a_deep_tagged_union_is_checked() {
    let branch = |kind| {
        json!({
            "properties": {"kind": {"const": kind}, "left": {"$ref": "#"}, "right": {"$ref": "#"}},
            "required": ["kind"],
        })
    };
    let kinds = ["add", "sub", "mul", "div", "neg"];
    let schema = json!({"oneOf": kinds.map(branch)});
    let leaf = json!({"kind": "neg"});
    let value = nest(leaf.clone(), 100, |inner| {
        let members = [("kind", json!("div")), ("left", leaf.clone()), ("right", inner)];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    });
    assert_eq!(check(value, &schema), []);
    let wrong = nest(json!({"kind": "pow"}), 100, |inner| {
        let members = [("kind", json!("add")), ("left", inner)];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    });
    let mismatches = check(wrong, &schema);
    assert_eq!(mismatches.len(), 1);
    assert!(mismatches[0].path.ends_with("left.kind"), "{}", mismatches[0]);
}

#[test]
fn costly_patterns_terminate() {
    let text = "a".repeat(20_000);
    for pattern in ["^(a|aa)+$", "((a{100}){100}){100}", "(a?){900}b", "(((((a*)*)*)*)*)*b"] {
        let schema = json!({"allOf": vec![json!({"pattern": pattern}); 50]});
        let _any_answer = check(&json!(text), &schema);
    }
    let huge = json!({"pattern": "(".repeat(100_000)});
    assert_eq!(check(&json!("a"), &huge), []);
    assert_eq!(check(&json!("x"), &json!({"pattern": "(?=a)b"})), []);
}

/// 100,000 items that all differ, but are equal except for the last member.
#[test]
fn large_arrays_are_compared_in_linear_time() {
    let numbers: Vec<_> = (0..100_000).collect();
    let objects: Vec<_> = numbers.iter().map(|at| json!({"a": 1, "b": at})).collect();
    let unique = json!({"uniqueItems": true});
    assert_eq!(check(&json!(numbers), &unique), []);
    assert_eq!(check(&Value::Array(objects), &unique), []);
}

#[test]
fn large_schemas_with_large_values_terminate() {
    let names: Vec<_> = (0..3_000).map(|at| at.to_string()).collect();
    let value = Value::Array(vec![json!("absent"); 3_000]);
    let long = json!({"items": {"anyOf": vec![json!({"enum": names}); 300]}});
    assert!(!check(&value, &long).is_empty());
    let required = json!({"items": {"anyOf": vec![json!({"required": names}); 300]}});
    assert!(!check(&Value::Array(vec![json!({}); 3_000]), &required).is_empty());
    let pointer = json!({"items": {"$ref": format!("#{}", "/items".repeat(100_000))}});
    let _any_answer = check(&value, &pointer);
}

/// The names of the schema are compared with the reported members only, not with all of them.
#[test]
fn many_unknown_members_are_checked_in_bounded_time() {
    let names: Vec<_> = (0..500).map(|at| format!("name_{at}")).collect();
    let properties: Map<_, _> = names.iter().map(|name| (name.clone(), json!({}))).collect();
    let members: Map<_, _> = (0..50_000).map(|at| (format!("other_{at}"), json!(1))).collect();
    let value = Value::Object(members);
    for closed in ["additionalProperties", "unevaluatedProperties"] {
        let schema = json!({"properties": properties, closed: false});
        let wrong = check(&value, &schema);
        assert_eq!(wrong.len(), 20, "{closed}");
        assert!(wrong.iter().all(|each| each.kind == MismatchKind::Unknown), "{closed}");
        let unions = json!({"anyOf": vec![schema; 50]});
        assert!(!check(&value, &unions).is_empty(), "{closed}");
    }
    let named = json!({"propertyNames": {"maxLength": 3, "enum": names}});
    assert_eq!(check(&value, &named).len(), 20);
}

/// Messages are bounded as well: unions of unions by reference have 1,000^4 shapes.
#[test]
fn vast_unions_are_described_in_bounded_time() {
    let mut definitions = Map::new();
    for level in 0..8 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        definitions.insert(level.to_string(), json!({"anyOf": vec![next; 1_000]}));
    }
    definitions.insert("8".to_owned(), json!({"enum": (0..1_000).collect::<Vec<_>>()}));
    let schema = json!({"$defs": definitions, "required": ["a"], "properties": {
        "a": {"$ref": "#/$defs/5"}, "b": {"$ref": "#/$defs/0"},
    }});
    assert!(!check(&json!({"b": "x"}), &schema).is_empty());
}

#[test]
fn malformed_keywords_are_ignored() {
    for schema in [
        json!(null),
        json!(3),
        json!([]),
        json!({"properties": 3, "required": "a", "allOf": {}, "enum": 1, "minItems": "x"}),
        json!({"items": 4, "prefixItems": false, "if": 1, "then": 2, "$ref": 7, "pattern": []}),
        json!({"$ref": "https://example.org/other"}),
        json!({"minLength": -1, "maximum": null, "multipleOf": "2", "dependentRequired": [1]}),
    ] {
        for value in [json!({"a": 1}), json!([1]), json!("a"), json!(1)] {
            assert_eq!(check(&value, &schema), [], "{schema} {value}");
        }
    }
}
