//! Tests of texts, against cases, laws and other implementations.
//!
//! - `repair`: texts with the recorded result, `corpus/<class>/<topic>.txt`.
//! - `laws`, `coerce`: properties of every text, and of every value and schema.
//! - `escapes`: backslashes that begin no JSON escape.
//! - `second_readings`: texts that two values fit.
//! - `fuzz`: changed corpus texts obey the laws. `check`: verdicts agree with another validator.
//! - `scores`: external suites and outputs of models, when an environment variable names them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::or_fun_call,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::use_self,
    clippy::wildcard_imports,
    reason = "a test stops at the first failure"
)]

mod check;
mod coerce;
mod escapes;
mod fuzz;
mod laws;
mod repair;
mod scores;
mod second_readings;

#[path = "support/corpus.rs"]
mod corpus;
#[path = "check/draw.rs"]
mod draw;
#[path = "support/invariants.rs"]
mod invariants;
#[path = "fuzz/mangle.rs"]
mod mangle;
#[path = "check/mutate.rs"]
mod mutate;
#[path = "support/provenance.rs"]
mod provenance;
#[path = "check/random_schema.rs"]
mod random_schema;
#[path = "check/random_value.rs"]
mod random_value;
#[path = "fuzz/runner.rs"]
mod runner;

/// The folder of the corpus.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
