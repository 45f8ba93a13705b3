//! Tools of a server as definitions of the runtime.

use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Map, Value, json};
use tool_core::schema::Schema;
use tool_core::{ToolDefinition, ToolKind};

use crate::client::pins::PinnedDefinition;
use crate::client::tools::text::{clean, clean_line, clean_schema};
use crate::client::trust::TrustPolicy;

/// The number of characters of a description that are kept.
const MAX_DESCRIPTION_CHARS: usize = 8_000;

/// The number of characters of a title that are kept.
const MAX_TITLE_CHARS: usize = 200;

/// Returns what is pinned of a tool: everything that a model or the client relies on.
pub(crate) fn pinned(tool: &Tool) -> PinnedDefinition {
    let mut definition = Map::new();
    let whole = serde_json::to_value(tool).unwrap_or_default();
    for member in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
        if let Some(value) = whole.get(member) {
            definition.insert(member.to_owned(), value.clone());
        }
    }
    PinnedDefinition::new(&tool.name, definition.into())
}

/// Returns the definition of a tool.
pub(crate) fn definition(
    server: &str,
    tool: &Tool,
    trust: &TrustPolicy,
    call_timeout: Duration,
) -> ToolDefinition {
    let description = tool.description.as_deref().unwrap_or_default();
    let description = clean(description, MAX_DESCRIPTION_CHARS);
    let description = match (description.trim(), trust.marks_text(server, &tool.name)) {
        ("", _) => format!("Tool of the MCP server `{server}`, which does not describe it."),
        (text, false) => text.to_owned(),
        (text, true) => {
            format!("[description and parameters by the MCP server `{server}`, unverified] {text}")
        }
    };
    let mut parameters = Value::Object(tool.input_schema.as_ref().clone());
    clean_schema(&mut parameters);
    // Some servers leave the schema of a tool without arguments empty.
    if let Some(members) = parameters.as_object_mut() {
        members.entry("type").or_insert_with(|| json!("object"));
    }
    let mut definition = ToolDefinition::new(tool.name.clone(), description, parameters);
    let annotations = tool.annotations.as_ref();
    let title = tool.title.as_deref().or_else(|| annotations?.title.as_deref());
    definition.title =
        title.map(|title| clean_line(title, MAX_TITLE_CHARS)).filter(|title| !title.is_empty());
    definition.output = tool.output_schema.as_ref().map(|schema| {
        let mut schema = Value::Object(schema.as_ref().clone());
        clean_schema(&mut schema);
        Schema::from(schema)
    });
    definition.kind = ToolKind::Remote(server.to_owned());
    trust.apply(server, definition, annotations, call_timeout)
}
