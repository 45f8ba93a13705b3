//! Pieces and tools for the tests.

use std::sync::Arc;

use tool_dynamic::{BodyKind, JavaScript, Pieces, ToolBackend};
use tool_runtime::{Effect, Tool, ToolContext, ToolError, ToolOutput};

pub(crate) fn script(body: &str) -> Pieces {
    Pieces::new(BodyKind::JavaScript, "script", "Runs a script.", body).effect(Effect::Read)
}

pub(crate) async fn build(pieces: &Pieces) -> Result<Arc<dyn Tool>, ToolError> {
    JavaScript::new().build(&pieces.check().expect("valid pieces")).await
}

/// Builds a tool and calls it outside of a dispatcher.
pub(crate) async fn run(pieces: &Pieces, arguments: &str) -> Result<ToolOutput, ToolError> {
    build(pieces).await?.call(arguments.into(), &ToolContext::default()).await
}
