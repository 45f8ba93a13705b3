//! Tests of the runtime: the modules have the names of those of the crate.
//!
//! A plain `cargo test` builds them without optional features. With a feature, its tests are added.

mod agent;
mod dispatch;
#[path = "../tool-runtime/json/tests/check/draw.rs"]
mod draw;
mod drivers;
mod event;
mod framing;
#[cfg(feature = "http")]
mod http;
#[path = "../tool-runtime/conformance/tests/intercepted.rs"]
mod intercepted;
#[path = "../tool-runtime/json/tests/fuzz/mangle.rs"]
#[expect(dead_code, reason = "the texts that are changed are others")]
mod mangle;
#[path = "../tool-runtime/json/tests/check/mutate.rs"]
mod mutate;
#[cfg(all(feature = "process", target_os = "linux"))]
mod process;
#[path = "../tool-runtime/json/tests/check/random_value.rs"]
mod random_value;
mod records;
mod registry;
mod report;
#[path = "../tool-runtime/json/tests/fuzz/runner.rs"]
mod runner;
mod schema;
#[cfg(feature = "tracing")]
mod span;
#[cfg(feature = "terminal")]
mod terminal;
// The lints of generated code also concern public items.
pub mod tool;

#[path = "../tool-runtime/json/tests/support/corpus.rs"]
#[expect(dead_code, reason = "only the texts are wanted here")]
mod corpus;
