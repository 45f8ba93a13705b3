//! Tests of schedules.
//!
//! Long versions of tests are ignored: `cargo test -p tool-schedule --all-features -- --ignored`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod approval;
mod calendar;
mod crashes;
mod events;
mod firing;
mod fixture;
#[path = "../../../conformance/tests/intercepted.rs"]
mod intercepted;
mod missed;
mod occurrences;
mod rights;
mod schedules;
mod tools;

use std::path::Path;

use tool_runtime::schedule::Schedules;
use tool_runtime::store::Sqlite;

use self::fixture::Folder;

/// Opens the store of a test that kills processes.
async fn open_store(folder: &Path) -> Schedules {
    let file = Sqlite::open(folder.join("store.db")).await.unwrap();
    Schedules::new(file.records().await.unwrap())
}
