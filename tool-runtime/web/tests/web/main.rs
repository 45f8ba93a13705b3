//! Tests of the tools on the web. All servers are on loopback addresses.

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
mod content;
mod destinations;
mod fixture;
mod hostile;
mod requests;
mod searching;
mod sections;
mod sending;
mod server;
mod tls;
