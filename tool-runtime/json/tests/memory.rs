//! The memory of a parse, counted by an allocator in a separate program.

use serde_json::{Value, json};
use tool_json::{Options, ParseErrorKind, parse_as_with, parse_with};

/// The most memory that a repair takes, as a multiple of the text.
const FACTOR: u64 = 128;

/// Damaged units, which are repeated as the items of a list or the members of an object.
const UNITS: [(&str, &str); 24] = [
    ("[", "1,"),
    ("[", "+1,"),
    ("[", "1 "),
    ("[", "1,,"),
    ("[", "[],"),
    ("[", "[1],"),
    ("[", "{},"),
    ("[", "{'':0},"),
    ("[", "{a:1},"),
    ("[", "{\"\":0},"),
    ("[", "'',"),
    ("[", "\"\","),
    ("[", "a,"),
    ("[", "True,"),
    ("[", "()"),
    ("[", "/**/1,"),
    ("{\"a\":\"", "\n"),
    ("{\"a\":\"", "\\'"),
    ("{\"a\":\"", "word "),
    ("x ", "[1] "),
    ("x ", "`a` <b> "),
    ("", "[1]\n"),
    ("", "{\"a\":1} "),
    ("", "<a>"),
];

fn text(start: &str, unit: &str, len: usize) -> String {
    start.to_owned() + &unit.repeat((len - start.len()) / unit.len())
}

fn peak(parse: impl FnOnce()) -> u64 {
    allocation_counter::measure(parse).bytes_max
}

#[test]
fn repair_takes_a_bounded_multiple_of_its_text() {
    const LEN: usize = 1 << 14;
    let options = Options::default();
    let open_schema = json!({});
    let strings = json!({
        "type": "array",
        "items": { "type": ["string", "array"], "items": { "type": "string" } },
    });
    for (start, unit) in UNITS {
        for text in [
            text(start, unit, LEN),
            text(start, unit, LEN) + "]",
            format!("```\n{}", text(start, unit, LEN)),
        ] {
            for schema in [None, Some(&open_schema), Some(&strings)] {
                let bytes = peak(|| {
                    drop(match schema {
                        Some(schema) => parse_as_with(&text, schema, &options),
                        None => parse_with(&text, &options),
                    });
                });
                let limit = FACTOR * u64::try_from(text.len()).unwrap();
                println!(
                    "{start}{unit} {}: {:.1}",
                    schema.is_some(),
                    bytes as f64 / text.len() as f64
                );
                assert!(bytes <= limit, "{start}{unit}, {schema:?}: {bytes} bytes of {limit}");
            }
        }
    }
}

#[test]
fn long_damaged_text_is_refused_in_little_memory() {
    const LEN: usize = 4 << 20;
    let refused = |text: &str, schema: Option<&Value>| {
        let bytes = peak(|| {
            let error = match schema {
                Some(schema) => parse_as_with(text, schema, &Options::default()).unwrap_err(),
                None => parse_with(text, &Options::default()).unwrap_err(),
            };
            assert_eq!(error.kind(), ParseErrorKind::Limit);
            assert!(error.to_string().contains("too long to repair"), "{error}");
        });
        assert!(bytes < 1 << 20, "{bytes} bytes");
    };
    for (start, unit) in UNITS {
        refused(&text(start, unit, LEN), None);
    }
    refused(&text("[", "1,", LEN), Some(&json!({ "type": "array" })));
}
