//! Specs and tools for the tests.

use std::sync::Arc;

use tool_dynamic::{BodyLanguage, JavaScript, ToolBackend, ToolSpec};
use tool_runtime::{Effect, Tool, ToolContext, ToolError, ToolOutput};

pub(crate) fn script(body: &str) -> ToolSpec {
    ToolSpec::new(BodyLanguage::JavaScript, "script", "Runs a script.", body).effect(Effect::Read)
}

pub(crate) async fn build(spec: &ToolSpec) -> Result<Arc<dyn Tool>, ToolError> {
    JavaScript::new().build(&spec.check().expect("valid spec")).await
}

/// Builds a tool and calls it outside of a dispatcher.
pub(crate) async fn run(spec: &ToolSpec, arguments: &str) -> Result<ToolOutput, ToolError> {
    build(spec).await?.call(arguments.into(), &ToolContext::default()).await
}
