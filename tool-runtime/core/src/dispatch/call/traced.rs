//! Runs a call within its tracing span.

use std::cell::LazyCell;
use std::sync::{Arc, OnceLock};

use tracing::Instrument as _;
use tracing::field::Empty;

use crate::dispatch::call;
use crate::dispatch::call::emitted_ends::EndClaim;
use crate::dispatch::context::BatchContext;
use crate::event::ToolExecution;
use crate::message::{ToolCall, ToolKind};
use crate::registry::Entry;
use crate::span::{self, Span};
use crate::tool::CallWork;

/// Runs a call within an `execute_tool` span; if no subscriber wants the span, runs the call alone.
///
/// Arguments and results are recorded only if the program enabled that, and always redacted.
pub(crate) async fn run_call(
    batch: &Arc<BatchContext>,
    call: ToolCall,
    work: OnceLock<Arc<CallWork>>,
    end: Option<EndClaim>,
) -> ToolExecution {
    let span = execute_tool(batch, &call);
    if span.is_disabled() {
        return call::run_call(batch, call, work, end).await;
    }
    let redactor = batch.scope.redactor.as_ref();
    if batch.state.trace_content {
        let mut redacted = call.clone();
        if let Some(redactor) = redactor {
            redactor.redact_call(&mut redacted);
        }
        span.record("gen_ai.tool.call.arguments", redacted.arguments.to_text().as_ref());
    }
    let execution = call::run_call(batch, call, work, end).instrument(span.clone()).await;
    if let Some(kind) = &execution.tool_kind {
        span.record("tool_runtime.tool.kind", kind.name());
    }
    let result = &execution.result;
    if let Some(code) = &result.error {
        span::record_error(&span, code);
    }
    if batch.state.trace_content {
        span.record("gen_ai.tool.call.result", redacted(batch, result.plain_text().into_owned()));
    }
    execution
}

/// Creates the span of a call.
fn execute_tool(batch: &BatchContext, call: &ToolCall) -> Span {
    let name = LazyCell::new(|| redacted(batch, call.name.clone()));
    let tool = LazyCell::new(|| batch.tools.entry(&call.name).map(Entry::definition));
    let description = LazyCell::new(|| tool.map(|tool| redacted(batch, tool.description.clone())));
    let info = batch.scope.run_info.as_deref();
    let session = LazyCell::new(|| Some(redacted(batch, info?.session.clone()?)));
    tracing::info_span!(
        target: span::TARGET,
        "execute_tool",
        "otel.name" = format!("execute_tool {}", *name),
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = name.as_str(),
        "gen_ai.tool.call.id" = call.id.as_str(),
        "gen_ai.tool.type" = tool.map(|tool| tool_type(&tool.kind)),
        "gen_ai.tool.description" = description.as_deref(),
        "gen_ai.agent.name" = info.and_then(|info| info.agent.as_deref()),
        "gen_ai.conversation.id" = session.as_deref(),
        "tool_runtime.tool.kind" = Empty,
        "gen_ai.tool.call.arguments" = Empty,
        "gen_ai.tool.call.result" = Empty,
        // Of a call that an MCP server runs: its client has no span of its own then.
        "mcp.method.name" = Empty,
        "mcp.protocol.version" = Empty,
        "mcp.session.id" = Empty,
        "jsonrpc.request.id" = Empty,
        "rpc.response.status_code" = Empty,
        "network.transport" = Empty,
        "server.address" = Empty,
        "server.port" = Empty,
        "error.type" = Empty,
    )
}

fn redacted(batch: &BatchContext, mut text: String) -> String {
    if let Some(redactor) = &batch.scope.redactor {
        redactor.redact(&mut text);
    }
    text
}

/// Returns the `gen_ai.tool.type` of a kind of tools. Whether a tool queries data, which would make
/// it a `datastore`, is not known.
fn tool_type(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Function | ToolKind::Program(_) | ToolKind::Dynamic(_) => "function",
        ToolKind::Remote(_) => "extension",
    }
}
