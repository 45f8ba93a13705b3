//! Files that earlier versions have written are read and continued.

use std::fs;

use tool_runtime::schedule::SqliteSchedules;
use tool_runtime::store::Sqlite;

use super::fixture::Folder;
use super::records::{check, fill};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/schedules_1.db");

#[tokio::test]
async fn file_of_an_earlier_version_is_continued() {
    let folder = Folder::new();
    fs::copy(FILE, folder.file()).unwrap();
    let store = SqliteSchedules::open(&Sqlite::open(folder.file()).await.unwrap()).await.unwrap();
    check(&store).await;
}

/// Run it when the tables or the records change, and keep the earlier files.
#[tokio::test]
#[ignore = "writes a fixture into the temporary folder"]
async fn write_file_of_this_version() {
    let path = std::env::temp_dir().join("schedules.db");
    let store = SqliteSchedules::open(&Sqlite::open(&path).await.unwrap()).await.unwrap();
    fill(&store).await;
    println!("{}", path.display());
}
