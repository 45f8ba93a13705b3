//! The kinds of repairs with a second reading, and texts that show it.
//!
//! A kind of risk [`Risk::Lossless`] has one meaning wherever it occurs. The match is exhaustive,
//! so that a new kind cannot be added without this decision.

use serde_json::{Value, json};

use crate::{FixKind, Options, Parsed, Risk, parse_as, parse_with};

/// A text for which another value may be intended.
type Example = &'static str;

/// Returns a text with this repair that has a second reading; `None` if there is none.
const fn second_reading(kind: FixKind) -> Option<Example> {
    use FixKind::*;
    Some(match kind {
        // The removed text is not part of any value.
        Bom | Whitespace | Fence | Tag | Reasoning | Comment | Comma | Colon => return None,
        // The same text, spelled in another way.
        Escaped | Control | Literal | Quotes | UnquotedKey | Punctuation | Equals
        | Concatenation => {
            return None;
        }
        // The schema allows nothing else.
        EncodedTwice | Unquoted | Quoted | IntegralNumber | NullMember => return None,
        Call => r#"double({"a": 1})"#,
        Prose => r#"Never {"a": 1}"#,
        Repeat => r#"{"a": 1} {"a": 1}"#,
        Empty => "",
        QuotedBoolean => r#"{"text": True}"#,
        IntoArray => r#"{"list": "a b"}"#,
        OutOfArray => r#"{"text": ["a"]}"#,
        KeyCase => r#"{"Text": "a"}"#,
        EnumCase => r#"{"choice": "A"}"#,
        Envelope => r#"{"name": "f", "arguments": {"text": "a"}}"#,
        Escape => r#"{"a": "\d"}"#,
        DoubtfulEscape => r#"{"a": "it costs \$5"}"#,
        EscapedQuote => r#"{"a": "it\'s"}"#,
        Undefined => r#"{"a": undefined}"#,
        RepeatedComma => "[1,, 2]",
        Semicolon => r#"{"a": 1; "b": 2}"#,
        StringPrefix => r#"{"a": b'x'}"#,
        DoubledQuotes => r#"{"a": ""x y""}"#,
        UnquotedText => "{a: x}",
        Number => r#"{"a": +4712345}"#,
        LeadingZeros => r#"{"number": 0189}"#,
        Tuple => r#"{"a": (1)}"#,
        RepeatedMember => r#"{"a": 1, "a": 1,}"#,
        MissingComma => "[1 2]",
        MissingColon => r#"{"a" 1}"#,
        DoubledBraces => r#"{{"a": 1}}"#,
        MissingOpener => r#""a": 1}"#,
        MissingCloser => r#"{"a": [1, 2}"#,
        WrongCloser => r#"{"a": [1, 2)}"#,
        ExtraCloser => r#"{"a": 1}}"#,
        InnerQuotes => r#"{"a": "say "x" now"}"#,
        MissingQuote => r#"{"a: 1}"#,
        TruncatedText => r#"{"a": "x"#,
        TruncatedLiteral => r#"{"flag": tr"#,
        TruncatedMember => r#"{"a": 1, "b"#,
        TruncatedList => "[1, 2, ",
    })
}

/// All kinds, in the order of their declaration.
fn kinds() -> Vec<FixKind> {
    let names = include_str!("fix.rs").split("pub enum FixKind {").nth(1).unwrap_or_default();
    let names = names.split("\n}").next().unwrap_or_default().lines();
    let is_name = |line: &&str| line.ends_with(',') && !line.trim_start().starts_with('/');
    let declared = names.filter(is_name).count();
    let all = [
        FixKind::Bom,
        FixKind::Whitespace,
        FixKind::Fence,
        FixKind::Tag,
        FixKind::Reasoning,
        FixKind::Call,
        FixKind::Prose,
        FixKind::Repeat,
        FixKind::Escaped,
        FixKind::EncodedTwice,
        FixKind::Empty,
        FixKind::Unquoted,
        FixKind::Quoted,
        FixKind::QuotedBoolean,
        FixKind::IntegralNumber,
        FixKind::NullMember,
        FixKind::IntoArray,
        FixKind::OutOfArray,
        FixKind::KeyCase,
        FixKind::EnumCase,
        FixKind::Envelope,
        FixKind::Control,
        FixKind::Escape,
        FixKind::DoubtfulEscape,
        FixKind::EscapedQuote,
        FixKind::Literal,
        FixKind::Undefined,
        FixKind::Comment,
        FixKind::Comma,
        FixKind::RepeatedComma,
        FixKind::Colon,
        FixKind::Semicolon,
        FixKind::Quotes,
        FixKind::StringPrefix,
        FixKind::DoubledQuotes,
        FixKind::UnquotedKey,
        FixKind::UnquotedText,
        FixKind::Number,
        FixKind::LeadingZeros,
        FixKind::Punctuation,
        FixKind::Equals,
        FixKind::Tuple,
        FixKind::Concatenation,
        FixKind::RepeatedMember,
        FixKind::MissingComma,
        FixKind::MissingColon,
        FixKind::DoubledBraces,
        FixKind::MissingOpener,
        FixKind::MissingCloser,
        FixKind::WrongCloser,
        FixKind::ExtraCloser,
        FixKind::InnerQuotes,
        FixKind::MissingQuote,
        FixKind::TruncatedText,
        FixKind::TruncatedLiteral,
        FixKind::TruncatedMember,
        FixKind::TruncatedList,
    ];
    assert_eq!(all.len(), declared, "every kind is listed");
    all.into()
}

fn schema() -> Value {
    json!({"properties": {
        "text": {"type": "string"},
        "list": {"type": "array"},
        "choice": {"enum": ["a"]},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
    }})
}

#[test]
fn kind_with_a_second_reading_is_never_lossless() {
    for kind in kinds() {
        let is_lossless = kind.risk() == Risk::Lossless;
        assert_eq!(is_lossless, second_reading(kind).is_none(), "{kind:?}");
    }
}

#[test]
fn example_has_the_repair_and_is_not_lossless() {
    let has = |parsed: &Parsed, kind| parsed.fixes.iter().any(|fix| fix.kind == kind);
    for kind in kinds() {
        let Some(text) = second_reading(kind) else { continue };
        let mut schema = schema();
        if !text.starts_with('[') {
            schema["type"] = "object".into();
        }
        let parsed = parse_as(text, &schema).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert!(has(&parsed, kind), "{kind:?}: {:?}", parsed.fixes);
        assert!(parsed.risk() > Risk::Lossless, "{kind:?}");
    }
}

/// Values whose texts look alike when they are damaged. No text has a JSON escape such as `\n` as
/// content: an escape that JSON knows has one meaning.
fn values() -> Vec<Value> {
    let texts = [
        "it's", r"it\'s", "$5", r"\$5", "`x`", r"\`x\`", "a\"", "a", "24", "24\"", r"\d", "d",
        "a, b", "a\nb", "true", "True", "1", "é", r"\u00e9", "(a)", "f'a'", "u'a'", "<a>",
        "a // b", "{}", "", "a # b", "x\\",
    ];
    let mut values: Vec<Value> = texts.iter().map(|text| json!({"a": text})).collect();
    values.extend(texts.iter().map(|text| json!([text, 1])));
    values.extend([
        json!([1, 2]),
        json!([1, 0, 2]),
        json!([1]),
        json!(1),
        json!([[1]]),
        json!({"a": [1]}),
        json!({"a": 1}),
        json!({"a": [1, 2]}),
        json!({"a": null}),
        json!({"a": true}),
        json!({}),
        json!({"a": 1, "b": 2}),
        json!([1, null, 2]),
        json!({"a": {"b": 1}}),
    ]);
    values
}

/// Spellings that models replace by others.
const REPLACEMENTS: [(&str, &str); 29] = [
    ("\\\\", "\\"),
    ("\\\"", "\""),
    ("'", "\\'"),
    ("$", "\\$"),
    ("`", "\\`"),
    (",", ",,"),
    (",", ""),
    (",", ";"),
    (":", ""),
    ("[", "("),
    ("]", ")"),
    ("[", ""),
    ("]", ""),
    ("}", ""),
    ("{", ""),
    ("null", ""),
    ("0,", ","),
    ("null", "None"),
    (":true", ":True"),
    ("\\n", "\n"),
    ("\"", "\"\""),
    ("}", "}}"),
    ("1", "01"),
    ("1", "+1"),
    ("2]", "2,]"),
    ("}", ",}"),
    ("[1", "[,1"),
    ("\"a\"", "a"),
    ("\":\"", "\":u\""),
];

/// Returns the texts that one or two kinds of damage make of the JSON of a value.
fn damages(json: &str) -> Vec<String> {
    let mut texts = vec![json.to_owned()];
    for (from, to) in REPLACEMENTS {
        texts.push(json.replace(from, to));
        texts.push(json.replacen(from, to, 1));
        if let Some((before, after)) = json.rsplit_once(from) {
            texts.push(format!("{before}{to}{after}"));
        }
    }
    let once = texts.clone();
    texts.push(json.replace('"', "'"));
    let twice = |text: &String| REPLACEMENTS.map(|(from, to)| text.replace(from, to));
    texts.extend(once.iter().flat_map(twice));
    texts.extend(once.iter().map(|text| format!("f({text})")));
    texts.extend(once.iter().map(|text| format!("({text})")));
    texts.extend(once.iter().filter_map(|text| text.get(..text.len() - 1).map(str::to_owned)));
    texts
}

/// A text that two values become is refused, or its reading is not lossless.
#[test]
fn lossless_reading_has_one_source() {
    let mut sources: std::collections::BTreeMap<String, Vec<Value>> = Default::default();
    for value in values() {
        for text in damages(&value.to_string()) {
            let of_text = sources.entry(text).or_default();
            if !of_text.contains(&value) {
                of_text.push(value.clone());
            }
        }
    }
    let options = Options::default().max_risk(Risk::Lossless);
    let mut shared = 0;
    for (text, sources) in &sources {
        // Valid JSON has one meaning, whatever it was made of.
        if sources.len() < 2 || serde_json::from_str::<Value>(text).is_ok() {
            continue;
        }
        shared += 1;
        if let Ok(parsed) = parse_with(text, &options) {
            panic!("{text:?} may stand for {sources:?}, and is read as {}", parsed.value);
        }
    }
    assert!(shared > 20, "only {shared} texts have two sources");
}
