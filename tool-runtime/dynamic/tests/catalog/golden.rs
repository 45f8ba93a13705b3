//! Files that earlier versions have written are read and continued.

use std::fs;

use tool_dynamic::catalog::SqliteCatalog;
use tool_runtime::store::Sqlite;

use super::contents::{check, fill};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/catalog_1.db");

#[tokio::test]
async fn file_of_an_earlier_version_is_continued() {
    let path = std::env::temp_dir().join(format!("catalog-golden-{}.db", std::process::id()));
    fs::copy(FILE, &path).unwrap();
    let file = Sqlite::open(&path).await.unwrap();
    check(SqliteCatalog::open(&file).await.unwrap()).await;
    fs::remove_file(&path).unwrap();
}

/// Run it when the tables or the contents change, and keep the earlier files.
#[tokio::test]
#[ignore = "writes a fixture into the temporary folder"]
async fn write_file_of_this_version() {
    let path = std::env::temp_dir().join("catalog.db");
    let file = Sqlite::open(&path).await.unwrap();
    fill(SqliteCatalog::open(&file).await.unwrap()).await;
    println!("{}", path.display());
}
