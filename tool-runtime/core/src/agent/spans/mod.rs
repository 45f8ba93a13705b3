//! The spans of runs and of model requests, with the attributes of OpenTelemetry's conventions.
//!
//! 1. `run_span.rs`: a run is an `invoke_agent` span.
//! 2. `request_span.rs`: a model request is a `chat` span in it. What sampling may depend on is
//!    known when the span starts; the settings are recorded once the hooks have seen the request.
//! 3. `settings.rs`: the settings of a request, also those in the spelling of the provider.
//! 4. `content.rs`: messages and definitions of tools, if the program wants them on spans.
//!
//! If no subscriber wants a span, none of its attributes is computed. Without the feature
//! `tracing`, `disabled.rs` stands in for all of it.

#[cfg(feature = "tracing")]
mod content;
#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(feature = "tracing")]
mod request_span;
#[cfg(feature = "tracing")]
mod run_span;
#[cfg(feature = "tracing")]
mod settings;

#[cfg(not(feature = "tracing"))]
pub(super) use disabled::{RequestSpan, RunSpan};
#[cfg(feature = "tracing")]
pub(super) use request_span::RequestSpan;
#[cfg(feature = "tracing")]
pub(super) use run_span::RunSpan;
