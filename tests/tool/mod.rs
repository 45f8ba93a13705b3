//! The `#[tool]` macro: the definition, the decoded arguments and the output of a tool.

mod definition_limits;
pub mod generated_code;
#[cfg(all(feature = "process", target_os = "linux"))]
mod process;
use std::time::Duration;

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, Effect, Registry, RegistryError, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput, Tools, args, tool, tools,
};

mod argument_fields;
mod argument_rules;
mod arguments;
mod attribute_words;
mod definition;
mod error_codes;
mod extensions;
mod formats;
mod hand_written;
mod malformed_schemas;
mod nested;
mod output;
mod output_format;
mod parts;
mod repairs;
mod schema_rules;
mod toolbox;
mod wrong_arguments;

/// Calls the tool and returns the text that the model receives.
async fn call(tool: &impl Tool, arguments: impl Into<Arguments>) -> Result<String, ToolError> {
    let output = tool.call(arguments.into(), &ToolContext::default()).await;
    output.map(ToolOutput::into_text)
}

/// Returns the validation error for these arguments.
async fn refusal(tool: &impl Tool, arguments: impl Into<Arguments>) -> String {
    let error = call(tool, arguments).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    error.text().to_owned()
}
