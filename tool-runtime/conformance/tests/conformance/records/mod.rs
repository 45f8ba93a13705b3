//! Stores of small records.

mod damage;
mod defects;
mod handles;

use std::sync::Arc;

use tool_conformance::records::{check, check_handles};
use tool_runtime::records::{FileRecords, MemoryRecords, Records};
use tool_runtime::store::Sqlite;

use crate::Folder;

#[tokio::test]
async fn memory_conforms() {
    assert_eq!(check(|| async { MemoryRecords::new() }).await, []);
    let store = MemoryRecords::new();
    assert_eq!(check_handles(store.clone(), store).await, []);
    let store: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    assert_eq!(check_handles(Arc::clone(&store), store).await, []);
}

#[tokio::test]
async fn files_conform() {
    let folder = Folder::new();
    assert_eq!(check(|| async { FileRecords::open(folder.next()).await.unwrap() }).await, []);
    let path = folder.next();
    let [first, second] = [FileRecords::open(&path).await, FileRecords::open(&path).await];
    assert_eq!(check_handles(first.unwrap(), second.unwrap()).await, []);
}

#[tokio::test]
async fn sqlite_conforms() {
    let folder = Folder::new();
    let in_memory = || async { Sqlite::in_memory().unwrap().records().await.unwrap() };
    assert_eq!(check(in_memory).await, []);
    let open = async |path| Sqlite::open(path).await.unwrap().records().await.unwrap();
    assert_eq!(check(|| open(folder.next())).await, []);
    let path = folder.next();
    assert_eq!(check_handles(open(path.clone()).await, open(path).await).await, []);
    let store = in_memory().await;
    assert_eq!(check_handles(store.clone(), store).await, []);
}
