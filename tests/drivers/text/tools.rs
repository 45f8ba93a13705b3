//! The tools that the cases call.

use serde_json::json;
use tool_runtime::{Effect, ToolDefinition};

pub(crate) fn all() -> Vec<ToolDefinition> {
    let weather = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "hourly": {"type": "boolean"},
        },
        "required": ["city"],
    });
    let mail = json!({
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "subject": {"type": "string"},
            "body": {"type": "string"},
        },
        "required": ["to", "body"],
    });
    let file = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    });
    let search = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    });
    let tool = |name: &str, schema| ToolDefinition::new(name, "Does it.", schema);
    vec![
        tool("get_weather", weather).effect(Effect::Read),
        tool("send_mail", mail),
        tool("write_file", file).effect(Effect::Write),
        tool("search", search).effect(Effect::Read),
        tool("now", json!({"type": "object", "properties": {}})).effect(Effect::Read),
    ]
}
