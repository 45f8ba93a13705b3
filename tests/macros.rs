//! What `#[tool]` means: the definition it makes, what it decodes, what it gives back.

use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, Effect, Registry, RegistryError, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput, Tools, args, tool, tools,
};

#[path = "macros/arguments.rs"]
mod arguments;
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
#[path = "macros/rules.rs"]
mod rules;
#[path = "macros/toolbox.rs"]
mod toolbox;
#[path = "macros/words.rs"]
mod words;

/// What the model reads when the tool is called with `arguments`.
async fn call(tool: &impl Tool, arguments: impl Into<Arguments>) -> Result<String, ToolError> {
    let output = tool.call(arguments.into(), &ToolContext::default()).await;
    output.map(ToolOutput::into_text)
}

/// The text of the refusal of these arguments.
async fn refusal(tool: &impl Tool, arguments: impl Into<Arguments>) -> String {
    let error = call(tool, arguments).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Validation);
    error.text().to_owned()
}
