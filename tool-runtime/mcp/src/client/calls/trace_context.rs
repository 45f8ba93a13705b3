//! The trace context of calls, in the metadata of their requests.

use rmcp::model::RequestMetaObject;
use serde_json::{Map, Value};

/// The maximum length of a member, as in W3C Trace Context.
const MAX_BYTES: usize = 512;

/// Copies the trace context from the metadata of a run. Its `baggage` stays: it holds data of the
/// program, which a server must not receive.
pub(crate) fn copy_trace_context(from: &Map<String, Value>, to: &mut RequestMetaObject) {
    let text = |name| from.get(name).and_then(Value::as_str).filter(|it| it.len() <= MAX_BYTES);
    if let Some(parent) = text("traceparent") {
        to.set_traceparent(parent);
        if let Some(state) = text("tracestate") {
            to.set_tracestate(state);
        }
    }
}
