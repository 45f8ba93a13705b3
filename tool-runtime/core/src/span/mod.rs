//! Spans for `tracing`, named by the OpenTelemetry conventions for agents.
//!
//! Without the feature `tracing` there are no spans, and these functions cost nothing.

#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(feature = "tracing")]
mod enabled;

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::{Span, chat, in_current_span, instrument, invoke_agent};
#[cfg(feature = "tracing")]
pub(crate) use enabled::{
    Span, chat, execute_tool, in_current_span, instrument, invoke_agent, record_error,
};
