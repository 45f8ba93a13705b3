//! Tests damaged texts: what is recovered from them, and why they are refused.

use serde_json::{Value, json};

use super::NodeBuilder;
use super::RecoveryError;
use super::RecoveryMode;
use super::SchemaKeys;
use super::ValueBuilder;
use super::recover;
use crate::{
    FixKind::{self, *},
    Options, ParseErrorKind,
};

fn mode(keys: SchemaKeys<'_>) -> RecoveryMode<'_> {
    RecoveryMode { options: Options::default(), keys, in_prose: false }
}

fn read(text: &str) -> Result<(Value, Vec<FixKind>, bool), RecoveryError> {
    let read = recover::<ValueBuilder>(text, 0, text.len(), mode(SchemaKeys::NONE), &mut 0)?;
    let kinds = read.fixes.iter().map(|fix| fix.kind).collect();
    let tree = recover::<NodeBuilder>(text, 0, text.len(), mode(SchemaKeys::NONE), &mut 0)?;
    let printed: Value = serde_json::from_str(&tree.value.to_json()).unwrap();
    assert_eq!(printed, read.value, "{text}: the tree is another");
    Ok((read.value, kinds, read.truncated))
}

#[track_caller]
fn check(text: &str, value: &Value, kinds: &[FixKind]) {
    let (actual, actual_kinds, truncated) =
        read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!((&actual, actual_kinds.as_slice()), (value, kinds), "{text}");
    let is_cut = |kind: &FixKind| matches!(kind, TruncatedText | TruncatedMember | TruncatedList);
    assert!(truncated || !kinds.iter().any(is_cut), "{text}");
}

#[test]
fn spelling_is_repaired() {
    check("{a: 1, 'b': 2}", &json!({"a": 1, "b": 2}), &[UnquotedKey, Quotes]);
    check("[1,,2,]", &json!([1, 2]), &[RepeatedComma, Comma]);
    check("[,1]", &json!([1]), &[RepeatedComma]);
    check("[True, None, undefined]", &json!([true, null, null]), &[Literal, Literal, Undefined]);
    check("[+1, .5, 1_000, 5.]", &json!([1, 0.5, 1000, 5.0]), &[Number; 4]);
    check("[1, // one\n2 /* two */]# three", &json!([1, 2]), &[Comment, Comment]);
    check(
        "｛“a”：1，\"b\"：2｝",
        &json!({"a": 1, "b": 2}),
        &[Punctuation, Quotes, Punctuation, Punctuation, Punctuation, Punctuation],
    );
    check("{\"a\": \"x\ny\t\"}", &json!({"a": "x\ny\t"}), &[Control]);
    check(r#"{"a": "\d+", b: 1}"#, &json!({"a": r"\d+", "b": 1}), &[Escape, UnquotedKey]);
    check("{\"a\" = 1, 'b' => 2}", &json!({"a": 1, "b": 2}), &[Equals, Quotes, Equals]);
    check(
        "{\"a\": (1, 2), \"b\": (3), \"c\": (4,)}",
        &json!({"a": [1, 2], "b": 3, "c": [4]}),
        &[Tuple; 3],
    );
    check("[\"a\" + 'b']", &json!(["ab"]), &[Concatenation, Quotes]);
    check("[\"\"\"a\n\"b\" c\"\"\"]", &json!(["a\n\"b\" c"]), &[Quotes, Control]);
    check(
        "{city: New York, day: 2024-10-18, at: 12:30}",
        &json!({"city": "New York", "day": "2024-10-18", "at": "12:30"}),
        &[UnquotedKey, UnquotedText, UnquotedKey, UnquotedText, UnquotedKey, UnquotedText],
    );
    check(
        "{url: https://a.b/c?d=e, color: #fff}",
        &json!({"url": "https://a.b/c?d=e", "color": "#fff"}),
        &[UnquotedKey, UnquotedText, UnquotedKey, UnquotedText],
    );
    check("{\"a\": 1, \"a\": 1}", &json!({"a": 1}), &[RepeatedMember]);
}

#[test]
fn structure_is_repaired() {
    check(
        "{\"a\": 1 \"b\": \"x\" c: true}",
        &json!({"a": 1, "b": "x", "c": true}),
        &[MissingComma, MissingComma, UnquotedKey],
    );
    check("[1 2 true \"a\" \"b\"]", &json!([1, 2, true, "a", "b"]), &[MissingComma; 4]);
    check("{\"a\" \"b\"}", &json!({"a": "b"}), &[MissingColon]);
    check("[{\"a\": [1, {\"b\": 2}]", &json!([{"a": [1, {"b": 2}]}]), &[MissingCloser; 2]);
    check("{\"a\": 2]", &json!({"a": 2}), &[WrongCloser]);
    check("[{\"a\": 1}}, 2]", &json!([{"a": 1}, 2]), &[ExtraCloser]);
    check("{\"a\": {\"b\": 1}}, \"c\": 2}", &json!({"a": {"b": 1}, "c": 2}), &[ExtraCloser]);
    check("{\"a\": \"b, \"c\": \"d\"}", &json!({"a": "b", "c": "d"}), &[MissingQuote]);
    check("{\"a\": b\", \"c\": 1}", &json!({"a": "b", "c": 1}), &[MissingQuote]);
    check("{\"a\": [\"x]}", &json!({"a": ["x"]}), &[MissingQuote]);
}

#[test]
fn unescaped_inner_quotes_are_kept() {
    for text in [
        "say \"hi\" now",
        "say \"hi\"",
        "\"hi\" she said",
        "<a href=\"x\" class=\"y\">z</a>",
        "grep \"a\", \"b\" file",
        "{\"k\": 1, \"l\": [\"m\"]}",
        "she said \"yes\", then \"no\".",
        "a 24\" screen",
        "f(\"x\"); // \"y\"",
    ] {
        let inner = [InnerQuotes];
        check(&format!("{{\"a\": \"{text}\", \"b\": 1}}"), &json!({"a": text, "b": 1}), &inner);
        check(&format!("{{\"b\": 1, \"a\": \"{text}\"}}"), &json!({"a": text, "b": 1}), &inner);
    }
}

#[test]
fn string_content_in_damaged_text_is_unchanged() {
    for text in [
        "// no # comment /* here */",
        "{a: 1, [b]}",
        "```json\\n{}\\n```",
        "it's True, isn't it",
        "C:\\\\new\\\\",
        "a, b, \\\"c\\\": d",
        "https://a.b/#c",
        "标点，符号：“引号”",
        "ends with a break\\n",
        "} ] ) ,",
        "...",
        "<think>",
    ] {
        let value: Value = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        for (before, after) in
            [("{a: \"", "\"}"), ("[1,, \"", "\", 'x']"), ("{'b': 1, \"a\": \"", "\",}")]
        {
            let (document, ..) = read(&format!("{before}{text}{after}")).unwrap();
            let found = document.get("a").or_else(|| document.get(1)).unwrap();
            assert_eq!(found, &value, "{before}{text}{after}");
        }
    }
}

#[test]
fn truncated_text_is_closed() {
    check("{\"a\": \"b", &json!({"a": "b"}), &[TruncatedText, MissingCloser]);
    check("{\"a\": 1, \"b", &json!({"a": 1}), &[TruncatedMember, MissingCloser]);
    check("{\"a\": 1, \"b\":", &json!({"a": 1}), &[TruncatedMember, MissingCloser]);
    check("{\"a\": 1, \"b\"", &json!({"a": 1}), &[TruncatedMember, MissingCloser]);
    for cut in ["\"", "\"b", "\"b\"", "\"b\" ", "\"b\":", "\"b\": "] {
        let text = format!("{{\"a\": \"x\", {cut}");
        check(&text, &json!({"a": "x"}), &[TruncatedMember, MissingCloser]);
    }
    check("[1, 2,", &json!([1, 2]), &[TruncatedList, MissingCloser]);
    check("[1, 2 ", &json!([1, 2]), &[MissingCloser]);
    check("[\"a\\u12", &json!(["a"]), &[TruncatedText, MissingCloser]);
}

#[test]
fn ambiguous_text_is_refused() {
    use ParseErrorKind::*;
    for (text, kind) in [
        ("[1, ...]", Ellipsis),
        ("{\"a\": 1, …}", Ellipsis),
        ("{\"a\": 1.234,56}", Number),
        ("{\"a\": 1,234}", Number),
        ("{\"a\": 12a}", Number),
        ("{\"a\": 5 apples}", Number),
        ("[1 + 2]", Number),
        ("[007]", Number),
        ("[NaN]", Number),
        ("[-Infinity]", Number),
        ("{a: 1, \"a\": 2}", DuplicateKey),
        ("[1, 2", Incomplete),
        ("[tru", Incomplete),
        ("{\"a\": , \"b\": 1}", Syntax),
        ("{\"a\"}", Syntax),
        ("{\"a\": \"say \"hi\", \"b\": 1}", Syntax),
        ("{\"a\": \"x\", COMMENT \"b\": \"y\"}", Syntax),
        ("{\"a\": \"first, b: 1}", Syntax),
        ("{a: one b: two}", Syntax),
        ("{\"a\": \"\"\"x\", \"b\": 1}", Syntax),
        ("{\"a\": [1], [2]}", Syntax),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.kind, kind, "{text}: {error:?}");
        assert!(error.at <= text.len(), "{text}");
    }
}

#[test]
fn schema_keys_decide_between_two_readings() {
    let schema = json!({"properties": {"a": {}, "n": {"type": "integer"}}});
    let read = |text: &str| {
        let read = recover::<ValueBuilder>(
            text,
            0,
            text.len(),
            mode(SchemaKeys::of_schema(&schema)),
            &mut 0,
        );
        read.map(|read| read.value)
    };
    let text = r#"{"a": "he said "x", "b": 1", "n": 2}"#;
    assert_eq!(read(text).unwrap(), json!({"a": "he said \"x\", \"b\": 1", "n": 2}));
}
