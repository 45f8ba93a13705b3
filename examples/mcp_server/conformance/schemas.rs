//! Tools with schemas that no Rust type generates.

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Tools, async_trait,
};

/// Returns one of its arguments.
struct Returns {
    argument: &'static str,
    definition: ToolDefinition,
}

#[async_trait]
impl Tool for Returns {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments: Value = serde_json::from_str(&args.to_text())?;
        let value = arguments.get(self.argument).and_then(Value::as_str).unwrap_or("-");
        Ok(ToolOutput::text(value))
    }
}

fn returns(name: &str, description: &str, argument: &'static str, schema: Value) -> Returns {
    let definition = ToolDefinition::new(name, description, schema).effect(Effect::None);
    Returns { argument, definition }
}

pub fn tools() -> Tools {
    let nested = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["address"] },
        "then": { "properties": { "address": { "required": ["street"] } } },
        "else": { "required": ["name"] },
        "additionalProperties": false,
    });
    let header = json!({
        "type": "object",
        "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
        "required": ["value"],
    });
    let description = "Has a schema with everything of JSON Schema 2020-12.";
    let nested = returns("json_schema_2020_12_tool", description, "name", nested);
    let description = "Has an argument that clients also send as a header.";
    let header = returns("test_custom_header", description, "value", header);
    Tools::new().with(nested).with(header)
}
