//! The attributes of each span.
//!
//! The conventions are those of
//! <https://github.com/open-telemetry/semantic-conventions-genai> (`docs/gen-ai/execute-tool.md`,
//! `gen-ai-agent-spans.md`, `gen-ai-spans.md`), whose status is "development". `otel.name`,
//! `otel.kind` and `otel.status_code` are not attributes: the crate tracing-opentelemetry makes the
//! span's name, kind and status of them.

pub(crate) use tracing::Span;
use tracing::field::Empty;
use tracing::instrument::{Instrument as _, Instrumented};

/// What these spans are of, to filter by.
const TARGET: &str = "tool_runtime";

/// A run, of the agent of this name if it has one.
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

/// A request to the model.
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

/// A call of a tool.
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
        "gen_ai.tool.call.arguments" = Empty,
        "gen_ai.tool.call.result" = Empty,
        "error.type" = Empty,
    )
}

/// Notes what the span's work failed with: a stable code.
pub(crate) fn fail(span: &Span, code: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", code);
}

/// Work within its span; `code` is what an error is called, if it is one.
pub(crate) async fn within<T, E>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
    code: fn(&E) -> Option<&'static str>,
) -> Result<T, E> {
    let outcome = work.instrument(span.clone()).await;
    if let Some(code) = outcome.as_ref().err().and_then(code) {
        fail(&span, code);
    }
    outcome
}

/// Work in another task, within the span of this one.
pub(crate) fn in_current<F: Future>(work: F) -> Instrumented<F> {
    work.in_current_span()
}
