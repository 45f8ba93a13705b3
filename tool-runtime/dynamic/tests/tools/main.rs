//! The tools by which a model makes tools, with scripts in JavaScript.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod agents;
mod approvals;
mod fixture;
mod making;
mod names;
mod versions;
