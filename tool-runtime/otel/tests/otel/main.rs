//! Exports a run by OTLP to a local endpoint and compares what arrives with a table of
//! OpenTelemetry's conventions.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod conventions;
mod endpoint;
mod mcp;
mod metrics;
mod scenario;
mod spans;
