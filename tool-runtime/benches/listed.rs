//! Tools that are registered and listed, never called.

#![expect(clippy::unwrap_used, reason = "a bench that can't go on should stop")]

use std::sync::Arc;

use tool_runtime::{
    Arguments, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait,
};

/// `tool_7`, whose one argument is described by these words.
pub(crate) struct Listed(ToolDefinition);

impl Listed {
    pub(crate) fn new(number: usize, described: &str) -> Self {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "argument": { "type": "string", "description": described } },
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

/// So many of them.
pub(crate) fn registry(count: usize, described: &str) -> Registry {
    let registry = Registry::new();
    let tools = (0..count).map(|number| Arc::new(Listed::new(number, described)) as Arc<dyn Tool>);
    registry.register_all(tools.collect()).unwrap();
    registry
}
