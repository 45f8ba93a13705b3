//! Limits of tool definitions: a remote tool can send anything.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, ToolPreference,
    async_trait,
};

struct Defined(ToolDefinition);

#[async_trait]
impl Tool for Defined {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("Done."))
    }
}

fn with_schema(schema: Value) -> ToolDefinition {
    ToolDefinition::new("tool", "It.", schema)
}

fn requiring(names: impl IntoIterator<Item = String>) -> ToolDefinition {
    let mut tool = with_schema(json!({ "type": "object" }));
    tool.requires = names.into_iter().collect();
    tool
}

fn preferring(name: impl Into<String>, value: impl Into<Value>) -> ToolDefinition {
    let preference = ToolPreference::default().with_override(name, value);
    with_schema(json!({ "type": "object" })).preference(preference)
}

fn with_argument(name: &str, schema: Value) -> ToolDefinition {
    with_schema(json!({ "type": "object", "properties": { name: schema } }))
}

#[test]
fn oversized_and_invisible_content_is_refused() {
    let nested = |levels| (0..levels).fold(Value::Null, |inside, _| Value::Array(vec![inside]));
    let output = |description: &str| {
        let mut tool = with_schema(json!({ "type": "object" }));
        tool.output = Some(json!({ "description": description }).into());
        tool
    };
    for (case, tool, is_valid) in [
        ("requirement", requiring(["network".into(), "файлы".into()]), true),
        ("requirement, empty", requiring([String::new()]), false),
        ("requirement, long", requiring(["x".repeat(1 << 20)]), false),
        ("requirement, invisible", requiring(["net\u{200b}work".into()]), false),
        ("requirements, too many", requiring((0..100_000).map(|n| n.to_string())), false),
        ("preference", preferring("cost", json!({ "cents": [1, "two"] })), true),
        ("preference, long", preferring("cost", "x".repeat(1 << 20)), false),
        ("preference, long key", preferring("x".repeat(1 << 20), 1), false),
        ("preference, deep", preferring("cost", nested(10_000)), false),
        ("preference, invisible", preferring("cost", "\u{202e}tsoc"), false),
        ("preference, invisible key", preferring("c\u{ad}ost", 1), false),
        ("argument", with_argument("città", json!({ "description": "Città 👩\u{200d}🌾." })), true),
        (
            "argument, invisible description",
            with_argument("a", json!({ "description": "A\u{2066}\u{1b}b" })),
            false,
        ),
        ("argument, invisible name", with_argument("a\u{feff}", json!({})), false),
        ("enum, invisible", with_argument("a", json!({ "enum": ["yes", "n\u{e0061}o"] })), false),
        ("output", output("It."), true),
        ("output, invisible", output("It.\u{2063}"), false),
    ] {
        let registered = Registry::new().register(Arc::new(Defined(tool)));
        assert_eq!(registered.is_ok(), is_valid, "{case}");
        if let Err(error) = registered {
            assert!(error.to_string().len() < 300, "{error}");
        }
    }
}
