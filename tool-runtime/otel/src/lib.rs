//! OpenTelemetry for agents: metrics, names of its conventions on spans, and traces across
//! processes.
//!
//! The runtime emits its spans through `tracing`. This crate adds what needs the crates of
//! OpenTelemetry: [`layer`] passes the spans to a tracer, [`ConventionsExporter`] completes them
//! before they are exported, and [`Metrics`] records durations and tokens of requests, calls and
//! runs. The program chooses the exporters.
//!
//! tool-runtime exports this crate as `tool_runtime::otel`, by the feature `otel`. Its
//! [guide](https://docs.rs/tool-runtime) has the page `observability`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # Flow
// 1. `conventions.rs`: the version of the conventions that a program emits.
// 2. `metrics/`: an observer of events records into instruments.
// 3. `exporter.rs`: spans pass on their way to the exporter, where texts become lists and names
//    become those of the chosen version (`names.rs`).
// 4. `layer.rs` and `propagation.rs`: from `tracing` to OpenTelemetry, and from process to process.
//
// # Invariants
// - Metrics have no content, and no attribute whose number of values a user or a model determines,
//   except the names of tools that exist.
// - With the latest conventions, a span has the attributes that the runtime has recorded, and no
//   other.

mod conventions;
mod exporter;
mod layer;
mod metrics;
mod names;
mod propagation;

pub use conventions::Conventions;
pub use exporter::ConventionsExporter;
pub use layer::layer;
pub use metrics::Metrics;
pub use propagation::{continue_trace, trace_context};
