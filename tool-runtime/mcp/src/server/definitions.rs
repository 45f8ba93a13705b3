//! Tool definitions, from the runtime to MCP.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use tool_runtime::schema::Schema;
use tool_runtime::{Effect, ToolDefinition};

/// Converts a definition into the tool that clients list.
pub(crate) fn tool(definition: &ToolDefinition) -> Tool {
    let input = object(&definition.parameters).unwrap_or_default();
    let mut tool = Tool::new(definition.name.clone(), definition.description.clone(), input);
    tool.title.clone_from(&definition.title);
    tool.output_schema = definition.output.as_ref().and_then(object).map(Arc::new);
    tool.annotations = Some(annotations(definition));
    tool
}

fn object(schema: &Schema) -> Option<JsonObject> {
    schema.as_value().as_object().cloned()
}

/// Describes the effect by the hints of MCP. A missing hint means the worst: destructive, not
/// idempotent, open world.
fn annotations(definition: &ToolDefinition) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    let is_read_only = matches!(definition.effect, Effect::None | Effect::Read);
    hints.read_only_hint = Some(is_read_only);
    if is_read_only {
        hints.destructive_hint = Some(false);
    }
    hints.idempotent_hint = Some(definition.is_retry_safe());
    hints.open_world_hint = match definition.effect {
        Effect::None | Effect::Write => Some(false),
        Effect::External => Some(true),
        Effect::Read => None,
    };
    hints
}
