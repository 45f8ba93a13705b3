//! What each clause changes, and what it must leave.

use serde_json::{Value, json};

use super::coerce;
use crate::json::{FixKind, FixKind::*, parse_as, sound::read_sound};

/// Reads `text` and says what came out, with the kinds of the fixes.
fn read(text: &str, schema: &Value) -> (String, Vec<FixKind>) {
    let parsed = parse_as(text, schema).unwrap();
    assert_eq!(serde_json::from_str::<Value>(parsed.json()).unwrap(), parsed.value);
    (parsed.json().to_owned(), parsed.fixes.iter().map(|fix| fix.kind).collect())
}

fn changed(schema: &Value, cases: &[(&str, &str, &[FixKind])]) {
    for (text, wanted, kinds) in cases {
        let (json, fixes) = read(text, schema);
        assert_eq!(json, *wanted, "{text} for {schema}");
        assert_eq!(fixes, *kinds, "{text} for {schema}");
        let (again, none) = read(&json, schema);
        assert_eq!((again, none), (json, Vec::new()), "{text} for {schema}");
    }
}

fn kept(schema: &Value, texts: &[&str]) {
    for text in texts {
        assert_eq!(read(text, schema), ((*text).to_owned(), Vec::new()), "{text} for {schema}");
    }
}

/// An object with one member `v` of this schema.
fn member(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"v": schema}})
}

fn member_changed(schema: &Value, cases: &[(&str, &str, &[FixKind])]) {
    let texts: Vec<_> = cases
        .iter()
        .map(|(text, wanted, kinds)| {
            (format!("{{\"v\":{text}}}"), format!("{{\"v\":{wanted}}}"), kinds)
        })
        .collect();
    for (text, wanted, kinds) in &texts {
        changed(&member(schema), &[(text, wanted, kinds)]);
    }
}

fn member_kept(schema: &Value, values: &[&str]) {
    for value in values {
        kept(&member(schema), &[&format!("{{\"v\":{value}}}")]);
    }
}

#[test]
fn a_value_comes_out_of_its_quotes() {
    member_changed(
        &json!({"type": "integer"}),
        &[
            (r#""17""#, "17", &[Unquoted]),
            (r#"" -17 ""#, "-17", &[Unquoted]),
            (r#""30.0""#, "30", &[Unquoted]),
            (r#""12345678901234567890123""#, "12345678901234567890123", &[Unquoted]),
        ],
    );
    member_kept(
        &json!({"type": "integer"}),
        &[
            r#""3.7""#,
            r#""1,234""#,
            r#""1.234,56""#,
            r#""02139""#,
            r#""seventeen""#,
            r#""""#,
            r#""17 days""#,
            r#""true""#,
            r#""null""#,
            r#""1e400""#,
            r#""0x1f""#,
            r#""NaN""#,
            "true",
            "null",
        ],
    );
    member_changed(
        &json!({"type": "number"}),
        &[(r#""1.50""#, "1.50", &[Unquoted]), (r#""2e3""#, "2e3", &[Unquoted])],
    );
    member_kept(&json!({"type": "number"}), &[r#""1,5""#, r#""Infinity""#, r#""5 + 5""#]);
    member_changed(
        &json!({"type": "boolean"}),
        &[
            (r#""true""#, "true", &[Unquoted]),
            (r#""False""#, "false", &[Unquoted]),
            (r#"" TRUE\n""#, "true", &[Unquoted]),
        ],
    );
    member_kept(&json!({"type": "boolean"}), &[r#""yes""#, r#""1""#, "1", "0", "null", r#""""#]);
    member_changed(
        &json!({"type": ["integer", "null"]}),
        &[
            (r#""null""#, "null", &[Unquoted]),
            (r#""None""#, "null", &[Unquoted]),
            (r#""4""#, "4", &[Unquoted]),
        ],
    );
    member_kept(&json!({"type": ["integer", "null"]}), &[r#""none at all""#, r#""""#]);
    // Text is a string wherever there may be one.
    for schema in [
        json!({"type": ["integer", "string"]}),
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
        json!({}),
        json!({"$ref": "https://example.com/a"}),
        json!({"$ref": "#anchor"}),
        json!({"$ref": "#/$defs/none"}),
    ] {
        member_kept(&schema, &[r#""17""#, r#""true""#, r#""null""#, r#""{}""#]);
    }
}

#[test]
fn a_number_becomes_the_text_that_it_was() {
    member_changed(
        &json!({"type": "string"}),
        &[
            ("1.10", r#""1.10""#, &[Quoted]),
            ("-0", r#""-0""#, &[Quoted]),
            ("30.0", r#""30.0""#, &[Quoted]),
            (
                "340282366920938463463374607431768211455",
                r#""340282366920938463463374607431768211455""#,
                &[Quoted],
            ),
            ("1E+2", r#""1E+2""#, &[Quoted]),
            ("true", r#""true""#, &[Quoted]),
        ],
    );
    // Nothing, or the word?
    member_kept(&json!({"type": "string"}), &["null", "{}", "[]", "[1,2]", r#"{"a":1}"#]);
    member_changed(&json!({"enum": ["1", "2"]}), &[("2", r#""2""#, &[Quoted])]);
    member_kept(&json!({"enum": ["1", "2"]}), &["3", "2.0"]);
}

#[test]
fn only_a_whole_number_is_an_integer() {
    let integer = json!({"type": "integer"});
    member_changed(
        &integer,
        &[
            ("30.0", "30", &[Whole]),
            ("1e3", "1000", &[Whole]),
            ("-12.50e1", "-125", &[Whole]),
            ("12345678901234567890.0", "12345678901234567890", &[Whole]),
        ],
    );
    member_kept(
        &integer,
        &["3.7", "30", "0.5", "1e300", "340282366920938463463374607431768211455"],
    );
    member_kept(&json!({"type": "number"}), &["30.0", "1e3", "3.7"]);
    member_kept(&json!({"type": ["integer", "number"]}), &["30.0"]);
}

#[test]
fn objects_and_lists_come_out_of_their_text() {
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    member_changed(
        &object,
        &[
            (r#""{\"n\": 1}""#, r#"{"n":1}"#, &[EncodedTwice]),
            (r#"" {\"n\": \"1\"} ""#, r#"{"n":1}"#, &[EncodedTwice, Unquoted]),
            (r#""```json\n{\"n\": 1}\n```""#, r#"{"n":1}"#, &[EncodedTwice, Fence, Fence]),
        ],
    );
    member_kept(
        &object,
        &[
            r#""[1]""#,
            r#""n: 1""#,
            r#""""#,
            r#""{\"n\": 1, \"n\": 2}""#,
            r#""{\"n\": 1} or {\"n\": 2}""#,
            "null",
        ],
    );
    let list = json!({"type": "array", "items": {"type": "integer"}});
    member_changed(
        &list,
        &[
            (r#""[1, 2]""#, "[1,2]", &[EncodedTwice]),
            (r#""[\"1\"]""#, "[1]", &[EncodedTwice, Unquoted]),
            (r#""[]""#, "[]", &[EncodedTwice]),
        ],
    );
    member_kept(&list, &[r#""[a]""#, r#""1, 2""#, r#""{}""#]);
    // A text that holds a text that holds a list.
    member_kept(&json!({"type": "string"}), &[r#""[1, 2]""#, r#""{\"n\": 1}""#]);
}

#[test]
fn one_value_and_a_list_of_one() {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    member_changed(
        &texts,
        &[
            (r#""Oslo""#, r#"["Oslo"]"#, &[Listed]),
            (r#""New York""#, r#"["New York"]"#, &[Listed]),
            ("5", r#"["5"]"#, &[Listed, Quoted]),
        ],
    );
    member_kept(
        &texts,
        &[
            r#""""#,
            r#"" ""#,
            r#""a, b""#,
            r#""a\nb""#,
            r#""a;b""#,
            r#""[a""#,
            "null",
            "{}",
            r#"["a","b"]"#,
            "[]",
        ],
    );
    let objects = json!({"type": "array", "items": {"type": "object", "properties": {"a": {}}, "required": ["a"]}});
    member_changed(&objects, &[(r#"{"a":1}"#, r#"[{"a":1}]"#, &[Listed])]);
    member_kept(&objects, &[r#"{"b":1}"#]);
    // Which of the two levels is missing?
    let matrix = json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}});
    member_kept(&matrix, &["[1,2]", "[[1],[2]]", "[1]"]);

    member_changed(
        &json!({"type": "integer"}),
        &[("[4]", "4", &[Unlisted]), (r#"["4"]"#, "4", &[Unlisted, Unquoted])],
    );
    member_kept(&json!({"type": "integer"}), &["[]", "[4,5]", "[[4]]", "[null]", "[4.5]"]);
    member_changed(&json!({"type": "string"}), &[(r#"["a"]"#, r#""a""#, &[Unlisted])]);
    member_kept(&json!({"type": ["integer", "null"]}), &["[null]"]);
}

#[test]
fn a_key_is_spelled_as_the_schema_does() {
    let schema = json!({"type": "object", "properties": {
        "max_results": {"type": "integer"}, "query": {}, "userId": {}, "a_b": {}, "ab": {},
    }});
    for key in
        ["maxResults", "max-results", "MaxResults", "max results", "MAX_RESULTS", "maxresults"]
    {
        let text = format!("{{\"{key}\":1}}");
        changed(&schema, &[(&text, r#"{"max_results":1}"#, &[KeyCase])]);
    }
    changed(
        &schema,
        &[
            (r#"{"user_id":1,"Query":"a"}"#, r#"{"userId":1,"query":"a"}"#, &[KeyCase, KeyCase]),
            (r#"{"maxResults":"5"}"#, r#"{"max_results":5}"#, &[KeyCase, Unquoted]),
        ],
    );
    kept(
        &schema,
        &[
            r#"{"max_results":1,"maxResults":2}"#,
            r#"{"maxResults":1,"max-results":2}"#,
            r#"{"max_result":1}"#,
            // Two names are spelled like this.
            r#"{"aB":1}"#,
            r#"{"_":1}"#,
            r#"{"maximum_results":1}"#,
        ],
    );
    // A map has keys of its own.
    for open in [json!({"additionalProperties": true}), json!({"patternProperties": {"^x": {}}})] {
        let mut schema = schema.clone();
        schema.as_object_mut().unwrap().extend(open.as_object().unwrap().clone());
        kept(&schema, &[r#"{"maxResults":1}"#]);
    }
    kept(
        &json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        &[r#"{"maxResults":1}"#],
    );
    changed(
        &json!({"type": "object", "properties": {"in_it": {"type": "object", "properties": {"a_a": {}}}}}),
        &[(r#"{"inIt":{"aA":1}}"#, r#"{"in_it":{"a_a":1}}"#, &[KeyCase, KeyCase])],
    );
}

#[test]
fn a_choice_is_spelled_as_the_schema_lists_it() {
    let unit = json!({"type": "string", "enum": ["celsius", "Fahrenheit", "kelvin", "KELVIN"]});
    member_changed(
        &unit,
        &[
            (r#""Celsius""#, r#""celsius""#, &[ChoiceCase]),
            (r#"" fahrenheit\n""#, r#""Fahrenheit""#, &[ChoiceCase]),
            (r#"["CELSIUS"]"#, r#""celsius""#, &[Unlisted, ChoiceCase]),
        ],
    );
    member_kept(&unit, &[r#""Kelvin""#, r#""rankine""#, r#""celsiu""#, r#""c""#, "null", "1"]);
    let variants = json!({"oneOf": [{"const": "low", "description": "a"}, {"const": "high"}]});
    member_changed(&variants, &[(r#""HIGH""#, r#""high""#, &[ChoiceCase])]);
    member_kept(&variants, &[r#""medium""#, r#""low""#]);
    member_changed(&json!({"enum": [1, 2, "auto"]}), &[(r#""Auto""#, r#""auto""#, &[ChoiceCase])]);
    member_changed(&json!({"enum": [1, 2]}), &[(r#""2""#, "2", &[Unquoted])]);
    member_kept(&json!({"enum": [1, 2]}), &[r#""3""#, "3", "1.0"]);
}

#[test]
fn the_arguments_come_out_of_their_envelope() {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"},
    }, "required": ["city"]});
    let bare = r#"{"city":"Oslo","days":3}"#;
    for text in [
        r#"{"name":"f","arguments":{"city":"Oslo","days":3}}"#,
        r#"{"name":"f","parameters":{"city":"Oslo","days":3}}"#,
        r#"{"type":"function","name":"f","input":{"city":"Oslo","days":3},"id":"c1"}"#,
        r#"{"args":{"city":"Oslo","days":3}}"#,
        r#"{"function":"f","arguments":{"city":"Oslo","days":3}}"#,
        r#"{"properties":{"city":"Oslo","days":3}}"#,
        r#"{"type":"object","properties":{"city":"Oslo","days":3},"required":["city"]}"#,
    ] {
        changed(&schema, &[(text, bare, &[Envelope])]);
    }
    changed(
        &schema,
        &[
            (
                r#"{"type":"function","function":{"name":"f","arguments":{"city":"Oslo","days":3}}}"#,
                bare,
                &[Envelope, Envelope],
            ),
            (
                r#"{"name":"f","arguments":"{\"city\": \"Oslo\", \"days\": \"3\"}"}"#,
                bare,
                &[Envelope, EncodedTwice, Unquoted],
            ),
            (r#"[{"name":"f","arguments":{"city":"Oslo","days":3}}]"#, bare, &[Unlisted, Envelope]),
            (r#"[{"city":"Oslo","days":3}]"#, bare, &[Unlisted]),
        ],
    );
    kept(
        &schema,
        &[
            // The schema itself, and a call that lacks what is required.
            r#"{"type":"object","properties":{"city":{"type":"string"}}}"#,
            r#"{"name":"f","arguments":{}}"#,
            r#"{"name":"f","arguments":{"days":3}}"#,
            r#"{"name":"f","arguments":{"city":"Oslo"},"parameters":{"city":"Rome"}}"#,
            r#"{"arguments":{"city":"Oslo"},"days":3}"#,
            r#"{"arguments":{"city":"Oslo"},"note":"b"}"#,
            r#"{"name":"f","arguments":["Oslo"]}"#,
        ],
    );
    let own = json!({"type": "object", "properties": {"arguments": {}, "name": {}}});
    kept(&own, &[r#"{"name":"f","arguments":{"name":"x"}}"#]);
    let named =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    changed(
        &named,
        &[(r#"{"name":"f","arguments":{"name":"x"}}"#, r#"{"name":"x"}"#, &[Envelope])],
    );
    kept(&named, &[r#"{"name":"f","arguments":{}}"#, r#"{"name":"f","input":{"y":1}}"#]);
    kept(&json!({"type": "object"}), &[r#"{"name":"f","arguments":{"a":1}}"#]);
    let none = json!({"type": "object", "properties": {}});
    changed(
        &none,
        &[
            (r#"{"name":"f","arguments":{}}"#, "{}", &[Envelope]),
            (r#"{"name":"f","arguments":null}"#, "{}", &[Envelope, Empty]),
            (r#"{"name":"f","arguments":""}"#, "{}", &[Envelope, Empty]),
        ],
    );
}

#[test]
fn nothing_is_an_object_where_nothing_is_required() {
    let optional = json!({"type": "object", "properties": {"a": {}}});
    for text in ["", " \n", "null"] {
        assert_eq!(read(text, &optional), ("{}".to_owned(), vec![Empty]));
    }
    let required = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
    assert!(parse_as("", &required).unwrap_err().is_empty());
    kept(&required, &["null"]);
    member_kept(&optional, &["null", r#""""#]);
}

#[test]
fn references_and_branches_are_followed() {
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
    kept(&tree, &[r#"{"next":{"size":"two"}}"#]);

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
                &[ChoiceCase, KeyCase],
            ),
        ],
    );
    member_kept(&shapes, &[r#"{"kind":"text","radius":"2"}"#, r#"{"kind":"cube","side":"2"}"#]);
    changed(
        &shapes,
        &[(r#"{"kind":"circle","radius":"2"}"#, r#"{"kind":"circle","radius":2}"#, &[Unquoted])],
    );

    // Two branches, two values: neither.
    let either = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]});
    member_kept(&either, &[r#""7""#, r#""true""#]);
    let numbers = json!({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]});
    member_changed(&numbers, &[(r#""7""#, "7", &[Unquoted])]);
    member_kept(&numbers, &["7.5", "7.0"]);
    let one_or_more =
        json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "integer"}]});
    member_changed(&one_or_more, &[(r#"["7"]"#, "[7]", &[Unquoted])]);
    // A schema of nothing but itself says nothing.
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"allOf": [{"$ref": "#"}]}),
    ] {
        kept(&schema, &[r#"{"a":"1"}"#, "\"1\"", "[1]"]);
    }
}

#[test]
fn lists_are_read_item_by_item() {
    let schema = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": {"type": "integer"}});
    changed(
        &schema,
        &[(r#"[1,"true","2","3"]"#, r#"["1",true,2,3]"#, &[Quoted, Unquoted, Unquoted, Unquoted])],
    );
    kept(&json!({"type": "array"}), &[r#"["1","true"]"#]);
}

#[test]
fn what_is_fixed_is_pointed_at() {
    let schema = json!({"type": "object", "properties": {"max_days": {"type": "integer"}, "at": {"type": "array", "items": {"type": "boolean"}}}});
    let text = "Here: {\"maxDays\": \"3\", \"at\": \"[\\\"true\\\"]\"}.";
    let fixes = parse_as(text, &schema).unwrap().fixes;
    let shown: Vec<_> =
        fixes.iter().map(|fix| (fix.kind, text.get(fix.span.clone()).unwrap())).collect();
    assert_eq!(
        shown,
        [
            (Prose, "Here:"),
            (KeyCase, "\"maxDays\""),
            (Unquoted, "\"3\""),
            (EncodedTwice, "\"[\\\"true\\\"]\""),
            (Unquoted, "\"[\\\"true\\\"]\""),
            (Prose, "."),
        ]
    );
}

#[test]
fn branches_in_branches_end() {
    // Without a bound this doubles at each level.
    let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "c": {"type": "integer"}}},
        {"type": "array", "items": {"$ref": "#/$defs/A"}},
    ]}}});
    for unit in [r#"{"a":"#, "[", r#"{"c":"1","a":"#] {
        for depth in [5, 60, 126] {
            let close = if unit == "[" { "]" } else { "}" };
            let text = unit.repeat(depth) + "\"x\"" + &close.repeat(depth);
            kept(&schema, &[&text]);
        }
    }
}

#[test]
fn branches_that_say_which_they_are_do_not_multiply() {
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
        let wanted = text.replace("Kind", "kind").replace("\"2\"", "2").replace("\"1\"", "1");
        let (json, fixes) = read(&text, &schema);
        assert_eq!(json, wanted);
        assert_eq!(fixes.len(), 2 * depth + 1);
    }
}

/// The parser lets values be as deep as this; the walk ends before the stack does.
#[test]
fn depth_ends() {
    let schema = json!({"anyOf": [
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
        {"type": "integer"},
    ]});
    for depth in [5, 100, 512] {
        let text = "[".repeat(depth) + "\"1\"" + &"]".repeat(depth);
        let node = read_sound(&text, 0).unwrap();
        let (settled, fixes) = coerce(node, &schema, text.len(), &mut |_, _| None);
        assert_eq!(fixes.is_empty(), settled.to_json() == text, "{depth}");
        assert_eq!(fixes.is_empty(), depth > 5, "{depth}");
    }
}
