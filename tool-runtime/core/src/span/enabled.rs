//! The spans and their attributes.
//!
//! The conventions are those of <https://github.com/open-telemetry/semantic-conventions-genai>
//! (`docs/gen-ai/execute-tool.md`, `gen-ai-agent-spans.md`, `gen-ai-spans.md`), whose status is
//! "development". `otel.name`, `otel.kind` and `otel.status_code` are not attributes: the crate
//! tracing-opentelemetry converts them to the name, kind and status of the span.

pub(crate) use tracing::Span;
use tracing::field::Empty;
use tracing::instrument::{Instrument as _, Instrumented};

/// The target of the spans, for filters.
const TARGET: &str = "tool_runtime";

/// Creates the span of a run of the agent with this name.
pub(crate) fn invoke_agent(name: Option<&str>) -> Span {
    let otel_name = name.map(|name| format!("invoke_agent {name}"));
    tracing::info_span!(
        target: TARGET,
        "invoke_agent",
        "otel.name" = otel_name.as_deref().unwrap_or("invoke_agent"),
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.agent.name" = name,
        "error.type" = Empty,
    )
}

/// Creates the span of a model request.
pub(crate) fn chat() -> Span {
    tracing::info_span!(
        target: TARGET,
        "chat",
        "otel.name" = "chat",
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "chat",
        "error.type" = Empty,
    )
}

/// Creates the span of a tool call.
pub(crate) fn execute_tool(name: &str, call: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "execute_tool",
        "otel.name" = format!("execute_tool {name}"),
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = name,
        "gen_ai.tool.call.id" = call,
        "gen_ai.tool.type" = "function",
        "tool_runtime.tool.kind" = Empty,
        "gen_ai.tool.call.arguments" = Empty,
        "gen_ai.tool.call.result" = Empty,
        "error.type" = Empty,
    )
}

/// Records the stable code of an error on a span.
pub(crate) fn record_error(span: &Span, code: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", code);
}

/// Runs a future within a span. `code` returns the code of an error, or `None` if it is no failure.
pub(crate) async fn instrument<T, E>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
    code: fn(&E) -> Option<&'static str>,
) -> Result<T, E> {
    let result = work.instrument(span.clone()).await;
    if let Some(code) = result.as_ref().err().and_then(code) {
        record_error(&span, code);
    }
    result
}

/// Runs a future, often in another task, within the current span.
pub(crate) fn in_current_span<F: Future>(work: F) -> Instrumented<F> {
    work.in_current_span()
}
