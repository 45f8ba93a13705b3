//! Compares every way to cut a text with a simple, slow rule.

use serde_json::{Value, json};

use super::{Partial, PartialValue, parser::IncrementalParser};
use crate::{FixKind, parse};

/// Documents, each preceded by the text before it.
const DOCUMENTS: [(&str, &str); 14] = [
    ("", r#"{"city": "Oslo", "days": 12, "ok": true, "none": null}"#),
    ("", r#"[1, -2.50, 3e+5, 0, -0.0, 1E-3, 12345678901234567890123]"#),
    ("", r#"{"a": {"b": [{"c": []}, {}, [[]]]}, "d": "e"}"#),
    ("", r#"["\"", "\\", "a\nb\t\/", "\u00e5\u00E6", "\ud83d\ude00!", "😀å", ""]"#),
    ("", r#"{"a": 1, "b": 2, "a": [3, 4], "b": "five"}"#),
    ("", "{\"a{\": \"}]\", \"```\": \"<think>\", \"</think>\": \"[\" }"),
    ("", " \n[ true , false , null ] \n"),
    ("", "{}"),
    ("Sure — [see] {below} {{x}} [[note]]:\n```json\n", r#"{"a": ["b"]}"#),
    ("<think>Is it {\"a\": 1}? [2]</think>\n", r#"{"a": ["b", 2]}"#),
    ("[THINK][1] or [2][/THINK][TOOL_CALLS]", r#"[{"name": "f"}]"#),
    ("thought {\"a\": [1]} ends</think>", r#"{"b": 2}"#),
    ("\u{feff}<tool_call>\n", r#"{"name": "f", "arguments": {"x": "y\u0041"}}"#),
    ("f(", r#"[["deep", [["er"]]]]"#),
];

/// The rule: the longest prefix that is JSON once its string and its brackets are closed.
fn longest_prefix(text: &str) -> Option<Value> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
        let prefix = text.get(..end)?;
        let (mut closers, mut in_string, mut escaped) = (Vec::new(), false, false);
        for c in prefix.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_string => escaped = true,
                '"' => in_string = !in_string,
                _ if in_string => {}
                '{' => closers.push('}'),
                '[' => closers.push(']'),
                '}' | ']' => drop(closers.pop()),
                _ => {}
            }
        }
        let closers: String = closers.into_iter().rev().collect();
        let quote = if in_string { "\"" } else { "" };
        serde_json::from_str(&format!("{prefix}{quote}{closers}")).ok()
    })
}

/// Collects the complete parts with their paths; they must never change again.
fn collect_complete(part: &PartialValue<'_>, path: &str, out: &mut Vec<(String, Value)>) {
    if part.is_complete() {
        out.push((path.to_owned(), part.to_value()));
    }
    for (index, item) in part.items().enumerate() {
        collect_complete(&item, &format!("{path}/{index}"), out);
    }
    for (key, member) in part.members() {
        let key = key.replace('~', "~0").replace('/', "~1");
        collect_complete(&member, &format!("{path}/{key}"), out);
    }
}

#[test]
fn partial_value_equals_longest_valid_prefix() {
    for (before, document) in DOCUMENTS {
        let text = format!("{before}{document}\n```\nThat's [all] {{of}} it.");
        for (cut, _) in text.char_indices().filter(|(cut, _)| *cut >= before.len()) {
            let received = text.get(..cut).unwrap();
            let mut partial = Partial::new();
            partial.push(received);
            let partial_value = partial.value().map(|value| value.to_value());
            let document = document.trim_end();
            let received = received.get(before.len()..).unwrap();
            let received = received.get(..document.len()).unwrap_or(received);
            // There is no value before its bracket.
            let expected = Some(received).filter(|received| !received.trim().is_empty());
            assert_eq!(partial_value, expected.and_then(longest_prefix), "{received:?}");
        }
    }
}

#[test]
fn result_is_independent_of_chunks() {
    for (before, document) in DOCUMENTS {
        let text = format!("{before}{document}\n```");
        let mut by_one = Partial::new();
        for (cut, c) in text.char_indices() {
            let (first, second) = text.split_at(cut);
            let mut whole = Partial::new();
            whole.push(first);
            let expected_value = |partial: &Partial| partial.value().map(|value| value.to_value());
            assert_eq!(expected_value(&whole), expected_value(&by_one), "{first:?}");
            whole.push(second);
            assert_eq!(
                whole.value().unwrap().to_value(),
                serde_json::from_str::<Value>(document).unwrap()
            );
            assert!(whole.value().unwrap().is_complete());
            assert_eq!(whole.finish(), parse(&text));
            by_one.push(c.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(by_one.finish(), parse(&text));
    }
}

#[test]
fn complete_parts_are_stable_and_one_path_grows() {
    for (before, document) in DOCUMENTS {
        // The second value of a duplicate key replaces the first.
        if document.contains("\"five\"") {
            continue;
        }
        let whole: Value = serde_json::from_str(document).unwrap();
        let mut partial = Partial::new();
        partial.push(before);
        let mut last = 0;
        for c in document.chars() {
            partial.push(c.encode_utf8(&mut [0; 4]));
            let Some(partial_value) = partial.value() else { continue };
            let mut parts = Vec::new();
            collect_complete(&partial_value, "", &mut parts);
            for (path, value) in &parts {
                assert_eq!(whole.pointer(path), Some(value), "{path} in {}", partial.text());
            }
            assert!(parts.len() >= last, "{}", partial.text());
            last = parts.len();

            let mut growing = Some(partial_value);
            while let Some(part) = growing.take() {
                let inner = part.items().chain(part.members().map(|(_, part)| part));
                let mut open: Vec<_> = inner.filter(|part| !part.is_complete()).collect();
                assert!(open.len() <= 1, "{}", partial.text());
                growing = open.pop();
            }
        }
    }
}

#[test]
fn scalar_grows_until_complete() {
    for (text, expected_value, is_complete) in [
        ("[12", Some(json!(12)), false),
        ("[12 ", Some(json!(12)), true),
        ("[12]", Some(json!(12)), true),
        ("[-", None, false),
        ("[1.", Some(json!(1)), false),
        ("[1.5e", Some(json!(1.5)), false),
        ("[1e999", None, false),
        ("[tru", None, false),
        ("[true", Some(json!(true)), true),
        ("[\"", Some(json!("")), false),
        ("[\"a\\", Some(json!("a")), false),
        ("[\"a\\u00e", Some(json!("a")), false),
        ("[\"a\\ud83d", Some(json!("a")), false),
        ("[\"a\\ud83d\\ude0", Some(json!("a")), false),
        ("[\"a\\ud83d\\ude00", Some(json!("a😀")), false),
        ("[\"a\"", Some(json!("a")), true),
        ("[\"a\nb\tc", Some(json!("a\nb\tc")), false),
    ] {
        let mut partial = Partial::new();
        partial.push(text);
        let item = partial.value().unwrap().item(0);
        assert_eq!(item.as_ref().map(PartialValue::to_value), expected_value, "{text}");
        assert_eq!(item.is_some_and(|item| item.is_complete()), is_complete, "{text}");
    }
}

#[test]
fn invalid_json_stops_partial_value() {
    for (text, expected_value) in [
        (r#"{"a": 1, b: 2}"#, Some(json!({"a": 1}))),
        (r#"{"a": 1 "b": 2}"#, Some(json!({"a": 1}))),
        (r#"{"a": "x" y"}"#, Some(json!({"a": "x"}))),
        (r#"{"a": ["C:\dir"]}"#, Some(json!({"a": ["C:"]}))),
        (r#"{"a": [1, 2x]}"#, Some(json!({"a": [1, 2]}))),
        (r#"{"a": [1, 02]}"#, Some(json!({"a": [1, 0]}))),
        (r#"{"a": [1, True]}"#, Some(json!({"a": [1]}))),
        (r#"{"a": [1, trip]}"#, Some(json!({"a": [1]}))),
        (r#"{"a": [1}"#, Some(json!({"a": [1]}))),
        // Brackets before the first value may have been prose.
        (r#"["\ud83d!", 1]"#, None),
        (r#"["a", "\ud83dx", 1]"#, Some(json!(["a", ""]))),
        (r#"["a", "\ud83d\n", 1]"#, Some(json!(["a", ""]))),
        (r#"["a", "\ude00", 1]"#, Some(json!(["a", ""]))),
    ] {
        let mut partial = Partial::new();
        partial.push(text);
        assert_eq!(partial.value().map(|value| value.to_value()), expected_value, "{text}");
        assert!(partial.value().is_none_or(|value| !value.is_complete()), "{text}");
        assert_eq!(partial.finish(), parse(text));
    }
}

#[test]
fn invalid_number_is_never_complete() {
    let mut partial = Partial::new();
    partial.push("[true, 12th");
    let last = partial.value().unwrap().item(1).unwrap();
    assert_eq!(last.to_value(), 12);
    assert!(!last.is_complete());
}

#[test]
fn duplicate_key_appears_once() {
    let mut partial = Partial::new();
    partial.push(r#"{"a": 1, "b": 2, "a": "thr"#);
    let partial_value = partial.value().unwrap();
    let members: Vec<_> =
        partial_value.members().map(|(key, part)| (key, part.to_value())).collect();
    assert_eq!(members, [("b", json!(2)), ("a", json!("thr"))]);
    assert_eq!(partial_value.get("a").unwrap().as_str(), Some("thr"));
}

#[test]
fn finish_parses_whole_text() {
    let mut partial = Partial::new();
    partial.push("As in {\"a\": 1} or {\"a\":");
    assert_eq!(partial.value().unwrap().to_value(), json!({"a": 1}));
    partial.push(" 1}");
    let parsed = partial.finish().unwrap();
    assert_eq!(parsed.fixes.last().unwrap().kind, FixKind::Repeat);
    assert_eq!(Partial::new().finish(), parse(""));
}

#[test]
fn nesting_depth_is_limited() {
    let mut partial = Partial::new();
    partial.push(&"[".repeat(100_000));
    let (mut depth, mut part) = (0, partial.value());
    while let Some(inner) = part {
        depth += 1;
        part = inner.item(0);
    }
    assert_eq!(depth, 127);
    partial.push(&"]".repeat(100_000));
    assert!(!partial.value().unwrap().is_complete());
}

/// Counts steps instead of time.
#[test]
fn partial_steps_are_linear_in_text_length() {
    let units = [
        "[",
        "{",
        "{\"a\":",
        "\"",
        "\\",
        "\\u00e5",
        "[\"a\",",
        "[1,",
        "1",
        "a",
        "å",
        "]",
        "{x}",
        "<think>",
        "</think>",
        "[[x",
        ">",
        "[]",
        "{\"a\":\"",
        "\"a\\n",
        "tru",
        "[true",
        "-",
        "[-1.e",
    ];
    for unit in units {
        for before in ["", "[", "{\"a\": \"", "[\"a\", 1", "<think>", "[] "] {
            for chunk in [1, 7, usize::MAX] {
                let text = before.to_owned() + &unit.repeat(20_000 / unit.len());
                let (mut parser, mut steps, mut received) =
                    (IncrementalParser::default(), 0, String::new());
                let chars: Vec<_> = text.chars().collect();
                for chunk in chars.chunks(chunk.min(chars.len())) {
                    received.extend(chunk);
                    parser.advance(&received, &mut steps);
                }
                assert!(steps <= 3 * text.len(), "{before}{unit}: {steps} for {}", text.len());
            }
        }
    }
}
