//! From spec to tool.

use serde_json::{Value, json};
use tool_dynamic::{
    ArgumentField, ArgumentType, BodyLanguage, ElementType, RustTools, ToolBackend, ToolSpec,
};
use tool_runtime::{Availability, Effect, ToolErrorKind};

use super::fixture::{backend, build, build_error, call, new_backend, programs_with, spec, text};

fn float(value: f64) -> serde_json::Number {
    serde_json::Number::from_f64(value).unwrap()
}

/// Returns a spec with arguments of every type, and with every limit and default.
fn every_type() -> ToolSpec {
    use ArgumentType::{Boolean, Enum, Integer, List, Map, Number, Object, String};

    let texts = ElementType::new(String).range(1, 9);
    let rows = ElementType::new(List).range(1, 2).items(ElementType::new(Integer).range(-5, 5));
    let point = ElementType::new(Object)
        .member(ArgumentField::new("x", Number).default_value(1))
        .member(ArgumentField::new("self", Integer).default_value(-2))
        .member(ArgumentField::new("self_", Boolean).optional());
    let description = "A \"quoted\" \\ text\nof two lines: é, 字, # no heading";
    ToolSpec::new(BodyLanguage::Rust, "every_type", description, include_str!("every_type_body.rs"))
        .effect(Effect::Read)
        .field(
            ArgumentField::new("type", String).description(description).range(2, 3_000_000_000_u64),
        )
        .field(ArgumentField::new("count", Integer).range(i64::MIN, i64::MAX))
        .field(ArgumentField::new("ratio", Number).default_value(3))
        .field(
            ArgumentField::new("limit", Number).range(float(0.5), float(1e300)).default_value(1.5),
        )
        .field(ArgumentField::new("is_deep", Boolean).default_value(true))
        .field(ArgumentField::new("string", Enum).values(["light rain", "3", "self", "\"\\"]))
        .field(
            ArgumentField::new("unit", Enum)
                .values(["celsius", "kelvin"])
                .default_value("kelvin")
                .description("The unit."),
        )
        .field(ArgumentField::new("mode", Enum).values(["a", "b"]).optional())
        .field(ArgumentField::new("tags", List).items(texts.clone()).range(0, 3).optional())
        .field(ArgumentField::new("rows", List).items(rows).default_value(json!([[1]])))
        .field(ArgumentField::new("names", Map).items(texts).range(0, 2).default_value(json!({})))
        .field(ArgumentField::new("points", List).items(point.clone()).default_value(json!([{}])))
        .field(ArgumentField::new("by_name", Map).items(point).optional())
}

#[tokio::test]
async fn program_has_the_schema_of_the_spec_and_decodes_its_arguments() {
    // The build compares the definition that the program serves with that of the spec.
    let tool = build(every_type()).await;
    let arguments = json!({ "type": "é字", "count": i64::MAX, "string": "light rain" });
    let output: Value = serde_json::from_str(&text(&tool, arguments).await).unwrap();
    let expected = json!({
        "type": "é字", "count": i64::MAX, "ratio": 3.0, "limit": 1.5, "is_deep": true,
        "string": "light rain", "unit": "kelvin", "mode": null, "tags": null, "rows": [[1]],
        "names": {}, "points": [{ "x": 1.0, "self": -2, "self_": null }], "by_name": null,
    });
    assert_eq!(output, expected);
    let arguments = json!({
        "type": "ab", "count": 0, "string": "\"\\", "unit": "celsius", "mode": "b",
        "tags": ["x"], "rows": [[-5, 5]], "names": { "a": "b" }, "by_name": { "p": { "x": 0.5 } },
    });
    let output: Value = serde_json::from_str(&text(&tool, arguments).await).unwrap();
    assert_eq!(output["by_name"]["p"], json!({ "x": 0.5, "self": -2, "self_": null }));
    assert_eq!((&output["unit"], &output["mode"]), (&json!("celsius"), &json!("b")));
    for wrong in [
        json!({ "type": "a", "count": 0, "string": "3" }),
        json!({ "type": "ab", "count": 0, "string": "4" }),
        json!({ "type": "ab", "count": 0, "string": "3", "rows": [[6]] }),
    ] {
        assert!(!call(&tool, wrong).await.is_success());
    }
}

#[tokio::test]
async fn built_tool_is_not_built_again() {
    let source = spec("built_once", "Ok(\"built once\")");
    build(source.clone()).await;
    let start = std::time::Instant::now();
    let tool = new_backend().build(&source.check().unwrap()).await.unwrap();
    println!("registered again after {:?}", start.elapsed());
    assert_eq!(text(&tool, json!({})).await, "built once");
    assert_eq!(
        std::fs::read_dir(super::fixture::folder().join("crates"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("dynamic-first"))
            .count(),
        1
    );
}

#[tokio::test]
async fn damaged_program_is_built_again() {
    let source = spec("built_again", "Ok(\"built again\")");
    drop(build(source.clone()).await);
    let programs = programs_with("built again");
    assert!(!programs.is_empty());
    // As a power failure would leave it.
    programs.iter().for_each(|program| std::fs::write(program.join("tool"), "").unwrap());
    let tool = build(source).await;
    assert_eq!(text(&tool, json!({})).await, "built again");
}

#[tokio::test]
async fn program_that_is_not_used_is_removed_by_a_later_build() {
    let old = super::fixture::folder().join("programs/dynamic-unused");
    std::fs::create_dir_all(&old).unwrap();
    let file = std::fs::File::create(old.join("tool")).unwrap();
    let age = std::time::Duration::from_secs(40 * 24 * 60 * 60);
    file.set_modified(std::time::SystemTime::now() - age).unwrap();
    let unique = format!("Ok({})", std::process::id());
    build(spec("removes", &unique)).await;
    assert!(!old.exists());
}

#[tokio::test]
async fn machine_that_gets_the_sources_later_makes_the_backend_available() {
    let link = super::fixture::folder().with_extension("sources");
    let _ = std::fs::remove_file(&link);
    let tools = RustTools::new(super::fixture::folder()).sources(&link);
    assert!(matches!(tools.availability(), Availability::Unavailable(_)));
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::os::unix::fs::symlink(checkout, &link).unwrap();
    assert!(matches!(tools.availability(), Availability::Available));
}

#[tokio::test]
async fn errors_of_the_compiler_have_lines_of_the_body() {
    let body = "let count = args.len();\n\nlet text: String = 5;\nOk(text)";
    let error = build_error(&backend(), body).await;
    assert!(error.starts_with("The body does not compile."), "{error}");
    assert!(error.contains("line 1, column 18: “no method named `len` found"), "{error}");
    assert!(error.contains("line 3, column 20: “mismatched types” [E0308]"), "{error}");
    let error = build_error(&backend(), "if true {\nOk(1)").await;
    assert!(error.contains("this file contains an unclosed delimiter"), "{error}");
}

#[tokio::test]
async fn machine_without_sources_makes_the_backend_unavailable() {
    let tools = RustTools::new(super::fixture::folder()).sources("/usr");
    let Availability::Unavailable(reason) = tools.availability() else { panic!("available") };
    assert!(reason.contains("are not in /usr: set `RustTools::sources`"), "{reason}");
    let spec = spec("hello", "Ok(1)").check().unwrap();
    let error = tools.build(&spec).await.err().unwrap();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
}

#[tokio::test]
async fn capabilities_and_tools_that_no_body_gets_are_errors() {
    let spec = spec("hello", "Ok(1)")
        .effect(Effect::Read)
        .capability("notes")
        .capability("network")
        .tool("other");
    let checked = spec.check().unwrap();
    let tools = RustTools::new("unused").readable("notes", "/srv/notes");
    assert_eq!(tools.capabilities(), ["notes"]);
    let errors = ToolBackend::check(&tools, &checked);
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["capabilities[1]", "tools"]);
}
