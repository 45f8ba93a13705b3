use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tokio::runtime::Handle;

use super::records::{record, second};
use super::{Violation, ensure, ensure_eq, failed};
use crate::ScheduleStore;

/// The number of rounds in which all writers write the same revision.
const ROUNDS: i64 = 20;

pub(super) async fn check_concurrent_writes<S: ScheduleStore + 'static>(
    handles: [Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "of concurrent writers of one revision, exactly one succeeds";
    let [first, _] = &handles;
    let mut current = record("contended", 0);
    for round in 1..=ROUNDS {
        let revision = current.revision;
        let writers = handles.iter().cycle().take(4).zip(0..).map(|(store, writer)| {
            let (store, runtime) = (Arc::clone(store), Handle::current());
            let mut record = current.clone();
            record.failures = writer;
            record.next_at = Some(second(round));
            thread::spawn(move || {
                let saved = runtime.block_on(store.save(&record));
                record.revision = *saved.as_ref().unwrap_or(&0);
                (saved.is_ok(), record)
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
        let winners: Vec<_> = results.into_iter().filter(|(is_saved, _)| *is_saved).collect();
        ensure(winners.len() == 1, RULE, || {
            format!("{} writers of the revision {revision} succeeded", winners.len())
        })?;
        current = winners.into_iter().map(|(_, record)| record).next_back().unwrap_or(current);
        let stored = first.load("principal", "contended").await.map_err(failed(RULE))?;
        ensure_eq(
            "the record of the writer that succeeded is stored",
            &stored.as_ref(),
            &Some(&current),
        )?;
    }
    Ok(())
}

/// Drops saves after each number of polls.
pub(super) async fn check_dropped_saves<S: ScheduleStore>(store: &S) -> Result<(), Violation> {
    const RULE: &str = "a dropped save is done completely or not at all";
    let fail = failed(RULE);
    for polls in 0..4 {
        let name = format!("dropped after {polls}");
        let expected = record(&name, 10);
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
        let stored = store.load("principal", &name).await.map_err(&fail)?;
        if let Some(stored) = stored {
            let expected = crate::ScheduleRecord { revision: stored.revision, ..expected };
            ensure_eq(RULE, &stored, &expected)?;
        }
    }
    Ok(())
}
