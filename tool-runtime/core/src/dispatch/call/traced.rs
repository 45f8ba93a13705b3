//! Runs a call within its tracing span.

use std::sync::{Arc, OnceLock};

use tracing::Instrument as _;

use crate::dispatch::call;
use crate::dispatch::call::emitted_ends::EndClaim;
use crate::dispatch::context::BatchContext;
use crate::event::ToolExecution;
use crate::message::ToolCall;
use crate::span;
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
    let redactor = batch.scope.redactor.as_ref();
    let mut name = call.name.clone();
    if let Some(redactor) = redactor {
        redactor.redact(&mut name);
    }
    let span = span::execute_tool(&name, call.id.as_str());
    if span.is_disabled() {
        return call::run_call(batch, call, work, end).await;
    }
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
        let mut text = result.plain_text().into_owned();
        if let Some(redactor) = redactor {
            redactor.redact(&mut text);
        }
        span.record("gen_ai.tool.call.result", text);
    }
    execution
}
