//! Tests of the tools that run commands. They need bubblewrap and user namespaces.

#![cfg(target_os = "linux")]
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
mod background;
mod canaries;
mod cases;
mod commands;
mod corpus;
mod fixture;
mod landlock;
mod launcher;
mod lifetimes;
mod limits;
mod privileged;
mod repositories;
mod task;
