//! Properties of the parser that hold for every text.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use tool_json::{Level, Options, Parsed, Partial, Risk, parse, parse_as, parse_with};

use crate::{CORPUS, corpus, invariants, provenance};

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

/// Text that may surround a value without making it a part of something.
fn surroundings() -> impl Strategy<Value = (String, String)> {
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
    // The call is the innermost wrapping: around more it would have other arguments.
    let call = select(vec![("", ""), ("", ""), ("shop.find(", ");")]);
    (vec(pair, 1..3), call).prop_map(|(pairs, call)| {
        let before: String = pairs.iter().map(|pair| pair.0).collect();
        let after: String = pairs.iter().rev().map(|pair| pair.1).collect();
        (before + call.0, call.1.to_owned() + &after)
    })
}

/// Two members of an object without its brackets, one of which is an object.
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
            let (first_value, second_value) =
                if object_last { (value, object) } else { (object, value) };
            format!("{}{first_value}{end}{}{second_value}", key(first), key(second))
        },
    )
}

/// Concatenated fragments that often meet in damaged texts.
fn fragments() -> impl Strategy<Value = String> {
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

/// Returns whether `part` may be the result for a truncated text of `whole`.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| is_part(part, whole)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len()
                && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        _ => part == whole,
    }
}

/// Returns whether a value may become another one as more text arrives; numbers may grow.
fn is_growth(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before
            .iter()
            .all(|(key, before)| after.get(key).is_some_and(|after| is_growth(before, after))),
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len()
                && before.iter().zip(after).all(|(before, after)| is_growth(before, after))
        }
        (Value::Number(_), Value::Number(_)) => true,
        _ => is_part(before, after),
    }
}

/// Pushes `text` in chunks that end at `ends`, and calls `see` after each.
fn push_chunks(
    text: &str,
    ends: &[prop::sample::Index],
    mut observe: impl FnMut(&Partial),
) -> Partial {
    let chars: Vec<char> = text.chars().collect();
    let mut ends: Vec<usize> = ends.iter().map(|end| end.index(chars.len() + 1)).collect();
    ends.push(chars.len());
    ends.sort_unstable();
    let mut partial = Partial::new();
    let mut start = 0;
    for end in ends {
        partial.push(&chars[start..end].iter().collect::<String>());
        observe(&partial);
        start = end;
    }
    partial
}

/// A single change of a text at a position.
#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index),
    Insert(prop::sample::Index, &'static str),
    Replace(prop::sample::Index, &'static str),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let piece = || {
        select(vec![
            "{", "}", "[", "]", "(", ")", "\"", "'", "“", "`", "\\", ":", "：", ",", ",,", "=",
            "=>", "+", "//", "/*", "*/", "#", "\n", "\t", "\0", " ", "1", "-", ".", "e", "_", "a",
            "å", "😀", "T", "None", "...", "```", "</s>", "\u{a0}",
        ])
    };
    let place = any::<prop::sample::Index>;
    let change = prop_oneof![
        place().prop_map(Change::Delete),
        (place(), piece()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (place(), piece()).prop_map(|(at, piece)| Change::Replace(at, piece)),
    ];
    vec(change, 1..5)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text: Vec<String> = text.chars().map(String::from).collect();
    for change in changes {
        let (at, range, piece) = match change {
            Change::Delete(at) => (at, 1, ""),
            Change::Insert(at, piece) => (at, 0, *piece),
            Change::Replace(at, piece) => (at, 1, *piece),
        };
        let at = at.index(text.len() + 1);
        let end = (at + range).min(text.len());
        text.splice(at..end, [piece.to_owned()]);
    }
    text.concat()
}

fn levels() -> impl Strategy<Value = Level> {
    use Level::*;
    select(vec![Strict, Wrapping, Spelling, Structure, Truncation, Schema])
}

fn risks() -> impl Strategy<Value = Risk> {
    select(vec![Risk::Lossless, Risk::Inferred, Risk::Lossy])
}

/// The number of cases; `PROPTEST_CASES=3000` increases it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(512, |text| text.parse().expect("a number"))
}

/// The inputs of all corpus cases.
fn seeds() -> Vec<String> {
    let files = corpus::files(CORPUS);
    files.iter().flat_map(|(_, file)| corpus::cases(file)).map(|case| case.text()).collect()
}

/// Checks the check itself: a value of another text must be reported.
#[test]
fn invented_content_is_detected() {
    for (text, other) in [
        (r#"["Oslo"]"#, r#"["Rome"]"#),
        (r#"["Oslo"]"#, r#"["Os", "x", "lo"]"#),
        (r#"{"a": 1}"#, r#"{"b": 1}"#),
        ("[15]", "[1, 5]"),
        ("[0.5]", "[5]"),
    ] {
        let parsed = parse(text).unwrap();
        assert_eq!(provenance::invented(text, &parsed), None, "{text}");
        assert!(provenance::invented(other, &parsed).is_some(), "{text} is not {other}");
    }
    for (text, spelled) in [
        (r#"["caf\u00e9\nx", 0.5]"#, r#"["café" "x" + .5]"#),
        (r#"["caf\u00e9\nx"]"#, r#"["caf\u00e9\nx"]"#),
        (r#"{"max_results": 1000}"#, "{maxResults: 1_000}"),
    ] {
        assert_eq!(provenance::invented(spelled, &parse(text).unwrap()), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn valid_json_is_unchanged(value in values(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let parsed = parse(&text).unwrap();
        prop_assert_eq!(parsed.value, serde_json::from_str::<Value>(&text).unwrap());
        prop_assert!(parsed.fixes.is_empty());
    }

    /// Removing the spans of the fixes leaves JSON.
    #[test]
    fn wrapped_value_is_extracted_completely((value, text) in printed(), (before, after) in surroundings()) {
        let wrapped = format!("{before}{text}{after}");
        for parsed in [parse(&wrapped), parse_as(&wrapped, &json!({"type": "object"}))] {
            let parsed = parsed.map_err(|error| TestCaseError::fail(format!("{wrapped}: {error}")))?;
            prop_assert_eq!(&parsed.value, &value);
            prop_assert!(parsed.fixes.iter().all(|fix| wrapped.get(fix.span.clone()).is_some()));
            prop_assert!(parsed.fixes.is_sorted_by(|a, b| a.span.end <= b.span.start));
            prop_assert_eq!(serde_json::from_str::<Value>(&without_fixes(&wrapped, &parsed)).unwrap(), value.clone());
        }
    }

    /// A truncated document yields only complete values and prefixes of strings.
    #[test]
    fn prefix_yields_only_written_content((value, text) in printed(), (before, after) in surroundings()) {
        let wrapped = format!("{before}{text}{after}");
        let whole = before.len() + text.len();
        for (end, _) in wrapped.char_indices().filter(|(end, _)| *end > before.len()) {
            let prefix = &wrapped[..end];
            let Ok(parsed) = parse(prefix) else { continue };
            if end >= whole {
                prop_assert!(parsed.value == value, "{} gave {}", prefix, parsed.value);
            } else {
                prop_assert!(is_part(&parsed.value, &value), "{} gave {}", prefix, parsed.value);
                prop_assert!(!parsed.fixes.is_empty());
            }
            prop_assert_eq!(invariants::violation(prefix, &parsed), None, "{}", prefix);
        }
    }

    #[test]
    fn members_without_brackets_are_refused(text in members(), (before, after) in surroundings()) {
        let wrapped = format!("{before}{text}{after}");
        for text in [&text, &wrapped] {
            prop_assert!(parse(text).is_err(), "{} gave a value", text);
            prop_assert!(parse_as(text, &json!({"type": "object"})).is_err(), "{} gave an object", text);
        }
    }

    /// The JSON of the result is the model's spelling.
    #[test]
    fn json_text_keeps_the_spelling((value, text) in printed(), (before, after) in surroundings()) {
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

    /// A document without its start yields nothing. Suffixes that begin with a container or a quote
    /// are excluded: the rest might be stray closing brackets or a truncated text.
    #[test]
    fn suffix_without_start_is_refused((_, text) in printed()) {
        for (start, _) in text.char_indices().skip(1) {
            let suffix = &text[start..];
            if !suffix.trim_start().starts_with(['{', '[', '"']) && serde_json::from_str::<Value>(suffix).is_err() {
                prop_assert!(parse(suffix).is_err(), "{} gave a value", suffix);
            }
        }
    }

    #[test]
    fn fragments_yield_only_written_content(text in fragments()) {
        for parsed in [parse(&text), parse_as(&text, &json!({"type": ["object", "null"]}))] {
            let Ok(parsed) = parsed else { continue };
            prop_assert_eq!(invariants::violation(&text, &parsed), None, "{}", text);
            prop_assert_eq!(provenance::invented(&text, &parsed), None, "{}", text);
        }
    }

    #[test]
    fn damaged_document_yields_only_written_content((_, text) in printed(), changes in changes()) {
        let text = changed(&text, &changes);
        for parsed in [parse(&text), parse_as(&text, &json!({"type": "object"}))] {
            let Ok(parsed) = parsed else { continue };
            prop_assert_eq!(invariants::violation(&text, &parsed), None, "{}", text);
            prop_assert_eq!(provenance::invented(&text, &parsed), None, "{}", text);
        }
    }

    /// Parses the corpus inputs and texts near them.
    #[test]
    fn damaged_corpus_case_yields_only_written_content(text in select(seeds()), changes in changes()) {
        let text = changed(&text, &changes);
        for parsed in [parse(&text), parse_as(&text, &json!({"type": "object"}))] {
            let Ok(parsed) = parsed else { continue };
            prop_assert_eq!(invariants::violation(&text, &parsed), None, "{}", text);
            prop_assert_eq!(provenance::invented(&text, &parsed), None, "{}", text);
        }
    }

    /// A schema that allows everything changes nothing.
    #[test]
    fn true_schema_changes_nothing(text in select(seeds()), changes in changes()) {
        for text in [changed(&text, &changes), text] {
            let Ok(parsed) = parse(&text) else { continue };
            prop_assert_eq!(parse_as(&text, &json!(true)).unwrap(), parsed, "{}", text);
        }
    }

    /// A limit refuses texts, and never changes how a text is read.
    #[test]
    fn limit_only_refuses(text in select(seeds()), changes in changes(), level in levels(), risk in risks(), fixes in 0_usize..4) {
        for text in [changed(&text, &changes), text] {
            let parsed = parse(&text);
            let is_within = |is_within: fn(&Parsed, Level, Risk, usize) -> bool| {
                parsed.clone().ok().filter(|parsed| is_within(parsed, level, risk, fixes))
            };
            for (options, expected) in [
                (Options::default(), parsed.clone().ok()),
                (
                    Options::default().max_level(level),
                    is_within(|parsed, level, _, _| parsed.level() <= level),
                ),
                (
                    Options::default().max_risk(risk),
                    is_within(|parsed, _, risk, _| parsed.risk() <= risk),
                ),
                (
                    Options::default().max_fixes(fixes),
                    is_within(|parsed, _, _, fixes| parsed.fixes.len() <= fixes),
                ),
                (Options::default().max_bytes(text.len()), parsed.clone().ok()),
            ] {
                prop_assert_eq!(parse_with(&text, &options).ok(), expected, "{} with {:?}", text, options);
            }
            if let Some(short) = text.len().checked_sub(1) {
                prop_assert!(parse_with(&text, &Options::default().max_bytes(short)).is_err());
            }
        }
    }

    /// The result does not depend on the chunks.
    #[test]
    fn result_is_independent_of_chunks(text in select(seeds()), changes in changes(), ends in vec(any::<prop::sample::Index>(), 0..8)) {
        for text in [changed(&text, &changes), text] {
            prop_assert_eq!(push_chunks(&text, &ends, |_| {}).finish(), parse(&text), "{}", text);
        }
    }

    /// The partial value of a valid text is always a part of the value, and only grows.
    #[test]
    fn partial_value_is_a_growing_part((value, text) in printed(), ends in vec(any::<prop::sample::Index>(), 0..8)) {
        let mut values = vec![Value::Object(Map::new())];
        let partial = push_chunks(&text, &ends, |partial| {
            values.extend(partial.value().map(|partial_value| partial_value.to_value()));
        });
        prop_assert!(partial.value().unwrap().is_complete());
        prop_assert_eq!(partial.value().unwrap().to_value(), value);
        values.push(partial.finish().unwrap().value);
        for pair in values.windows(2) {
            prop_assert!(is_growth(&pair[0], &pair[1]), "{} became {}", pair[0], pair[1]);
        }
    }

    /// Tests all floats that serde_json prints or parses, not only those that are easy to print.
    #[test]
    fn valid_float_is_unchanged(number in any::<f64>().prop_filter("JSON has it", |number| number.is_finite()), exponent in -320..300) {
        for text in [number.to_string(), format!("{number:e}"), format!("[{}e{exponent}]", number.to_bits())] {
            let parsed = parse(&text);
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => {
                    let parsed = parsed.unwrap();
                    prop_assert_eq!(parsed.value, value);
                    prop_assert!(parsed.fixes.is_empty());
                }
                Err(_) => prop_assert!(parsed.is_err(), "{} gave a value", text),
            }
        }
    }

    #[test]
    fn error_message_is_short_and_offset_is_valid(text in fragments()) {
        if let Err(error) = parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset()));
            prop_assert!(error.to_string().chars().count() < 320, "{}", error);
        }
    }
}
