use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{Violation, ensure, ensure_eq, failed};
use crate::catalog::store::{CatalogRecord, CatalogRecords, CatalogStore};

/// How long a change may take to be signalled.
const SIGNAL_LIMIT: Duration = Duration::from_secs(30);

/// Lists records in their order, with the revision of the last write.
pub(super) async fn check_lists(store: &impl CatalogStore) -> Result<(), Violation> {
    const RULE: &str = "a list has all records in the order of kinds and names";
    let fail = failed(RULE);
    let empty = store.list().await.map_err(&fail)?;
    ensure_eq("a new store is empty, at revision 0", &empty, &CatalogRecords::default())?;
    // In the order of their bytes.
    let keys = [("connection", "b"), ("tool", "B"), ("tool", "a"), ("tool", "a!"), ("tool", "ä")];
    let mut expected = Vec::new();
    for (kind, name) in keys.into_iter().rev() {
        let record = CatalogRecord::new(kind, name, "{}");
        let revision = store.save(&record).await.map_err(&fail)?;
        expected.insert(0, record.at_revision(revision));
    }
    let last = expected.first().map_or(0, |record| record.revision);
    let listed = store.list().await.map_err(&fail)?;
    ensure_eq(RULE, &listed, &CatalogRecords::new(last, expected.clone()))?;
    let count = store.count().await.map_err(&fail)?;
    ensure_eq("the count is that of the listed records", &count, &expected.len())?;

    let Some(deleted) = expected.pop() else { return Ok(()) };
    let last = store.delete(&deleted.kind, &deleted.name, deleted.revision).await.map_err(&fail)?;
    let listed = store.list().await.map_err(&fail)?;
    let rule = "a list has the revision of a deletion";
    ensure_eq(rule, &listed, &CatalogRecords::new(last, expected))
}

/// Waits for the changes of another handle.
pub(super) async fn check_signal<S: CatalogStore + 'static>(
    [writer, reader]: [Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "a write ends the wait for a change";
    let fail = failed(RULE);
    let since = reader.revision().await.map_err(&fail)?;
    let wait = tokio::spawn({
        let reader = Arc::clone(&reader);
        async move { timeout(SIGNAL_LIMIT, reader.changed(since)).await }
    });
    tokio::task::yield_now().await;
    ensure(!wait.is_finished(), "a wait lasts until there is a write", || {
        format!("it ended at revision {since}")
    })?;
    let record = CatalogRecord::new("tool", "signal", "{}");
    let saved = writer.save(&record).await.map_err(&fail)?;
    let signalled = wait.await.ok().and_then(Result::ok).transpose().map_err(&fail)?;
    ensure_eq(RULE, &signalled, &Some(saved))?;
    let wait = timeout(SIGNAL_LIMIT, reader.changed(since)).await;
    let signalled = wait.ok().transpose().map_err(&fail)?;
    ensure_eq("a wait for an earlier write ends at once", &signalled, &Some(saved))?;

    let deleted = writer.delete("tool", "signal", saved).await.map_err(&fail)?;
    let wait = timeout(SIGNAL_LIMIT, reader.changed(saved)).await;
    let signalled = wait.ok().transpose().map_err(&fail)?;
    ensure_eq("a deletion ends the wait for a change", &signalled, &Some(deleted))
}
