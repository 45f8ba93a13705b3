use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tokio::runtime::Handle;

use super::{Violation, ensure, ensure_eq, failed};
use crate::catalog::store::{CatalogRecord, CatalogStore};

/// The number of rounds in which all writers write the same revision.
const ROUNDS: usize = 20;

pub(super) async fn check_concurrent_writes<S: CatalogStore + 'static>(
    handles: [Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "of concurrent writers of one revision, exactly one succeeds";
    let [first, _] = &handles;
    let mut current = CatalogRecord::new("tool", "contended", "{}");
    for round in 0..ROUNDS {
        let revision = current.revision;
        let writers = handles.iter().cycle().take(4).enumerate().map(|(writer, store)| {
            let (store, runtime) = (Arc::clone(store), Handle::current());
            let mut record = current.clone();
            record.content = format!("{round}/{writer}");
            thread::spawn(move || {
                let saved = runtime.block_on(store.save(&record));
                saved.ok().map(|revision| record.at_revision(revision))
            })
        });
        let writers: Vec<_> = writers.collect();
        // Waiting for threads would block a runtime with one thread.
        let results = tokio::task::spawn_blocking(|| {
            writers.into_iter().map(thread::JoinHandle::join).collect::<Result<Vec<_>, _>>()
        });
        let Ok(Ok(results)) = results.await else {
            return ensure(false, RULE, || "a writer panicked".into());
        };
        let mut winners: Vec<_> = results.into_iter().flatten().collect();
        ensure(winners.len() == 1, RULE, || {
            format!("{} writers of the revision {revision} succeeded", winners.len())
        })?;
        current = winners.pop().unwrap_or(current);
        let stored = first.load("tool", "contended").await.map_err(failed(RULE))?;
        let rule = "the record of the writer that succeeded is stored";
        ensure_eq(rule, &stored.as_ref(), &Some(&current))?;
    }
    Ok(())
}

/// Drops saves after each number of polls.
pub(super) async fn check_dropped_saves<S: CatalogStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "a dropped save is done completely or not at all";
    let fail = failed(RULE);
    for polls in 0..4 {
        let name = format!("dropped after {polls}");
        let expected = CatalogRecord::new("tool", &name, "x".repeat(10_000));
        {
            let mut save = pin!(store.save(&expected));
            for _ in 0..polls {
                let is_done =
                    poll_fn(|context| Poll::Ready(save.as_mut().poll(context).is_ready()));
                if is_done.await {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // A save that continues in the background is done before this one, or after it.
        if let Some(stored) = store.load("tool", &name).await.map_err(&fail)? {
            ensure_eq(RULE, &stored, &expected.at_revision(stored.revision))?;
            let last = store.revision().await.map_err(&fail)?;
            let revision = stored.revision;
            let rule = "the revision of a store is that of its last write";
            ensure(last >= revision, rule, || format!("{last}, {revision}"))?;
        }
    }
    Ok(())
}
