//! `#[arg(…)]` on the fields of args structs, which means the same as on parameters.

use std::collections::BTreeMap;

use tool_runtime::DefinitionError;
use tool_runtime::schema::Schema;

use super::*;

const MAX_DEPTH: i64 = 5;

fn three() -> u32 {
    3
}

/// The name of a branch.
#[args]
struct Branch(String);

/// Takes parameters.
#[expect(clippy::too_many_arguments, reason = "one for each word")]
#[tool(name = "same", effect = "read")]
async fn with_parameters(
    #[arg(rename = "limit", range(max = 1000), default = 7)] most: u8,
    #[arg(range(min = 1, max = 9))] count: u8,
    #[arg(range(max = MAX_DEPTH))] depth: Option<i64>,
    #[arg(range(min = -0.5))] share: f64,
    #[arg(length(min = 1, max = 3), description = "A short code.")] code: String,
    #[arg(length(max = 2), default)] tags: Vec<String>,
    #[arg(length(min = 1))] branch: Option<Branch>,
    #[arg(length(max = 1), default)] colors: BTreeMap<String, u8>,
    #[arg(default = "main")] name: String,
    #[arg(default = three())] times: u32,
    #[arg(secret)] password: String,
) -> String {
    let branch = branch.map(|it| it.0);
    format!(
        "{most} {count} {depth:?} {share} {code} {tags:?} {branch:?} {colors:?} {name} {times} {}",
        password.len()
    )
}

#[args]
struct Everything {
    #[arg(rename = "limit", range(max = 1000), default = 7)]
    most: u8,
    #[arg(range(min = 1, max = 9))]
    count: u8,
    #[arg(range(max = MAX_DEPTH))]
    depth: Option<i64>,
    #[arg(range(min = -0.5))]
    share: f64,
    /// Is replaced.
    #[arg(length(min = 1, max = 3), description = "A short code.")]
    code: String,
    #[arg(length(max = 2), default)]
    tags: Vec<String>,
    #[arg(length(min = 1))]
    branch: Option<Branch>,
    #[arg(length(max = 1), default)]
    colors: BTreeMap<String, u8>,
    #[arg(default = "main")]
    name: String,
    #[arg(default = three())]
    times: u32,
    #[arg(secret)]
    password: String,
}

/// Takes parameters.
#[tool(name = "same", effect = "read")]
async fn with_fields(args: Everything) -> String {
    let Everything { most, count, depth, share, code, tags, branch, colors, name, times, password } =
        args;
    let branch = branch.map(|it| it.0);
    format!(
        "{most} {count} {depth:?} {share} {code} {tags:?} {branch:?} {colors:?} {name} {times} {}",
        password.len()
    )
}

#[test]
fn fields_have_the_schema_of_parameters() {
    let [parameters, fields] = [with_parameters {}.definition(), with_fields {}.definition()];
    parameters.validate().unwrap();
    fields.validate().unwrap();
    let [expected, actual] = [parameters, fields].map(|it| it.parameters.as_value());
    for (name, schema) in expected["properties"].as_object().unwrap() {
        assert_eq!(&actual["properties"][name], schema, "{name}");
    }
    assert_eq!(actual["required"], expected["required"]);
    assert_eq!(parameters.fingerprint(), fields.fingerprint());
}

#[tokio::test]
async fn fields_accept_and_refuse_what_parameters_do() {
    let least = r#"{"count": 1, "share": -0.5, "code": "a", "password": "p"}"#;
    let all = r#"{"limit": 9, "count": 9, "depth": 5, "share": 0, "code": "abc", "tags": ["a"],
        "branch": "x", "colors": {"a": 1}, "name": "n", "times": 4, "password": "p"}"#;
    for arguments in [least, all] {
        let expected = call(&with_parameters {}, arguments).await.unwrap();
        assert_eq!(call(&with_fields {}, arguments).await.unwrap(), expected);
    }
    let expected = r#"7 1 None -0.5 a [] None {} main 3 1"#;
    assert_eq!(call(&with_fields {}, least).await.unwrap(), expected);
    for (member, value) in [
        ("limit", json!(300)),
        ("limit", json!(null)),
        ("most", json!(1)),
        ("count", json!(10)),
        ("depth", json!(6)),
        ("share", json!(-0.6)),
        ("code", json!("")),
        ("code", json!("abcd")),
        ("tags", json!(["a", "b", "c"])),
        ("branch", json!("")),
        ("colors", json!({ "a": 1, "b": 2 })),
        ("times", json!(-1)),
    ] {
        let mut arguments: Value = serde_json::from_str(least).unwrap();
        arguments[member] = value;
        let arguments = arguments.to_string();
        let results = [
            call(&with_parameters {}, arguments.as_str()).await,
            call(&with_fields {}, arguments.as_str()).await,
        ];
        let [expected, actual] = results.map(|it| it.map_err(|error| error.text().to_owned()));
        assert_eq!(actual, expected, "{arguments}");
    }
}

/// Where a field can be besides a plain struct.
#[args]
enum Shape<T> {
    Circle {
        #[arg(range(min = 1), default = three())]
        radius: u32,
        label: Option<T>,
    },
    Square(#[arg(range(max = 4))] u32),
}

#[args]
struct Node {
    #[arg(length(max = 2))]
    children: Vec<Node>,
    #[arg(range(max = 4), rename = "type")]
    r#type: u8,
}

#[args]
struct Page<T> {
    #[arg(length(max = 1))]
    items: Vec<T>,
    #[arg(default = "first")]
    cursor: String,
}

/// Takes nested arguments.
#[tool(effect = "read")]
async fn nested_fields(shapes: Vec<Shape<String>>, node: Node, page: Page<Node>) -> String {
    let shapes = shapes.iter().map(|shape| match shape {
        Shape::Circle { radius, label } => format!("{radius}{}", label.is_some()),
        Shape::Square(side) => side.to_string(),
    });
    let shapes: Vec<_> = shapes.collect();
    let children = node.children.len();
    format!("{shapes:?} {} {children} {} {}", node.r#type, page.items.len(), page.cursor)
}

#[tokio::test]
async fn rules_and_defaults_hold_in_nested_types() {
    nested_fields {}.definition().validate().unwrap();
    let node = r#"{"children": [{"children": [], "type": 1}], "type": 4}"#;
    let valid = format!(
        r#"{{"shapes": [{{"Circle": {{}}}}, {{"Square": 4}}], "node": {node}, "page": {{"items": []}}}}"#
    );
    let output = call(&nested_fields {}, valid.as_str()).await.unwrap();
    assert_eq!(output, r#"["3false", "4"] 4 1 0 first"#);
    for (old, new) in [
        (r#""Square": 4"#, r#""Square": 5"#),
        (r#"{"Circle": {}}"#, r#"{"Circle": {"radius": 0}}"#),
        (r#""type": 1"#, r#""type": 5"#),
        (r#"[], "type": 1"#, r#"[{"children": [], "type": 9}], "type": 1"#),
        (r#""items": []"#, &format!(r#""items": [{node}, {node}]"#)),
    ] {
        let wrong = valid.replacen(old, new, 1);
        assert_ne!(wrong, valid);
        let text = refusal(&nested_fields {}, wrong.as_str()).await;
        assert!(text.contains("expected"), "{wrong}: {text}");
    }
}

#[args]
#[expect(dead_code, reason = "only its schema is used")]
struct TextWithRange {
    #[arg(range(min = 1))]
    text: String,
}

#[args]
#[expect(dead_code, reason = "only its schema is used")]
struct NumberWithLength {
    #[arg(length(min = 1))]
    number: Option<u8>,
}

#[args]
#[expect(dead_code, reason = "only its schema is used")]
struct BranchWithRange {
    #[arg(range(min = 1))]
    branch: Vec<Branch>,
}

#[test]
fn rule_of_a_field_without_effect_is_a_definition_error() {
    for (schema, name, expected) in [
        (Schema::of::<TextWithRange>(), "text", "range"),
        (Schema::of::<NumberWithLength>(), "number", "length"),
        (Schema::of::<BranchWithRange>(), "branch", "range"),
        (Schema::of::<Vec<TextWithRange>>(), "text", "range"),
    ] {
        let parameters = json!({
            "type": "object",
            "properties": { "outer": schema.as_value() },
        });
        let definition = ToolDefinition::new("t", "Has a rule.", parameters);
        match definition.validate().unwrap_err() {
            DefinitionError::RuleWithoutEffect { argument, rule, .. } => {
                assert_eq!((argument.as_str(), rule), (name, expected));
            }
            error => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn marks_of_rules_do_not_reach_a_model() {
    for definition in [with_fields {}.definition(), nested_fields {}.definition()] {
        let schema = definition.parameters.as_value().to_string();
        assert!(!schema.contains("x-tool-runtime"), "{schema}");
    }
}
