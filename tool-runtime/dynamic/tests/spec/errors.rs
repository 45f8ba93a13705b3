//! All errors of a spec, with their paths.

use proptest::prelude::*;
use serde_json::{Value, json};
use tool_dynamic::{ArgumentField, ArgumentType, ElementType, ExampleCall, ToolSpec};
use tool_runtime::Effect;

use super::spec;

fn field(name: &str, field_type: ArgumentType) -> ArgumentField {
    ArgumentField::new(name, field_type)
}

/// Returns a field with a limit as a number in JSON.
fn limited(limit: &str, number: &str, name: &str, field_type: ArgumentType) -> ArgumentField {
    let mut json = serde_json::to_value(field(name, field_type)).unwrap();
    json[limit] = serde_json::from_str(number).unwrap();
    serde_json::from_value(json).unwrap()
}

fn edited(mut spec: ToolSpec, edit: impl FnOnce(&mut ToolSpec)) -> ToolSpec {
    edit(&mut spec);
    spec
}

fn paths(spec: &ToolSpec) -> Vec<String> {
    match spec.check() {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.path).collect(),
    }
}

#[test]
fn each_wrong_field_is_reported_with_its_path() {
    let list = || field("a", ArgumentType::List);
    for (wrong, expected) in [
        (field("", ArgumentType::String), vec!["fields[0].name"]),
        (field("a-b", ArgumentType::String), vec!["fields[0].name"]),
        (field("1a", ArgumentType::String), vec!["fields[0].name"]),
        (field(&"a".repeat(65), ArgumentType::String), vec!["fields[0].name"]),
        (
            field("a", ArgumentType::String).description("pay\u{202e}"),
            vec!["fields[0].description"],
        ),
        (
            field("a", ArgumentType::String).description("d".repeat(2_000)),
            vec!["fields[0].description"],
        ),
        (list(), vec!["fields[0].items"]),
        (field("a", ArgumentType::Map), vec!["fields[0].items"]),
        (field("a", ArgumentType::Object), vec!["fields[0].fields"]),
        (field("a", ArgumentType::Enum), vec!["fields[0].values"]),
        (field("a", ArgumentType::Enum).values(["b", "b"]), vec!["fields[0].values[1]"]),
        (
            field("a", ArgumentType::Enum).values(["", "b\u{0}"]),
            vec!["fields[0].values[0]", "fields[0].values[1]"],
        ),
        (field("a", ArgumentType::Boolean).range(0, 1), vec!["fields[0].min", "fields[0].max"]),
        (field("a", ArgumentType::String).values(["b"]), vec!["fields[0].values"]),
        (field("a", ArgumentType::Integer).range(7, 1), vec!["fields[0].max"]),
        (limited("min", "0.5", "a", ArgumentType::Integer), vec!["fields[0].min"]),
        (limited("max", "-1", "a", ArgumentType::String), vec!["fields[0].max"]),
        (field("a", ArgumentType::Integer).default_value("three"), vec!["fields[0].default"]),
        (field("a", ArgumentType::Integer).range(1, 7).default_value(9), vec!["fields[0].default"]),
        (field("a", ArgumentType::Integer).default_value(3).optional(), vec!["fields[0].default"]),
        (list().items(ElementType::new(ArgumentType::List)), vec!["fields[0].items.items"]),
        (
            field("a", ArgumentType::Object).member(field("?", ArgumentType::Enum)),
            vec!["fields[0].fields[0].name", "fields[0].fields[0].values"],
        ),
    ] {
        assert_eq!(paths(&spec([wrong.clone()])), expected, "{wrong:?}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let wrong = spec([field("a", ArgumentType::String), field("a", ArgumentType::List)])
        .capability("net work")
        .tool("grep")
        .tool("grep")
        .effect(Effect::None)
        .timeout_seconds(0);
    let wrong = edited(wrong, |wrong| {
        (wrong.name, wrong.description, wrong.body) = ("Made".into(), " ".into(), String::new());
    });
    let expected = [
        "name",
        "description",
        "body",
        "fields[1].name",
        "fields[1].items",
        "capabilities[0]",
        "tools[1]",
        "effect",
        "timeout_seconds",
    ];
    assert_eq!(paths(&wrong), expected);
    let text = wrong.check().unwrap_err().to_tool_error().text().to_owned();
    assert_eq!(text.lines().filter(|line| line.starts_with("- `")).count(), expected.len());
}

#[test]
fn limits_hold_for_everything() {
    let mut deep = ElementType::new(ArgumentType::String);
    for _ in 0..6 {
        deep = ElementType::new(ArgumentType::List).items(deep);
    }
    let path = format!("fields[0]{}", ".items".repeat(6));
    assert_eq!(paths(&spec([field("a", ArgumentType::List).items(deep)])), [path]);

    let fields = (0..129).map(|n| field(&format!("a{n}"), ArgumentType::String));
    assert_eq!(paths(&spec(fields)), ["fields"]);
    let wrong = (0..100).map(|_| field("?", ArgumentType::String));
    assert_eq!(paths(&spec(wrong)).len(), 50);

    for (wrong, path) in [
        (edited(spec([]), |it| it.name = "provider__tool".into()), "name"),
        (edited(spec([]), |it| it.name = "n".repeat(65)), "name"),
        (edited(spec([]), |it| it.body = "b".repeat(65 << 10)), "body"),
        (edited(spec([]), |it| it.body = "return 1; // \u{202e}".into()), "body"),
        (edited(spec([]), |it| it.description = "d".repeat(5 << 10)), "description"),
        (spec([]).timeout_seconds(301), "timeout_seconds"),
        (spec([]).tool("made"), "tools[0]"),
        (spec([]).tool("dynamic__made"), "tools[0]"),
        (spec([]).tool("a b"), "tools[0]"),
        ((0..33).fold(spec([]), |it, n| it.tool(format!("t{n}"))), "tools"),
        ((0..9).fold(spec([]), |it, n| it.capability(format!("c{n}"))), "capabilities"),
        (
            (0..17).fold(spec([]), |it, _| it.example(ExampleCall::new(Vec::<(String, _)>::new()))),
            "examples",
        ),
    ] {
        assert_eq!(paths(&wrong), [path]);
    }
    let others = spec([]).tool("docs__made").tool("dynamic__other");
    assert_eq!(paths(&others), [""; 0]);
}

#[test]
fn examples_match_the_fields() {
    let base = spec([field("n", ArgumentType::Integer)]);
    for (arguments, is_valid) in [
        (vec![("n", json!(1))], true),
        (vec![("n", json!("one"))], false),
        (vec![], false),
        (vec![("n", json!(1)), ("m", json!(1))], false),
    ] {
        let found = paths(&base.clone().example(ExampleCall::new(arguments)));
        assert_eq!(found.is_empty(), is_valid, "{found:?}");
        assert!(found.iter().all(|path| path == "examples[0].arguments"));
    }
    let large = ExampleCall::new([("n", json!(1))]).output("x".repeat(17 << 10));
    assert_eq!(paths(&base.example(large)), ["examples[0].output"]);
}

#[test]
fn invisible_characters_are_refused_before_anything_is_built() {
    // Marks of direction, tags, joiners, fillers, controls, and letters that look like others.
    for hidden in [
        "\u{202e}",
        "\u{2066}",
        "\u{e0041}",
        "\u{200b}",
        "\u{feff}",
        "\u{3164}",
        "\u{ad}",
        "\u{85}",
        "p\u{430}y",
    ] {
        let comment = format!("return 1; // {hidden}");
        let wrong = spec([field("a", ArgumentType::Enum).values([hidden]).description(hidden)])
            .example(ExampleCall::new([("a", json!(hidden))]).output(hidden));
        let wrong =
            edited(wrong, |wrong| (wrong.body, wrong.description) = (comment, hidden.into()));
        let expected = [
            "description",
            "body",
            "fields[0].description",
            "fields[0].values[0]",
            "examples[0].arguments",
            "examples[0].output",
        ];
        assert_eq!(paths(&wrong), expected, "{}", hidden.escape_unicode());
    }
}

#[test]
fn unknown_members_of_specs_are_refused() {
    let json = json!({
        "name": "a", "description": "A.", "language": "javascript", "body": "return 1;",
        "fields": [{ "name": "n", "type": "integer", "minimum": 1 }],
    });
    let error = serde_json::from_value::<ToolSpec>(json).unwrap_err().to_string();
    assert!(error.contains("unknown field `minimum`"), "{error}");
}

fn element(depth: u32) -> BoxedStrategy<Value> {
    let scalar = prop_oneof![
        Just(json!({"type": "string", "max": 9})),
        Just(json!({"type": "integer", "min": -1})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "enum", "values": ["a", "b"]})),
    ];
    scalar
        .prop_recursive(depth, 16, 3, |inner| {
            let member = inner.clone().prop_map(|mut element| {
                element["name"] = "m".into();
                element
            });
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": "list", "items": items})),
                inner.prop_map(|items| json!({"type": "map", "items": items})),
                member.prop_map(|member| json!({"type": "object", "fields": [member]})),
            ]
        })
        .boxed()
}

proptest! {
    #[test]
    fn valid_specs_have_a_valid_definition(mut field in element(4), optional: bool) {
        field["name"] = "a".into();
        field["optional"] = optional.into();
        let field: ArgumentField = serde_json::from_value(field).unwrap();
        let checked = spec([field]).check().unwrap();
        prop_assert!(checked.definition().validate().is_ok());
    }

    #[test]
    fn check_of_any_text_ends(name in ".{0,80}", body in ".{0,80}", value in ".{0,80}") {
        let wrong = field(&name, ArgumentType::Enum).values([value]);
        let tool = edited(spec([wrong]), |it| (it.name, it.body) = (name.clone(), body));
        if let Ok(checked) = tool.check() {
            prop_assert!(checked.definition().validate().is_ok());
        }
    }
}
