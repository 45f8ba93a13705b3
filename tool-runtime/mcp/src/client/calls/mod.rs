//! Calls of a server's tools: arguments, request, result and error.

#[cfg(feature = "tracing")]
mod call_span;
pub(crate) mod content;
pub(crate) mod deadline;
pub(crate) mod metadata;
pub(crate) mod remote_tool;
pub(crate) mod request_error;
pub(crate) mod rounded_number;
pub(crate) mod task;
pub(crate) mod trace_context;
