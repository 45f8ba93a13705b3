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
fn keys_of_envelope_are_known_in_other_spellings() {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"},
    }, "required": ["city"]});
    let bare = r#"{"city":"Oslo","days":3}"#;
    for text in [
        r#"{"toolName":"f","toolInput":{"city":"Oslo","days":3}}"#,
        r#"{"functionName":"f","Arguments":{"city":"Oslo","days":3}}"#,
        r#"{"NAME":"f","ARGUMENTS":{"city":"Oslo","days":3},"callId":"c"}"#,
        r#"{"tool-name":"f","tool-args":{"city":"Oslo","days":3}}"#,
        r#"{"name":"f","payload":{"city":"Oslo","days":3}}"#,
        r#"{"tool":"f","data":{"city":"Oslo","days":3}}"#,
        r#"{"function":"f","inputs":{"city":"Oslo","days":3}}"#,
    ] {
        changed(&schema, &[(text, bare, &[Envelope])]);
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"city":"Oslo","days":3}}}"#,
        r#"{"toolCall":{"toolName":"f","toolArguments":{"city":"Oslo","days":3}}}"#,
        r#"{"toolUse":{"toolUseId":"t","name":"f","input":{"city":"Oslo","days":3}}}"#,
    ] {
        changed(&schema, &[(text, bare, &[Envelope, Envelope])]);
    }
    let text = r#"{"name":"f","payload":"{\"city\":\"Oslo\",\"days\":3}"}"#;
    changed(&schema, &[(text, bare, &[Envelope, EncodedTwice])]);
    unchanged(
        &schema,
        &[
            // `data` without a name, a method of another kind, and two members for the arguments.
            r#"{"data":{"city":"Oslo","days":3}}"#,
            r#"{"method":"tools/list","params":{"city":"Oslo","days":3}}"#,
            r#"{"name":"f","data":{"city":"Oslo"},"payload":{"city":"Rome"}}"#,
            r#"{"name":"f","data":{"city":"Oslo"},"arguments":{"days":3}}"#,
            r#"{"name":"f","data":"Oslo"}"#,
        ],
    );
    // An argument in another spelling is no part of an envelope.
    let schema = json!({"type": "object", "properties": {
        "input": {"type": "object"}, "data": {"type": "object"},
    }});
    let read = |text| parse_as(text, &schema).unwrap().value;
    assert_eq!(read(r#"{"Input":{"data":{}}}"#), json!({"input": {"data": {}}}));
    assert_eq!(read(r#"{"Data":{"input":{}}}"#), json!({"data": {"input": {}}}));
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
