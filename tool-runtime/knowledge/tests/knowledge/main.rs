//! Tests of knowledge and memory through their public interfaces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at a failure")]

mod indexing;
mod kills;
mod memory;
mod searching;
mod tool;

use std::path::Path;

use tool_runtime::knowledge::SqliteDocuments;
use tool_runtime::store::Sqlite;

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> SqliteDocuments {
    let file = Sqlite::open(folder.join("store.db")).await.unwrap();
    SqliteDocuments::open(&file).await.unwrap()
}

/// An SQLite file has no server that finishes the work of a killed process.
async fn wait_for_server(_: u32) {}
