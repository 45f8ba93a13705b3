//! Envelopes around the arguments of a call.

use serde_json::json;

use super::{changed, member_unchanged, read, unchanged};
use crate::{FixKind::*, parse_as};

#[test]
fn envelope_around_arguments_is_removed() {
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
            (
                r#"[{"name":"f","arguments":{"city":"Oslo","days":3}}]"#,
                bare,
                &[OutOfArray, Envelope],
            ),
            (r#"[{"city":"Oslo","days":3}]"#, bare, &[OutOfArray]),
        ],
    );
    // An envelope with a name is a call, even if its arguments are invalid.
    changed(
        &schema,
        &[
            (r#"{"name":"f","arguments":{}}"#, "{}", &[Envelope]),
            (r#"{"name":"f","parameters":{"days":"many"}}"#, r#"{"days":"many"}"#, &[Envelope]),
        ],
    );
    unchanged(
        &schema,
        &[
            r#"{"name":"f","arguments":"none"}"#,
            // The schema itself, and arguments that lack a required member.
            r#"{"type":"object","properties":{"city":{"type":"string"}}}"#,
            r#"{"arguments":{"days":3}}"#,
            r#"{"name":"f","arguments":{"city":"Oslo"},"parameters":{"city":"Rome"}}"#,
            r#"{"arguments":{"city":"Oslo"},"days":3}"#,
            r#"{"arguments":{"city":"Oslo"},"note":"b"}"#,
            r#"{"name":"f","arguments":["Oslo"]}"#,
        ],
    );
    let schema = json!({"type": "object", "properties": {"arguments": {}, "name": {}}});
    unchanged(&schema, &[r#"{"name":"f","arguments":{"name":"x"}}"#]);
    let named =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    changed(
        &named,
        &[(r#"{"name":"f","arguments":{"name":"x"}}"#, r#"{"name":"x"}"#, &[Envelope])],
    );
    unchanged(&named, &[r#"{"name":"f","arguments":{}}"#, r#"{"name":"f","input":{"y":1}}"#]);
    unchanged(&json!({"type": "object"}), &[r#"{"name":"f","arguments":{"a":1}}"#]);
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
fn empty_text_becomes_object_if_nothing_is_required() {
    let optional = json!({"type": "object", "properties": {"a": {}}});
    for text in ["", " \n", "null"] {
        assert_eq!(read(text, &optional), ("{}".to_owned(), vec![Empty]));
    }
    let required = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
    assert!(parse_as("", &required).unwrap_err().is_empty());
    unchanged(&required, &["null"]);
    member_unchanged(&optional, &["null", r#""""#]);
}
