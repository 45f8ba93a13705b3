//! `#[arg(range)]` and `#[arg(length)]`: rules of single arguments.

use std::collections::BTreeMap;

use tool_runtime::DefinitionError;

use super::*;

const MAX_DEPTH: i64 = 5;

/// The name of a branch.
#[args]
struct Branch(String);

/// Takes arguments with rules.
#[expect(clippy::too_many_arguments, reason = "one for each rule")]
#[tool(effect = "read")]
async fn ruled(
    #[arg(range(min = 1, max = 9))] count: u8,
    #[arg(range(max = MAX_DEPTH))] depth: Option<i64>,
    #[arg(range(min = -0.5))] share: f64,
    #[arg(length(min = 1, max = 3))] code: &str,
    #[arg(length(max = 2))] tags: Vec<String>,
    #[arg(length(min = 1))] branch: Option<Branch>,
    #[arg(length(max = 1))] colors: BTreeMap<String, u8>,
    #[arg(rename = "limit", range(max = 1000), default = 7)] most: u8,
) -> String {
    let branch = branch.map(|branch| branch.0);
    format!("{count} {depth:?} {share} {code} {tags:?} {branch:?} {colors:?} {most}")
}

#[test]
fn rules_are_in_the_schema() {
    let definition = ruled {}.definition();
    definition.validate().unwrap();
    let part = |name: &str| definition.parameters.as_value()["properties"][name].clone();
    for (argument, keyword, expected) in [
        ("count", "minimum", json!(1)),
        ("count", "maximum", json!(9)),
        ("depth", "minimum", Value::Null),
        ("depth", "maximum", json!(5)),
        ("share", "minimum", json!(-0.5)),
        ("code", "minLength", json!(1)),
        ("code", "maxLength", json!(3)),
        ("code", "maxItems", Value::Null),
        ("tags", "maxItems", json!(2)),
        ("tags", "maxLength", Value::Null),
        ("branch", "minLength", json!(1)),
        ("colors", "maxProperties", json!(1)),
        // The type already has a narrower bound.
        ("limit", "minimum", json!(0)),
        ("limit", "maximum", json!(255)),
        ("limit", "default", json!(7)),
    ] {
        assert_eq!(part(argument)[keyword], expected, "{argument}: {keyword}");
    }
}

#[tokio::test]
async fn violated_rules_are_reported_together() {
    let valid = r#"{"count": 1, "depth": 5, "share": -0.5, "code": "äöü", "tags": ["a", "b"], "branch": "x", "colors": {"red": 1}}"#;
    let output = call(&ruled {}, valid).await.unwrap();
    assert_eq!(output, r#"1 Some(5) -0.5 äöü ["a", "b"] Some("x") {"red": 1} 7"#);
    let wrong = r#"{"count": 10, "depth": 6, "share": -1, "code": "", "tags": ["a", "b", "c"], "branch": "", "colors": {"red": 1, "blue": 2}, "limit": 300}"#;
    let text = refusal(&ruled {}, wrong).await;
    for argument in ["count", "depth", "share", "code", "tags", "branch", "colors", "limit"] {
        assert!(text.contains(&format!("- `{argument}`: expected")), "{argument}: {text}");
    }
    assert!(text.contains("`count`: expected an integer from 1 to 9, got 10"), "{text}");
    let absent =
        r#"{"count": 1, "depth": null, "share": 0, "code": "a", "tags": [], "colors": {}}"#;
    assert!(call(&ruled {}, absent).await.unwrap().starts_with("1 None"));
}

/// Takes one argument, which is no args struct.
#[tool]
async fn lone(#[arg(length(min = 2))] names: Vec<String>) -> usize {
    names.len()
}

/// Takes a text, which has no range.
#[tool]
async fn range_of_text(#[arg(range(min = 1))] text: String) -> String {
    text
}

/// Takes a number, which has no length.
#[tool]
async fn length_of_number(#[arg(length(min = 1))] number: Option<u8>) -> u8 {
    number.unwrap_or_default()
}

#[tokio::test]
async fn rule_without_effect_is_a_definition_error() {
    assert_eq!(call(&lone {}, r#"{"names": ["a", "b"]}"#).await.unwrap(), "2");
    assert!(refusal(&lone {}, r#"{"names": ["a"]}"#).await.contains("`names`"));
    let error = range_of_text {}.definition().validate().unwrap_err();
    assert!(matches!(error, DefinitionError::RuleWithoutEffect { rule: "range", .. }));
    let error = Registry::try_from(tools![length_of_number]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`#[arg(length)]` has no effect on argument `number` of tool `length_of_number`: expected \
         a string, a list or a map"
    );
}
