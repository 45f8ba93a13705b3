//! The tools by which a model makes tools, with scripts in JavaScript.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod agents;
mod approvals;
mod fixture;
#[path = "../../../conformance/tests/intercepted.rs"]
mod intercepted;
#[path = "../kills/mod.rs"]
mod kill_loop;
mod kills;
mod making;
mod names;
mod races;
mod recorded;
mod versions;
