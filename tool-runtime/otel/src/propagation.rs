use std::collections::HashMap;

use opentelemetry::global;
use opentelemetry::trace::TraceContextExt as _;
use serde_json::{Map, Value};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Returns the context of the current span, such as `traceparent`, for another process.
///
/// The propagator is the one that the program has set with
/// [`set_text_map_propagator`](global::set_text_map_propagator). Without one, and outside of a span
/// that is exported, there is no context. Give the function to an MCP client, so that the spans of
/// the server become part of the trace:
///
/// ```
/// use opentelemetry::global;
/// use opentelemetry_sdk::propagation::TraceContextPropagator;
/// use tool_runtime::otel::trace_context;
///
/// global::set_text_map_propagator(TraceContextPropagator::new());
/// assert!(trace_context().is_empty(), "there is no span here");
/// // McpClient::stdio("my-server").trace_context(trace_context)
/// ```
pub fn trace_context() -> Map<String, Value> {
    let context = Span::current().context();
    let mut members = HashMap::new();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut members);
    });
    members.into_iter().map(|(name, value)| (name, value.into())).collect()
}

/// Makes a span that has not started yet part of the trace of another process.
///
/// `context` is what [`trace_context`] returned there, among other members. Without a context, the
/// span keeps its parent. Give the function to an MCP server:
///
/// ```
/// use tool_runtime::otel::continue_trace;
///
/// // McpServer::new(registry).trace_parent(continue_trace)
/// # let _ = continue_trace;
/// ```
pub fn continue_trace(span: &Span, context: &Map<String, Value>) {
    let members: HashMap<String, String> = context
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let parent = global::get_text_map_propagator(|propagator| propagator.extract(&members));
    if parent.has_active_span() {
        // Fails for a span that has started or is not exported, which keeps its parent then.
        let _ = span.set_parent(parent);
    }
}
