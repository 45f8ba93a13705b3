//! What a definition may hold: a tool of another machine may say anything of itself.

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
fn nothing_endless_and_nothing_hidden_gets_in() {
    let nested = |levels| (0..levels).fold(Value::Null, |inside, _| Value::Array(vec![inside]));
    let output = |description: &str| {
        let mut tool = with_schema(json!({ "type": "object" }));
        tool.output = Some(json!({ "description": description }).into());
        tool
    };
    for (case, tool, fits) in [
        ("needs", requiring(["network".into(), "файлы".into()]), true),
        ("needs a name", requiring([String::new()]), false),
        ("needs a long name", requiring(["x".repeat(1 << 20)]), false),
        ("needs a hidden name", requiring(["net\u{200b}work".into()]), false),
        ("needs much", requiring((0..100_000).map(|n| n.to_string())), false),
        ("prefers", preferring("cost", json!({ "cents": [1, "two"] })), true),
        ("prefers much", preferring("cost", "x".repeat(1 << 20)), false),
        ("prefers a long key", preferring("x".repeat(1 << 20), 1), false),
        ("prefers the deep", preferring("cost", nested(10_000)), false),
        ("prefers the hidden", preferring("cost", "\u{202e}tsoc"), false),
        ("prefers a hidden key", preferring("c\u{ad}ost", 1), false),
        ("argument", with_argument("città", json!({ "description": "Città 👩\u{200d}🌾." })), true),
        (
            "argument's words",
            with_argument("a", json!({ "description": "A\u{2066}\u{1b}b" })),
            false,
        ),
        ("argument's name", with_argument("a\u{feff}", json!({})), false),
        ("choice", with_argument("a", json!({ "enum": ["yes", "n\u{e0061}o"] })), false),
        ("what comes out", output("It."), true),
        ("what comes out, hidden", output("It.\u{2063}"), false),
    ] {
        let registered = Registry::new().register(Arc::new(Defined(tool)));
        assert_eq!(registered.is_ok(), fits, "{case}");
        if let Err(error) = registered {
            assert!(error.to_string().len() < 300, "{error}");
        }
    }
}
