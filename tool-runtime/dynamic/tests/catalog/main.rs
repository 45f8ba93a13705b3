//! Tests of catalogs and registrars.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

#[cfg(unix)]
mod canary;
#[cfg(unix)]
mod connection_tools;
#[cfg(unix)]
mod connections;
mod contents;
mod crashes;
mod failures;
mod fixture;
mod golden;
mod operations;
mod processes;
mod registrar;
mod secrets;
mod stores;
