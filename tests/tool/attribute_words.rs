use tool_runtime::{
    Availability, DefinitionError, Permission, RateLimit, Repair, ToolKind, ToolPreference,
};

use super::*;

fn offline() -> Availability {
    Availability::Unavailable("no network".into())
}

/// Says everything.
#[tool(
    name = "everything",
    title = "All of it",
    version = "2",
    reattaches,
    effect = "write",
    idempotent,
    sequential,
    timeout = "2m",
    max_retries = 3,
    rate_limit = "10/min",
    permission = "ask",
    requires("filesystem", "network"),
    repair = "lossless",
    cli = "sh",
    available = offline,
    weight = -2.5,
    always,
    overrides(group = "files", rank = -3, r#type = true, share = 0.5, large = 5_000_000_000)
)]
async fn all_words() {}

/// Is there for other tools.
#[tool(hidden)]
async fn hidden_for_others() {}

/// Is enabled by an operator.
#[tool(disabled)]
async fn disabled_at_first() {}

/// Says empty.
#[tool]
async fn no_words() {}

/// Depends on its arguments alone.
#[tool(pure)]
async fn pure() {}

/// Reads, and always the same.
#[tool(pure, effect = "read")]
async fn pure_read() {}

#[test]
fn each_attribute_word_is_in_the_definition() {
    let definition = all_words {}.definition().clone();
    assert_eq!(definition.name, "everything");
    assert_eq!(definition.title.as_deref(), Some("All of it"));
    assert_eq!(definition.version.as_deref(), Some("2"));
    assert!(definition.reattaches);
    assert_eq!(definition.effect, Effect::Write);
    assert!(definition.idempotent && definition.sequential && !definition.pure);
    assert_eq!(definition.timeout, Some(Duration::from_secs(120)));
    assert_eq!(definition.max_retries, 3);
    assert_eq!(definition.rate_limit, Some(RateLimit { times: 10, per: Duration::from_secs(60) }));
    assert_eq!(definition.permission, Permission::Ask);
    assert_eq!(definition.requires, ["filesystem", "network"]);
    assert_eq!(definition.repair, Repair::Lossless);
    assert_eq!(definition.kind, ToolKind::Program("sh".into()));
    assert_eq!(definition.preference.weight, -2.5);
    assert!(definition.preference.always && !definition.preference.hidden);
    let overrides = json!({
        "group": "files", "rank": -3, "type": true, "share": 0.5, "large": 5_000_000_000_i64,
    });
    assert_eq!(Value::Object(definition.preference.overrides), overrides);
    assert!(definition.preference.enabled);
    let hidden = ToolPreference::default().hidden();
    assert_eq!(hidden_for_others {}.definition().preference, hidden);
    let disabled = ToolPreference::default().disabled();
    assert_eq!(disabled_at_first {}.definition().preference, disabled);
}

#[test]
fn disabled_tool_can_be_called_once_it_is_enabled() {
    let registry = Registry::try_from(tools![disabled_at_first]).unwrap();
    assert!(registry.snapshot().get("disabled_at_first").is_none());
    let preferences = [("disabled_at_first".to_owned(), ToolPreference::default())];
    registry.set_preferences(preferences.into()).unwrap();
    assert!(registry.snapshot().get("disabled_at_first").is_some());
}

#[test]
fn unannotated_tool_gets_careful_defaults() {
    let definition = no_words {}.definition().clone();
    assert_eq!(definition.title, None);
    assert_eq!(definition.version, None);
    assert!(!definition.reattaches);
    assert_eq!(definition.effect, Effect::External);
    assert!(!definition.idempotent && !definition.sequential && !definition.pure);
    assert_eq!(
        (definition.timeout, definition.max_retries, definition.rate_limit),
        (None, 0, None)
    );
    assert_eq!(definition.permission, Permission::Allow);
    assert!(definition.requires.is_empty());
    assert_eq!(definition.repair, Repair::Inferred);
    assert_eq!(definition.kind, ToolKind::Function);
    assert_eq!(definition.preference, ToolPreference::default());
}

#[test]
fn pure_implies_no_effect_and_idempotent() {
    let definition = pure {}.definition().clone();
    assert!(definition.pure && definition.idempotent);
    assert_eq!((definition.effect, definition.repair), (Effect::None, Repair::Lossy));
    let definition = pure_read {}.definition().clone();
    assert!(definition.pure && definition.idempotent);
    assert_eq!(definition.effect, Effect::Read);
}

/// Wraps a program that is not there.
#[tool(cli = "no-such-program-anywhere")]
async fn missing_program() {}

/// Wraps a program that is.
#[tool(cli = "sh")]
async fn present_program() {}

#[test]
fn availability_function_is_called() {
    assert_eq!(all_words {}.availability(), Availability::Unavailable("no network".into()));
    assert_eq!(no_words {}.availability(), Availability::Available);
    assert_eq!(present_program {}.availability(), Availability::Available);
    assert_eq!(
        missing_program {}.availability(),
        Availability::Unavailable("`no-such-program-anywhere` is not on PATH".into())
    );
}

#[test]
fn zero_rate_limit_is_refused() {
    let mut definition = ToolDefinition::new("never", "Never runs.", json!({ "type": "object" }));
    definition.rate_limit = Some(RateLimit::per_minute(0));
    let expected = DefinitionError::ZeroRateLimit { name: "never".into() };
    assert_eq!(definition.validate(), Err(expected));
}

/// Takes a number, which has no name.
#[tool]
async fn unnamed(_: i64) -> i64 {
    7
}

#[test]
fn unnamed_argument_is_refused() {
    let refused = Registry::try_from(tools![unnamed]).unwrap_err();
    assert!(refused.to_string().starts_with("tool `unnamed` has an argument without a name"));
}

/// Takes what `#[arg]` says of it.
#[tool]
async fn adjusted(
    /// Not this.
    #[arg(description = "This.")]
    a: i64,
    #[arg(rename = "b-b", default = 7)] b: i64,
    #[arg(default)] c: Vec<String>,
    #[arg(default = "Oslo")] d: &str,
    #[arg(default = "metric")] e: String,
    #[arg(default = Some(3))] f: Option<u8>,
) -> String {
    format!("{a} {b} {c:?} {d} {e} {f:?}")
}

#[tokio::test]
async fn omitted_arguments_have_their_default() {
    let schema = adjusted {}.definition().parameters.clone();
    assert_eq!(schema.as_value()["required"], json!(["a"]));
    let default = |name: &str| schema.as_value()["properties"][name]["default"].clone();
    assert_eq!(default("b-b"), json!(7));
    assert_eq!(default("c"), json!([]));
    assert_eq!(default("d"), json!("Oslo"));
    assert_eq!(default("e"), json!("metric"));
    assert_eq!(default("f"), json!(3));
    assert_eq!(schema.as_value()["properties"]["a"]["description"], json!("This."));

    let output = call(&adjusted {}, r#"{"a": 1}"#).await.unwrap();
    assert_eq!(output, "1 7 [] Oslo metric Some(3)");
    let text = r#"{"a": 1, "b-b": 2, "c": ["x"], "d": "Rome", "e": "us", "f": null}"#;
    assert_eq!(call(&adjusted {}, text).await.unwrap(), r#"1 2 ["x"] Rome us None"#);
    assert!(refusal(&adjusted {}, r#"{"a": 1, "b": 2}"#).await.contains("`b` is not known here"));
}

#[args]
struct Point {
    #[serde(default = "default_count")]
    x: i64,
    #[serde(default)]
    y: i64,
}

fn default_count() -> i64 {
    1
}

/// Takes it under its name.
#[tool]
async fn named_point(#[arg(named)] point: Point) -> i64 {
    point.x + point.y
}

/// Takes a map as its arguments.
#[tool]
async fn whole_map(#[arg(flatten)] map: std::collections::BTreeMap<String, i64>) -> i64 {
    map.values().sum()
}

#[tokio::test]
async fn single_parameter_rule_can_be_overridden() {
    assert_eq!(call(&named_point {}, r#"{"point": {"y": 2}}"#).await.unwrap(), "3");
    assert_eq!(call(&whole_map {}, r#"{"a": 1, "b": 2}"#).await.unwrap(), "3");
    let point = &named_point {}.definition().parameters.as_value()["properties"]["point"].clone();
    let definition = serde_json::to_string(named_point {}.definition()).unwrap();
    assert!(point.get("$ref").is_some() || point.get("properties").is_some());
    assert!(definition.contains(r#""default":1"#), "{definition}");
}

/// Blocks its thread.
#[tool(blocking)]
fn wait(text: &str, ctx: &ToolContext) -> Result<String, String> {
    match text {
        "panic" => panic!("on its thread"),
        "fail" => Err("it failed".into()),
        text => Ok(format!("{text} in {}", ctx.tool_name())),
    }
}

#[tokio::test]
async fn blocking_function_runs_on_another_thread() {
    assert_eq!(wait("a", &ToolContext::default()).unwrap(), "a in tool");
    assert_eq!(call(&wait {}, r#"{"text": "a"}"#).await.unwrap(), "a in tool");
    let error = call(&wait {}, r#"{"text": "fail"}"#).await.unwrap_err();
    assert_eq!(error.text(), "it failed");
    support::panics::silence_panics_on_purpose();
    let ctx = ToolContext::default();
    let arguments = r#"{"text": "panic"}"#.into();
    let call = tool_runtime::dispatch::invoke(&wait {}, &arguments, &ctx);
    assert_eq!(call.await.unwrap_err().kind(), ToolErrorKind::Panicked);
}

/// Reports.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Report {
    celsius: i8,
}

/// Gives JSON of a known shape.
#[tool]
async fn report() -> Result<Report, ToolError> {
    Ok(Report { celsius: 4 })
}

/// Gives JSON of some shape.
#[tool]
async fn any() -> Value {
    json!(1)
}

/// Gives text.
#[tool]
async fn text() -> String {
    String::new()
}

/// Gives what has no schema.
#[tool]
async fn output() -> ToolOutput {
    ToolOutput::text("")
}

#[test]
fn output_schema_is_in_the_definition() {
    let schema = |tool: &dyn Tool| tool.definition().output.clone();
    let report_schema = schema(&report {}).unwrap();
    assert_eq!(report_schema.as_value()["properties"]["celsius"]["type"], "integer");
    assert!(schema(&text {}).is_none());
    assert!(schema(&output {}).is_none());
    assert!(schema(&no_words {}).is_none());
    let _ = (any {}, Report { celsius: 0 }.celsius);
}

#[tokio::test]
async fn empty_text_means_no_arguments() {
    for empty in ["", " ", "null"] {
        assert_eq!(call(&no_words {}, empty).await.unwrap(), "ok");
        assert!(refusal(&adjusted {}, empty).await.contains("`a` is missing"));
    }
}

#[tokio::test]
async fn whole_number_is_an_integer_in_any_spelling() {
    assert_eq!(call(&adjusted {}, r#"{"a": 30.0}"#).await.unwrap(), "30 7 [] Oslo metric Some(3)");
    assert_eq!(call(&adjusted {}, r#"{"a": 2e2}"#).await.unwrap(), "200 7 [] Oslo metric Some(3)");
    assert!(refusal(&adjusted {}, r#"{"a": 3.7}"#).await.contains("`a`: expected an integer"));
}

/// Changes something.
#[tool(effect = "write", repair = "none")]
async fn strict(a: i64) -> i64 {
    a
}

/// Looks.
#[tool(effect = "write", repair = "lossless")]
async fn lossless(a: i64) -> i64 {
    a
}

#[tokio::test]
async fn repair_level_is_set_by_the_tool() {
    let (fenced, prose) = ("```\n{\"a\": 1}\n```", "Here: {\"a\": 1}");
    assert_eq!(call(&strict {}, r#"{"a": 1}"#).await.unwrap(), "1");
    assert!(refusal(&strict {}, fenced).await.contains("code fence"));
    assert_eq!(call(&lossless {}, fenced).await.unwrap(), "1");
    assert!(refusal(&lossless {}, prose).await.contains("prose"));
    assert_eq!(call(&adjusted {}, prose).await.unwrap(), "1 7 [] Oslo metric Some(3)");
}
