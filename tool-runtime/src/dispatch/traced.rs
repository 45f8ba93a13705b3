//! One call within its span.

use std::sync::Arc;

use tracing::Instrument as _;

use super::call;
use super::running::Running;
use crate::event::ToolExecution;
use crate::message::ToolCall;
use crate::span;

/// As [`call::one`], within a span that tells of it; where nobody wants that span, nothing more.
///
/// Arguments and results are on it only where the program wants them there, and what is secret in them
/// never is.
pub(super) async fn one(running: &Arc<Running>, call: ToolCall) -> ToolExecution {
    let redactor = running.scope.redactor.as_ref();
    let mut name = call.name.clone();
    if let Some(redactor) = redactor {
        redactor.hide(&mut name);
    }
    let span = span::execute_tool(&name, call.id.as_str());
    if span.is_disabled() {
        return call::one(running, call).await;
    }
    if running.state.trace_content {
        let mut shown = call.clone();
        if let Some(redactor) = redactor {
            redactor.hide_in_call(&mut shown);
        }
        span.record("gen_ai.tool.call.arguments", shown.arguments.to_text().as_ref());
    }
    let execution = call::one(running, call).instrument(span.clone()).await;
    let result = &execution.result;
    if let Some(code) = &result.error {
        span::fail(&span, code);
    }
    if running.state.trace_content {
        let mut text = result.text.clone();
        if let Some(redactor) = redactor {
            redactor.hide(&mut text);
        }
        span.record("gen_ai.tool.call.result", text);
    }
    execution
}
