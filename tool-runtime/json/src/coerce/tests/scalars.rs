//! Numbers, strings, booleans and enum values.

use serde_json::json;

use super::{member_changed, member_unchanged};
use crate::{FixKind::*, parse_as};

#[test]
fn quoted_scalar_is_unquoted_to_expected_type() {
    member_changed(
        &json!({"type": "integer"}),
        &[
            (r#""17""#, "17", &[Unquoted]),
            (r#"" -17 ""#, "-17", &[Unquoted]),
            (r#""30.0""#, "30", &[Unquoted]),
            (r#""12345678901234567890123""#, "12345678901234567890123", &[Unquoted]),
        ],
    );
    member_unchanged(
        &json!({"type": "integer"}),
        &[
            r#""3.7""#,
            r#""1,234""#,
            r#""1.234,56""#,
            r#""02139""#,
            r#""seventeen""#,
            r#""""#,
            r#""17 days""#,
            r#""true""#,
            r#""null""#,
            r#""1e400""#,
            r#""0x1f""#,
            r#""NaN""#,
            "true",
            "null",
        ],
    );
    member_changed(
        &json!({"type": "number"}),
        &[(r#""1.50""#, "1.50", &[Unquoted]), (r#""2e3""#, "2e3", &[Unquoted])],
    );
    member_unchanged(&json!({"type": "number"}), &[r#""1,5""#, r#""Infinity""#, r#""5 + 5""#]);
    member_changed(
        &json!({"type": "boolean"}),
        &[
            (r#""true""#, "true", &[Unquoted]),
            (r#""False""#, "false", &[Unquoted]),
            (r#"" TRUE\n""#, "true", &[Unquoted]),
        ],
    );
    member_unchanged(
        &json!({"type": "boolean"}),
        &[r#""yes""#, r#""1""#, "1", "0", "null", r#""""#],
    );
    member_changed(
        &json!({"type": ["integer", "null"]}),
        &[
            (r#""null""#, "null", &[Unquoted]),
            (r#""None""#, "null", &[Unquoted]),
            (r#""4""#, "4", &[Unquoted]),
        ],
    );
    member_unchanged(&json!({"type": ["integer", "null"]}), &[r#""none at all""#, r#""""#]);
    // A string stays a string wherever one is allowed.
    for schema in [
        json!({"type": ["integer", "string"]}),
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
        json!({}),
        json!({"$ref": "https://example.com/a"}),
        json!({"$ref": "#anchor"}),
        json!({"$ref": "#/$defs/none"}),
    ] {
        member_unchanged(&schema, &[r#""17""#, r#""true""#, r#""null""#, r#""{}""#]);
    }
}

#[test]
fn number_becomes_string_with_its_digits() {
    member_changed(
        &json!({"type": "string"}),
        &[
            ("1.10", r#""1.10""#, &[Quoted]),
            ("-0", r#""-0""#, &[Quoted]),
            ("30.0", r#""30.0""#, &[Quoted]),
            (
                "340282366920938463463374607431768211455",
                r#""340282366920938463463374607431768211455""#,
                &[Quoted],
            ),
            ("1E+2", r#""1E+2""#, &[Quoted]),
            ("true", r#""true""#, &[QuotedBoolean]),
        ],
    );
    // null may mean no value, or the word.
    member_unchanged(&json!({"type": "string"}), &["null", "{}", "[]", "[1,2]", r#"{"a":1}"#]);
    member_changed(&json!({"enum": ["1", "2"]}), &[("2", r#""2""#, &[Quoted])]);
    member_unchanged(&json!({"enum": ["1", "2"]}), &["3", "2.0"]);
}

#[test]
fn only_integral_number_becomes_integer() {
    let integer = json!({"type": "integer"});
    member_changed(
        &integer,
        &[
            ("30.0", "30", &[IntegralNumber]),
            ("1e3", "1000", &[IntegralNumber]),
            ("-12.50e1", "-125", &[IntegralNumber]),
            ("12345678901234567890.0", "12345678901234567890", &[IntegralNumber]),
        ],
    );
    member_unchanged(
        &integer,
        &["3.7", "30", "0.5", "1e300", "340282366920938463463374607431768211455"],
    );
    member_unchanged(&json!({"type": "number"}), &["30.0", "1e3", "3.7"]);
    member_unchanged(&json!({"type": ["integer", "number"]}), &["30.0"]);
    // Also one that is too long to be spelled out is no text.
    member_unchanged(&json!({"type": ["integer", "string"]}), &["30", "1e300", "-1e65"]);
}

#[test]
fn enum_value_is_corrected_to_schema_spelling() {
    let unit = json!({"type": "string", "enum": ["celsius", "Fahrenheit", "kelvin", "KELVIN"]});
    member_changed(
        &unit,
        &[
            (r#""Celsius""#, r#""celsius""#, &[EnumCase]),
            (r#"" fahrenheit\n""#, r#""Fahrenheit""#, &[EnumCase]),
            (r#"["CELSIUS"]"#, r#""celsius""#, &[OutOfArray, EnumCase]),
        ],
    );
    member_unchanged(&unit, &[r#""Kelvin""#, r#""rankine""#, r#""celsiu""#, r#""c""#, "null", "1"]);
    let variants = json!({"oneOf": [{"const": "low", "description": "a"}, {"const": "high"}]});
    member_changed(&variants, &[(r#""HIGH""#, r#""high""#, &[EnumCase])]);
    member_unchanged(&variants, &[r#""medium""#, r#""low""#]);
    member_changed(&json!({"enum": [1, 2, "auto"]}), &[(r#""Auto""#, r#""auto""#, &[EnumCase])]);
    member_changed(&json!({"enum": [1, 2]}), &[(r#""2""#, "2", &[Unquoted])]);
    member_unchanged(&json!({"enum": [1, 2]}), &[r#""3""#, "3", "1.0"]);
}

#[test]
fn fix_spans_cover_the_changed_text() {
    let schema = json!({"type": "object", "properties": {"max_days": {"type": "integer"}, "at": {"type": "array", "items": {"type": "boolean"}}}});
    let text = "Here: {\"maxDays\": \"3\", \"at\": \"[\\\"true\\\"]\"}.";
    let fixes = parse_as(text, &schema).unwrap().fixes;
    let printed: Vec<_> =
        fixes.iter().map(|fix| (fix.kind, text.get(fix.span.clone()).unwrap())).collect();
    assert_eq!(
        printed,
        [
            (Prose, "Here:"),
            (KeyCase, "\"maxDays\""),
            (Unquoted, "\"3\""),
            (EncodedTwice, "\"[\\\"true\\\"]\""),
            (Unquoted, "\"[\\\"true\\\"]\""),
            (Prose, "."),
        ]
    );
}
