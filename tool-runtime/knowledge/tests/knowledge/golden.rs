//! Documents and facts that earlier versions have written are found and replaced.

use std::{env, fs, process};

use tool_runtime::knowledge::SqliteDocuments;
use tool_runtime::store::Sqlite;

use super::fixture_documents::{check, fill};

/// Files of each version of the tables, with the documents and facts below.
const FILES: [(u32, &[u8]); 1] =
    [(1, include_bytes!("../../../../tests/golden/knowledge_1.db").as_slice())];

#[tokio::test]
async fn documents_of_an_earlier_version_are_found_and_replaced() {
    for (version, bytes) in FILES {
        let path = env::temp_dir().join(format!("knowledge-{version}-{}.db", process::id()));
        fs::write(&path, bytes).unwrap();
        let file = Sqlite::open(&path).await.unwrap();
        check(SqliteDocuments::open(&file).await.unwrap()).await;
        fs::remove_file(&path).unwrap();
    }
}

#[tokio::test]
async fn documents_of_this_version_are_found_and_replaced() {
    let store = SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap();
    fill(store.clone()).await;
    check(store).await;
}
