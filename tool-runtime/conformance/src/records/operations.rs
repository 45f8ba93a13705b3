//! Operations that have to succeed.

use tool_core::records::{Expected, Record, RecordList, RecordQuery, Records};

use crate::Violation;
use crate::violation::failed;

pub(super) async fn list(
    store: &dyn Records,
    collection: &str,
    query: &RecordQuery<'_>,
    rule: &'static str,
) -> Result<RecordList, Violation> {
    store.list(collection, query.clone()).await.map_err(failed(rule))
}

pub(super) async fn list_all(
    store: &dyn Records,
    collection: &str,
    rule: &'static str,
) -> Result<RecordList, Violation> {
    list(store, collection, &RecordQuery::all(), rule).await
}

pub(super) async fn load(
    store: &dyn Records,
    collection: &str,
    key: &str,
    rule: &'static str,
) -> Result<Option<Record>, Violation> {
    store.load(collection, key).await.map_err(failed(rule))
}

/// Saves a record whatever is stored.
pub(super) async fn save(
    store: &dyn Records,
    collection: &str,
    (key, value, order): (&str, &str, Option<i64>),
    rule: &'static str,
) -> Result<u64, Violation> {
    let saved = store.save(collection, key, Expected::Any, value, order).await;
    saved.map_err(failed(rule))
}

/// Deletes a record whatever is stored.
pub(super) async fn delete(
    store: &dyn Records,
    collection: &str,
    key: &str,
    rule: &'static str,
) -> Result<u64, Violation> {
    store.delete(collection, key, Expected::Any).await.map_err(failed(rule))
}
