//! The `#[tool]` macro: the definition, the decoded arguments and the output of a tool.

use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, Effect, Registry, RegistryError, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput, Tools, args, tool, tools,
};

#[path = "macros/arguments.rs"]
mod arguments;
#[path = "macros/attribute_words.rs"]
mod attribute_words;
#[path = "macros/definition.rs"]
mod definition;
#[path = "macros/extensions.rs"]
mod extensions;
#[path = "macros/formats.rs"]
mod formats;
#[path = "macros/nested.rs"]
mod nested;
#[path = "macros/output.rs"]
mod output;
#[path = "macros/repairs.rs"]
mod repairs;
#[path = "macros/schema_rules.rs"]
mod schema_rules;
#[path = "macros/toolbox.rs"]
mod toolbox;

/// Calls the tool and returns the text that the model receives.
async fn call(tool: &impl Tool, arguments: impl Into<Arguments>) -> Result<String, ToolError> {
    let output = tool.call(arguments.into(), &ToolContext::default()).await;
    output.map(ToolOutput::into_text)
}

/// Returns the validation error for these arguments.
async fn refusal(tool: &impl Tool, arguments: impl Into<Arguments>) -> String {
    let error = call(tool, arguments).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Validation);
    error.text().to_owned()
}
