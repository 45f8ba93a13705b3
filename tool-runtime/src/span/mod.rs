//! Spans for `tracing`, by the names that OpenTelemetry gives to what agents do; without the feature
//! of that name there are none, and they cost nothing.

#[cfg(feature = "tracing")]
mod told;
#[cfg(not(feature = "tracing"))]
mod untold;

#[cfg(feature = "tracing")]
pub(crate) use told::{Span, chat, execute_tool, fail, in_current, invoke_agent, within};
#[cfg(not(feature = "tracing"))]
pub(crate) use untold::{Span, chat, in_current, invoke_agent, within};
