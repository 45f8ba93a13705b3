//! Tool definitions, from the runtime to MCP.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::Value;
use tool_core::schema::Schema;
use tool_core::{Effect, ToolDefinition};

/// The metadata of tools, by the names that clients list.
#[derive(Debug, Default)]
pub(crate) struct ToolMeta(BTreeMap<String, MetaObject>);

impl ToolMeta {
    pub(crate) fn insert(&mut self, tool: String, key: String, value: Value) {
        self.0.entry(tool).or_default().0.insert(key, value);
    }
}

/// Converts a definition into the tool that clients list.
pub(crate) fn tool(definition: &ToolDefinition, meta: &ToolMeta) -> Tool {
    let input = object(&definition.parameters).unwrap_or_default();
    let mut tool = Tool::new(definition.name.clone(), definition.description.clone(), input);
    tool.title.clone_from(&definition.title);
    tool.output_schema = definition.output.as_ref().and_then(object).map(Arc::new);
    tool.annotations = Some(annotations(definition));
    tool.meta = meta.0.get(&definition.name).cloned();
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
