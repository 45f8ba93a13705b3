//! The trace context of calls, in the metadata of their requests.

use std::sync::Arc;

use rmcp::model::RequestMetaObject;
use serde_json::{Map, Value};

/// The maximum length of a member, as in W3C Trace Context.
const MAX_BYTES: usize = 512;

/// The function of the program that returns the context of the current trace, if there is one.
#[derive(Clone, Default)]
pub(crate) struct TraceContextHook(Option<Arc<Hook>>);

type Hook = dyn Fn() -> Map<String, Value> + Send + Sync;

impl TraceContextHook {
    pub(crate) fn new(hook: impl Fn() -> Map<String, Value> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Adds the context to a request: that of the program, or else that in the metadata of the run.
    pub(crate) fn add(&self, run: &Map<String, Value>, to: &mut RequestMetaObject) {
        let current = self.0.as_ref().map(|hook| hook());
        let current = current.filter(|context| context.contains_key("traceparent"));
        copy_trace_context(current.as_ref().unwrap_or(run), to);
    }
}

/// Copies a trace context. Its `baggage` stays: it holds data of the
/// program, which a server must not receive.
fn copy_trace_context(from: &Map<String, Value>, to: &mut RequestMetaObject) {
    let text = |name| from.get(name).and_then(Value::as_str).filter(|it| it.len() <= MAX_BYTES);
    if let Some(parent) = text("traceparent") {
        to.set_traceparent(parent);
        if let Some(state) = text("tracestate") {
            to.set_tracestate(state);
        }
    }
}
