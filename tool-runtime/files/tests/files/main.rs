//! Tests of the tools on files.
//!
//! Long versions of tests are ignored: `cargo test -p tool-files --all-features -- --ignored`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod approvals;
mod changes;
mod confinement;
mod fixture;
mod kills;
mod parallel;
mod patches;
mod races;
mod reading;
mod searching;
mod texts;
mod undo;

// The package `tool-tests-portable` runs these tests on the code for other systems.
#[cfg(portable)]
use portable_files as files;
#[cfg(not(portable))]
use tool_runtime::files;
