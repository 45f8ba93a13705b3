//! Tools that are registered and listed, but never called.

#![expect(clippy::unwrap_used, reason = "a bench stops at the first failure")]

use std::sync::Arc;

use tool_runtime::{
    Arguments, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait,
};

/// Tool such as `tool_7`, with one argument of the given description.
pub(crate) struct Listed(ToolDefinition);

impl Listed {
    pub(crate) fn new(number: usize, description: &str) -> Self {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "argument": { "type": "string", "description": description } },
        });
        Self(ToolDefinition::new(format!("tool_{number}"), "Is listed.", schema))
    }
}

#[async_trait]
impl Tool for Listed {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("is never called"))
    }
}

/// Returns a registry with `count` such tools.
pub(crate) fn registry(count: usize, description: &str) -> Registry {
    let registry = Registry::new();
    let tools =
        (0..count).map(|number| Arc::new(Listed::new(number, description)) as Arc<dyn Tool>);
    registry.register_all(tools.collect()).unwrap();
    registry
}
