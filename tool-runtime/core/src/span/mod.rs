//! Spans for `tracing`, named by the OpenTelemetry conventions for agents.
//!
//! Here is what all spans share. The spans of runs and of model requests are in `agent/spans`, and
//! the span of a call is in `dispatch/call/traced.rs`. Without the feature `tracing` there are no
//! spans, and these functions cost nothing.

#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(feature = "tracing")]
mod enabled;

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::{Span, in_current_span, instrument};
#[cfg(feature = "tracing")]
pub(crate) use enabled::{Span, TARGET, in_current_span, instrument, record_error, text_array};
