//! What holds for every text, not only for those that someone thought of.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use tool_runtime::json::{Parsed, parse, parse_as};

fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-zåø€😀 ]{0,6}",
        select(vec![
            "```",
            "</tool_call>",
            "{\"a\": 1}",
            "]}",
            "\\",
            "\"",
            "<think>",
            "\n",
            "\u{feff}",
            "f({});"
        ])
        .prop_map(String::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(|number: f64| json!(number)),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((text.clone(), inner), 0..5)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    vec(("[a-zé]{1,5}", values()), 0..4)
        .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into())
}

fn printed() -> impl Strategy<Value = (Value, String)> {
    (objects(), any::<bool>()).prop_map(|(value, pretty)| {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        (value, text.unwrap())
    })
}

/// What may stand before and after a value without being a part of one.
fn wrappings() -> impl Strategy<Value = (String, String)> {
    let pair = select(vec![
        ("", ""),
        ("\u{feff}", "\u{a0}"),
        ("```json\n", "\n```"),
        ("~~~~\n", "\n~~~~"),
        ("```", ""),
        ("<tool_call>\n", "\n</tool_call>"),
        ("<think>Is it {x} or {\"a\": </think>", "<|im_end|>"),
        ("perhaps {\"a\": 1}</think>", "</s>"),
        ("[TOOL_CALLS] ", "[/TOOL_CALLS]"),
        ("Use {city} så: ", ". That's all."),
        ("As [see below] says — ", " 😀"),
    ]);
    // The call is the innermost: around more it would have other arguments.
    let call = select(vec![("", ""), ("", ""), ("shop.find(", ");")]);
    (vec(pair, 1..3), call).prop_map(|(pairs, call)| {
        let before: String = pairs.iter().map(|pair| pair.0).collect();
        let after: String = pairs.iter().rev().map(|pair| pair.1).collect();
        (before + call.0, call.1.to_owned() + &after)
    })
}

/// Two members of an object that has lost its brackets, the second of which is an object.
fn members() -> impl Strategy<Value = String> {
    let quote =
        select(vec![("", ""), ("\"", "\""), ("'", "'"), ("“", "”"), ("`", "`"), ("**", "**")]);
    let sign = select(vec![":", ": ", " : ", "=", " = ", " => ", ":\u{a0}", ":\n"]);
    let end = select(vec![",", ", ", "\n", ",\n", "; ", "&"]);
    let value = select(vec!["\"drafts\"", "5", "true", "drafts", "'x'", "[1]", "null"]);
    let key = "[a-z]{1,5}_";
    (quote, sign, end, value, key, key, objects(), any::<bool>()).prop_map(
        |(quote, sign, end, value, first, second, object, object_last)| {
            let key = |key| format!("{}{key}{}{sign}", quote.0, quote.1);
            let (value, object) = (value.to_owned(), object.to_string());
            let (one, two) = if object_last { (value, object) } else { (object, value) };
            format!("{}{one}{end}{}{two}", key(first), key(second))
        },
    )
}

/// Fragments that meet in damaged texts more often than random characters do.
fn rubble() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        "\\\"",
        ":",
        ",",
        " ",
        "\n",
        "a",
        "å",
        "😀",
        "1",
        "true",
        "{\"a\": 1}",
        "[1]",
        "{x}",
        "```",
        "```json\n",
        "~~~",
        "<t>",
        "</t>",
        "<|e|>",
        "<think>",
        "</think>",
        "[A]",
        "f(",
        ")",
        ";",
        "\u{feff}",
        "\u{a0}",
        "'",
        "{\\\"a\\\": 1}",
        "\"a\"",
    ]);
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn without_fixes(text: &str, parsed: &Parsed) -> String {
    let mut left = text.to_owned();
    for fix in parsed.fixes.iter().rev() {
        left.replace_range(fix.span.clone(), "");
    }
    left
}

/// Every key, string and number in the value, as JSON spells it.
fn atoms(value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| atoms(item, out)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            out.push(key.as_str().into());
            atoms(value, out);
        }),
        atom => out.push(atom.clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn valid_json_is_left_alone(value in values(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let parsed = parse(&text).unwrap();
        prop_assert_eq!(parsed.value, serde_json::from_str::<Value>(&text).unwrap());
        prop_assert!(parsed.fixes.is_empty());
    }

    /// The fixes say what went: what is left is JSON by itself.
    #[test]
    fn a_wrapped_value_comes_out_whole((value, text) in printed(), (before, after) in wrappings()) {
        let wrapped = format!("{before}{text}{after}");
        for parsed in [parse(&wrapped), parse_as(&wrapped, &json!({"type": "object"}))] {
            let parsed = parsed.map_err(|error| TestCaseError::fail(format!("{wrapped}: {error}")))?;
            prop_assert_eq!(&parsed.value, &value);
            prop_assert!(parsed.fixes.iter().all(|fix| wrapped.get(fix.span.clone()).is_some()));
            prop_assert!(parsed.fixes.is_sorted_by(|a, b| a.span.end <= b.span.start));
            prop_assert_eq!(serde_json::from_str::<Value>(&without_fixes(&wrapped, &parsed)).unwrap(), value.clone());
        }
    }

    /// A document that was cut off anywhere is refused, or the answer says that it was cut off.
    #[test]
    fn a_prefix_is_told_from_the_whole((value, text) in printed(), (before, after) in wrappings()) {
        let wrapped = format!("{before}{text}{after}");
        let whole = before.len() + text.len();
        for (end, _) in wrapped.char_indices() {
            let prefix = &wrapped[..end];
            if end >= whole {
                prop_assert!(parse(prefix).map_or(true, |parsed| parsed.value == value), "{} gave another", prefix);
            } else if end > before.len() {
                prop_assert!(parse(prefix).map_or(true, |parsed| parsed.truncated), "{} gave a value", prefix);
            }
        }
    }

    #[test]
    fn no_member_is_the_whole(text in members(), (before, after) in wrappings()) {
        let wrapped = format!("{before}{text}{after}");
        for text in [&text, &wrapped] {
            prop_assert!(parse(text).is_err(), "{} gave a value", text);
            prop_assert!(parse_as(text, &json!({"type": "object"})).is_err(), "{} gave an object", text);
        }
    }

    /// Decoding from the text of a value is decoding from what the model wrote.
    #[test]
    fn the_text_of_a_value_is_as_spelled((value, text) in printed(), (before, after) in wrappings()) {
        let wrapped = parse(&format!("{before}{text}{after}")).unwrap();
        prop_assert_eq!(wrapped.json(), &text);
        let twice = Value::from(text.as_str()).to_string();
        let decoded = parse_as(&twice, &json!({"type": "object"})).unwrap();
        prop_assert_eq!(decoded.json(), &text);
        if value.as_object().is_some_and(|members| !members.is_empty()) {
            let escaped = parse(twice.get(1..twice.len() - 1).unwrap()).unwrap();
            prop_assert_eq!(escaped.json(), &text);
        }
    }

    /// What has lost its head is refused, unless the rest begins like a value.
    #[test]
    fn no_suffix_yields_a_part((_, text) in printed()) {
        for (start, _) in text.char_indices().skip(1) {
            let suffix = &text[start..];
            let is_valid = serde_json::from_str::<Value>(suffix).is_ok();
            if !is_valid && !suffix.trim_start().starts_with(['{', '[']) {
                prop_assert!(parse(suffix).is_err(), "{} gave a value", suffix);
            }
        }
    }

    #[test]
    fn whatever_is_read_was_written(text in rubble()) {
        for parsed in [parse(&text), parse_as(&text, &json!({"type": ["object", "null"]}))] {
            let Ok(parsed) = parsed else { continue };
            prop_assert!(parsed.fixes.iter().all(|fix| text.get(fix.span.clone()).is_some()));
            let again = parse(&parsed.value.to_string()).unwrap();
            prop_assert_eq!(&again.value, &parsed.value);
            prop_assert!(again.fixes.is_empty());

            let mut spelled = Vec::new();
            atoms(&parsed.value, &mut spelled);
            let bare = |text: &str| text.replace(|c: char| c == '\\' || c.is_control(), "");
            let plain = bare(&text.replace("\\t", "").replace("\\b", "").replace("\\f", ""));
            for atom in spelled {
                let atom = atom.as_str().map_or_else(|| atom.to_string(), bare);
                prop_assert!(plain.contains(&atom), "{} is not in {}", atom, text);
            }
        }
    }

    #[test]
    fn errors_are_short_and_point_into_the_text(text in rubble()) {
        if let Err(error) = parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset()));
            prop_assert!(error.to_string().chars().count() < 320, "{}", error);
        }
    }
}
