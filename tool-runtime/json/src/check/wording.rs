//! Tests of the messages that a model receives.

use serde_json::{Value, json};

use super::check;

fn messages(schema: &Value, value: &Value) -> String {
    let lines = check(value, schema);
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    lines.join(" | ")
}

fn assert_messages(cases: &[(Value, Value, &str)]) {
    for (schema, value, expected) in cases {
        assert_eq!(messages(schema, value), *expected, "\n{schema}\n{value}");
    }
}

/// Returns a schema whose member `x` has this schema.
fn x(schema: Value) -> Value {
    let properties = Value::Object([("x".to_owned(), schema)].into_iter().collect());
    Value::Object([("properties".to_owned(), properties)].into_iter().collect())
}

#[test]
fn member_mismatches_are_worded() {
    let forecast = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "City name, such as \"Oslo\".\nSecond line."},
            "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 7},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let open = json!({"required": ["a"], "dependentRequired": {"b": ["c d"]}});
    assert_messages(&[
        (
            forecast.clone(),
            json!({}),
            "`city` is missing: expected a string (City name, such as \"Oslo\")",
        ),
        (
            forecast.clone(),
            json!({"citty": "Oslo", "days": 9}),
            "`city` is missing: expected a string (City name, such as \"Oslo\") | \
             `citty` is not known here: did you mean `city`? | \
             `days`: expected an integer from 1 to 7, got 9",
        ),
        (
            forecast.clone(),
            json!({"city": "Oslo", "humidity": true}),
            "`humidity` is not known here: leave it out, or use `days`",
        ),
        (
            forecast.clone(),
            json!({"city": "Oslo", "days": "two"}),
            "`days`: expected an integer from 1 to 7, got the string \"two\"",
        ),
        (forecast, json!("hello"), "expected an object, got the string \"hello\""),
        (open.clone(), json!({}), "`a` is missing"),
        (
            open,
            json!({"a": 1, "b": 1}),
            "`[\"c d\"]` is missing: expected any value, since `b` is given",
        ),
        (
            json!({"additionalProperties": false}),
            json!({"a": 1}),
            "`a` is not known here: leave it out",
        ),
        (
            json!({"patternProperties": {"^\\d+$": {}}, "additionalProperties": false}),
            json!({"a": 1}),
            "`a` is not known here: names must match ^\\d+$",
        ),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!({"A1": 1}),
            "expected each key to be text that matches ^[a-z]+$, got the key \"A1\"",
        ),
        (json!({"minProperties": 2}), json!({"a": 1}), "expected at least 2 keys, got 1"),
        (x(json!(false)), json!({"x": 1}), "`x`: expected nothing here: leave it out"),
        (
            json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
            json!({"a": 1, "z": 1}),
            "`z` is not known here: leave it out",
        ),
    ]);
}

#[test]
fn scalar_and_array_mismatches_are_worded() {
    assert_messages(&[
        (x(json!({"minimum": 1})), json!({"x": 0}), "`x`: expected a number of at least 1, got 0"),
        (
            x(json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5})),
            json!({"x": 1.5}),
            "`x`: expected a number above 0 and below 1.5, got 1.5",
        ),
        (
            x(json!({"minimum": 0, "exclusiveMinimum": true})),
            json!({"x": 0}),
            "`x`: expected a number above 0, got 0",
        ),
        (
            x(json!({"maximum": 5, "exclusiveMaximum": true, "exclusiveMinimum": false})),
            json!({"x": 5}),
            "`x`: expected a number below 5, got 5",
        ),
        (
            x(json!({"type": "integer", "multipleOf": 5})),
            json!({"x": 7}),
            "`x`: expected an integer that is a multiple of 5, got 7",
        ),
        (
            x(json!({"type": "integer"})),
            json!({"x": 1.5}),
            "`x`: expected an integer, got the number 1.5",
        ),
        (
            x(json!({"type": "string", "pattern": "^\\d{4}-\\d{2}$"})),
            json!({"x": "yesterday"}),
            "`x`: expected text that matches ^\\d{4}-\\d{2}$, got \"yesterday\"",
        ),
        (
            x(json!({"minLength": 2, "maxLength": 5})),
            json!({"x": "é"}),
            "`x`: expected 2 to 5 characters, got 1",
        ),
        (x(json!({"minItems": 1})), json!({"x": []}), "`x`: expected at least 1 item, got 0"),
        (
            x(json!({"minItems": 2, "maxItems": 2})),
            json!({"x": [1]}),
            "`x`: expected exactly 2 items, got 1",
        ),
        (
            x(json!({"prefixItems": [{}], "items": false})),
            json!({"x": [1, 2, 3]}),
            "`x`: expected at most 1 item, got 3",
        ),
        (
            x(json!({"uniqueItems": true})),
            json!({"x": ["a", "b", "a"]}),
            "`x`: expected items that all differ, got \"a\" at both 0 and 2",
        ),
        (
            x(json!({"contains": {"type": "integer"}})),
            json!({"x": ["a"]}),
            "`x`: expected at least 1 item like this: an integer, got 0",
        ),
        (
            x(json!({"items": {"properties": {"a": {"type": "boolean"}}}})),
            json!({"x": [{"a": true}, {"a": 1}]}),
            "`x[1].a`: expected true or false, got the number 1",
        ),
        (
            x(json!({"type": "array", "items": {"type": "string"}, "minItems": 1})),
            json!({"x": "a"}),
            "`x`: expected an array of at least 1 string, got the string \"a\"",
        ),
        (x(json!({"not": {"const": 1}})), json!({"x": 1}), "`x`: expected anything but 1, got 1"),
        (
            x(json!({"type": "string", "format": "date-time"})),
            json!({"x": null}),
            "`x`: expected a string in date-time format, such as \"2026-12-24T18:30:00Z\", got null",
        ),
    ]);
}

#[test]
fn choice_mismatches_are_worded() {
    let unit = x(json!({"type": "string", "enum": ["celsius", "fahrenheit"]}));
    let noted = x(json!({"oneOf": [
        {"const": "celsius", "description": "0 to 100"},
        {"const": "fahrenheit", "description": "32 to 212"},
    ]}));
    let choices: Vec<_> = (0..40).collect();
    for schema in [unit, noted] {
        assert_messages(&[
            (
                schema.clone(),
                json!({"x": "kelvin"}),
                "`x`: expected one of \"celsius\", \"fahrenheit\", got \"kelvin\"",
            ),
            (
                schema,
                json!({"x": "Celsius"}),
                "`x`: expected one of \"celsius\", \"fahrenheit\", got \"Celsius\"; \
                 did you mean \"celsius\"?",
            ),
        ]);
    }
    assert_messages(&[
        (x(json!({"const": 3})), json!({"x": 4}), "`x`: expected 3, got 4"),
        (
            x(json!({"enum": choices})),
            json!({"x": 99}),
            "`x`: expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … and 28 more, got 99",
        ),
        (
            x(json!({"enum": ["a", null]})),
            json!({"x": "zzzz"}),
            "`x`: expected \"a\", got \"zzzz\"",
        ),
    ]);
}

#[test]
fn branch_mismatches_are_worded() {
    let nullable = x(json!({"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}],
        "$defs": {}}));
    let mut nullable = nullable;
    nullable["$defs"] = json!({"D": {"type": "object",
        "properties": {"n": {"type": "integer", "maximum": 5}}, "required": ["n"]}});
    let internal = json!({"oneOf": [
        {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"properties": {"kind": {"const": "square"}, "side": {"minimum": 0}}, "required": ["kind", "side"]},
    ]});
    let external = json!({"oneOf": [
        {"type": "string", "const": "Nothing"},
        {"type": "object", "properties": {"Text": {"type": "string"}}, "required": ["Text"],
            "additionalProperties": false},
        {"type": "object", "properties": {"Number": {"type": "integer"}}, "required": ["Number"],
            "additionalProperties": false},
    ]});
    let untagged = json!({"anyOf": [
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]},
        {"type": "integer", "minimum": 10},
    ]});
    assert_messages(&[
        (
            nullable.clone(),
            json!({"x": {"n": 6}}),
            "`x.n`: expected an integer of at most 5, got 6",
        ),
        (nullable.clone(), json!({"x": {}}), "`x.n` is missing: expected an integer of at most 5"),
        (nullable, json!({"x": 1}), "`x`: expected an object, got the number 1"),
        (
            internal.clone(),
            json!({"kind": "circle", "r": "1"}),
            "`r`: expected a number, got the string \"1\"",
        ),
        (
            internal.clone(),
            json!({"kind": "square"}),
            "`side` is missing: expected a number of at least 0",
        ),
        (
            internal.clone(),
            json!({"kind": "sqare", "side": 1}),
            "`kind`: expected one of \"circle\", \"square\", got \"sqare\"; did you mean \"square\"?",
        ),
        (internal, json!({"r": 1}), "`kind` is missing: expected one of \"circle\", \"square\""),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {}}, "required": ["kind", "r"]},
                {"type": "object", "properties": {"kind": {"const": "square"}, "side": {}}, "required": ["kind", "side"]},
            ]}),
            json!("circle"),
            "expected an object with `kind` \"circle\", `r` or an object with `kind` \"square\", `side`, \
             got the string \"circle\"",
        ),
        (external.clone(), json!({"Text": 1}), "`Text`: expected a string, got the number 1"),
        (external.clone(), json!({"text": "a"}), "`text` is not known here: did you mean `Text`?"),
        (
            external.clone(),
            json!("nothing"),
            "expected \"Nothing\", an object with `Text` or an object with `Number`, \
             got the string \"nothing\"; did you mean \"Nothing\"?",
        ),
        (
            external,
            json!({"Text": "a", "Number": 1}),
            "expected an object with `Text` or an object with `Number`, \
             got the object {\"Number\":1,\"Text\":\"a\"}",
        ),
        (untagged.clone(), json!({"x": "1"}), "`x`: expected an integer, got the string \"1\""),
        (untagged.clone(), json!(3), "expected an integer of at least 10, got 3"),
        (
            untagged.clone(),
            json!({}),
            "expected an object with `x` or an object with `y`, got the object {}",
        ),
        (
            untagged,
            json!("a"),
            "expected an object with `x`, an object with `y` or an integer of at least 10, \
             got the string \"a\"",
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
            json!(3),
            "expected a value that fits only one of the shapes allowed, got one that fits 2 of them",
        ),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({"a": 1}),
            "`b` is missing",
        ),
    ]);
}

#[test]
fn messages_are_short_for_huge_values() {
    let long = "x".repeat(1_000_000);
    let described = json!({"type": "string", "description": long, "pattern": long});
    let schema = json!({
        "properties": {"text": {"const": long}, "kept": described, "named": {"enum": [long, long]}},
        "required": ["kept"],
        "additionalProperties": false,
    });
    let value = json!({"text": long, &long: long, "named": [long]});
    for mismatch in check(&value, &schema) {
        assert!(mismatch.to_string().len() < 500, "{}", mismatch.to_string().len());
    }
    let items: Vec<_> = (0..100_000).map(|_| "a").collect();
    assert_eq!(check(&json!(items), &json!({"items": {"type": "integer"}})).len(), 20);
    let broken = json!({"properties": {"a": {"pattern": "a\nb", "description": "c\rd"}}});
    assert!(!messages(&broken, &json!({"a": "x"})).contains('\n'));
}

/// A rule that is violated twice is reported once.
#[test]
fn duplicate_mismatches_are_reported_once() {
    let twice = json!({"allOf": [{"type": "integer"}, {"type": "integer"}]});
    assert_eq!(check(&json!("a"), &twice).len(), 1);
}
