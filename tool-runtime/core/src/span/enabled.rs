//! The parts that all spans share.
//!
//! The conventions are those of <https://github.com/open-telemetry/semantic-conventions-genai>,
//! whose status is "development". The table in `tool-runtime/otel/tests/otel/conventions.rs` names
//! the source and the commit of each attribute. `otel.name`, `otel.kind` and `otel.status_code` are
//! not attributes: the crate tracing-opentelemetry converts them to the name, kind and status of
//! the span.
//!
//! A field of `tracing` holds one text, number or boolean. Lists are therefore JSON texts, and
//! counts are signed, because tracing-opentelemetry turns unsigned numbers into texts.

pub(crate) use tracing::Span;
use tracing::instrument::{Instrument as _, Instrumented};

/// The target of the spans, for filters.
pub(crate) const TARGET: &str = "tool_runtime";

/// Records the stable code of an error on a span.
pub(crate) fn record_error(span: &Span, code: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", code);
}

/// Writes a list of texts as a JSON array.
pub(crate) fn text_array<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    serde_json::Value::from_iter(texts).to_string()
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
