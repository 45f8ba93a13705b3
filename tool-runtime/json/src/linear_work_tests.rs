//! Checks that the work is linear in the length of any text.

use super::*;
use crate::locate::STEPS_PER_BYTE;

const LEN: usize = 200_000;

/// Counts steps instead of time, so that the test gives the same result on every machine.
#[test]
fn parse_steps_are_linear_in_text_length() {
    let any = Value::Bool(true);
    let objects = serde_json::json!({"type": "object"});
    let units = [
        "[",
        "{",
        "{\"a\":",
        "\"",
        "\\",
        "`",
        "```",
        "```json\n",
        "~~~",
        "{ prose {",
        "]}",
        "[1,",
        "[]",
        "{}",
        "{\"a\":1}",
        "{x}",
        "<",
        "<a",
        "<a>",
        "</think>",
        "<think>",
        "[A",
        "[/A]",
        "f(",
        "f([])",
        "\"a\",",
        "{\\\"a\\\":1}",
        "\"{\\\"a\\\":1}\"",
        "[] ",
        " ",
        "\u{a0}",
        "å",
        "9",
        "t",
        "\"a\":[1],",
        "[1 2]",
        "[a]\n",
        "]</think>",
        "[1 2]</think>",
        "x(",
        ",",
        "aaaa",
        "a:",
        "a::",
        "{\"a\"::",
        "\"a\";",
        "{\"a\":\"b\"; ",
        "{\"a\":1;",
        "true ",
        "[true +",
        "'a'b",
        "A: [1]\n",
        "[0,0",
        "{:::",
        "a \"b\" c ",
        "a \"b\", c ",
        "\": ",
        "\", \"",
        "'a' ",
        "\"\"",
        "“",
        "/*",
        "\" /* ",
        "\" // \n",
        "#",
        "(",
        "a, ",
        "{'a':1,",
        "1 ",
        "\"+",
        "=>",
        "\n\"a\": ",
        "\"a: ",
        "\"a\" 1",
        "\"a\" \"b\", ",
        "a\": ",
        "a = b, ",
        "\", a: \"",
        "'a\": ",
        "a\", ",
        "{```",
        "`a",
        "｛",
        "\\\"a ",
    ];
    let settings = ParseSettings { options: Options::default(), keys: SchemaKeys::NONE };
    for unit in units {
        for (prefix, expected, len) in [
            // Short texts come first, so that superlinear work fails the test quickly.
            ("", &any, LEN / 100),
            ("", &any, LEN),
            ("", &objects, LEN / 10),
            ("x", &objects, LEN / 10),
            ("\n\n [1] ", &any, LEN / 10),
            ("{\"a\": \"", &any, LEN / 10),
            ("\"", &objects, LEN / 10),
        ] {
            let text = prefix.to_owned() + &unit.repeat(len / unit.len());
            let mut steps = 0;
            let _ = parse_and_coerce(&text, expected, &settings, &mut steps);
            assert!(
                steps <= STEPS_PER_BYTE * text.len(),
                "{prefix:?} and {unit:?}: {steps} steps for {} bytes",
                text.len()
            );
        }
    }
}
