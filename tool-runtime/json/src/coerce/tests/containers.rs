//! Objects, arrays and the keys of members.

use serde_json::json;

use super::{changed, member, member_changed, member_unchanged, unchanged};
use crate::{FixKind::*, ParseErrorKind, parse_as};

#[test]
fn encoded_containers_are_decoded() {
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    member_changed(
        &object,
        &[
            (r#""{\"n\": 1}""#, r#"{"n":1}"#, &[EncodedTwice]),
            (r#"" {\"n\": \"1\"} ""#, r#"{"n":1}"#, &[EncodedTwice, Unquoted]),
            (r#""```json\n{\"n\": 1}\n```""#, r#"{"n":1}"#, &[EncodedTwice, Fence, Fence]),
        ],
    );
    member_unchanged(
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
    member_unchanged(&list, &[r#""[a]""#, r#""1, 2""#, r#""{}""#]);
    // A string member that holds the text of an array stays a string.
    member_unchanged(&json!({"type": "string"}), &[r#""[1, 2]""#, r#""{\"n\": 1}""#]);
}

#[test]
fn single_value_and_array_of_one_are_converted() {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    member_changed(
        &texts,
        &[
            (r#""Oslo""#, r#"["Oslo"]"#, &[IntoArray]),
            (r#""New York""#, r#"["New York"]"#, &[IntoArray]),
            ("5", r#"["5"]"#, &[IntoArray, Quoted]),
        ],
    );
    member_unchanged(
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
    member_changed(&objects, &[(r#"{"a":1}"#, r#"[{"a":1}]"#, &[IntoArray])]);
    member_unchanged(&objects, &[r#"{"b":1}"#]);
    // Either of the two levels may be missing.
    let matrix = json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}});
    member_unchanged(&matrix, &["[1,2]", "[[1],[2]]", "[1]"]);

    member_changed(
        &json!({"type": "integer"}),
        &[("[4]", "4", &[OutOfArray]), (r#"["4"]"#, "4", &[OutOfArray, Unquoted])],
    );
    member_unchanged(&json!({"type": "integer"}), &["[]", "[4,5]", "[[4]]", "[null]", "[4.5]"]);
    member_changed(&json!({"type": "string"}), &[(r#"["a"]"#, r#""a""#, &[OutOfArray])]);
    member_unchanged(&json!({"type": ["integer", "null"]}), &["[null]"]);
}

#[test]
fn array_items_are_coerced_one_by_one() {
    let schema = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": {"type": "integer"}});
    changed(
        &schema,
        &[(r#"[1,"true","2","3"]"#, r#"["1",true,2,3]"#, &[Quoted, Unquoted, Unquoted, Unquoted])],
    );
    unchanged(&json!({"type": "array"}), &[r#"["1","true"]"#]);
}

#[test]
fn key_is_corrected_to_schema_spelling() {
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
    unchanged(
        &schema,
        &[
            r#"{"max_results":1,"maxResults":2}"#,
            r#"{"maxResults":1,"max-results":2}"#,
            r#"{"max_result":1}"#,
            // Two names have this normalized key.
            r#"{"aB":1}"#,
            r#"{"_":1}"#,
            r#"{"maximum_results":1}"#,
        ],
    );
    // A map has arbitrary keys.
    for open in [json!({"additionalProperties": true}), json!({"patternProperties": {"^x": {}}})] {
        let mut schema = schema.clone();
        schema.as_object_mut().unwrap().extend(open.as_object().unwrap().clone());
        unchanged(&schema, &[r#"{"maxResults":1}"#]);
    }
    unchanged(
        &json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        &[r#"{"maxResults":1}"#],
    );
    changed(
        &json!({"type": "object", "properties": {"in_it": {"type": "object", "properties": {"a_a": {}}}}}),
        &[(r#"{"inIt":{"aA":1}}"#, r#"{"in_it":{"a_a":1}}"#, &[KeyCase, KeyCase])],
    );
}

/// A value that is wrapped in an array, or decoded from a string, may exceed the depth limit.
#[test]
fn coercion_respects_depth_limit() {
    let schema = member(&json!({"type": "array"}));
    for (levels, fits) in [(125, true), (126, true), (127, false)] {
        let list = "[".repeat(levels) + &"]".repeat(levels);
        let text = json!({ "v": list }).to_string();
        match parse_as(&text, &schema) {
            Ok(parsed) => assert!(fits && parsed.fixes[0].kind == EncodedTwice, "{levels}"),
            Err(error) => assert!(!fits && error.kind() == ParseErrorKind::TooDeep, "{levels}"),
        }
        let nested = r#"{"v":"#.repeat(levels) + "1" + &"}".repeat(levels);
        let listed = parse_as(
            &nested,
            &json!({"type": "object", "properties": {"v": {
                "type": "array", "items": {"type": "object"},
            }}}),
        );
        match listed {
            Ok(parsed) => assert!(fits && parsed.fixes[0].kind == IntoArray, "{levels}"),
            Err(error) => assert!(!fits && error.kind() == ParseErrorKind::TooDeep, "{levels}"),
        }
    }
}

#[test]
fn null_member_is_removed_if_schema_forbids_null() {
    let inner = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    let tagged = |tag: &str, more: &str| {
        json!({"type": "object", "properties": {"kind": {"const": tag}, more: {"type": "integer"}},
            "required": ["kind"]})
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "list": {"type": "array", "items": inner},
            "may_be": {"type": ["integer", "null"]},
            "any": {},
            "must": {"type": "integer"},
            "one": {"anyOf": [tagged("x", "n"), tagged("y", "m")]},
        },
        "required": ["must"],
    });
    changed(
        &schema,
        &[
            (r#"{"a":null,"must":1}"#, r#"{"must":1}"#, &[NullMember]),
            (r#"{"list":[{"b":null}],"must":1}"#, r#"{"list":[{}],"must":1}"#, &[NullMember]),
            (
                r#"{"must":1,"one":{"kind":"y","m":null}}"#,
                r#"{"must":1,"one":{"kind":"y"}}"#,
                &[NullMember],
            ),
        ],
    );
    unchanged(
        &schema,
        &[
            r#"{"must":1,"may_be":null,"any":null}"#,
            r#"{"must":null}"#,
            r#"{"must":1,"unheard_of":null}"#,
            r#"{"must":1,"list":[null]}"#,
        ],
    );
}
