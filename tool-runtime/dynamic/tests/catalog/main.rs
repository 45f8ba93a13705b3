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
mod crashes;
mod edited;
mod failures;
mod fixture;
#[cfg(unix)]
mod hanging;
#[path = "../../../conformance/tests/intercepted.rs"]
mod intercepted;
mod operations;
mod processes;
mod registrar;
mod secrets;
mod stores;

use std::path::Path;

use tool_dynamic::Catalog;

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> Catalog {
    fixture::open(&folder.join("store.db")).await
}

/// An SQLite file has no server that finishes the work of a killed process.
async fn wait_for_server(_: u32) {}
