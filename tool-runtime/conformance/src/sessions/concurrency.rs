//! Checks saves whose future is dropped, and concurrent saves.

use std::sync::Arc;

use tokio::task::yield_now;
use tool_core::Message;
use tool_core::agent::session::{SessionError, SessionRecord, SessionStore, SessionWrite};

use crate::Violation;
use crate::checks::{Scheduling, Work, poll_times};
use crate::violation::{ensure_eq, failed};

/// The number of concurrent writers, and of the writes of each.
const WRITERS: usize = 4;
const WRITES: usize = 10;
/// The number of saves to drop, each after one poll more than the one before.
const DROPPED_SAVES: usize = 16;

const COMPLETE: &str = "a save whose future is dropped is done completely or not at all";
const CONFLICTS: &str = "of concurrent writes on one revision, all but one conflict";
const ONE_SAVE: &str = "a loaded record is of one save, also during concurrent writes";
const SAVED: &str = "a valid write is saved";

/// Checks that the messages and the state of the record are of the same save.
fn ensure_one_save(
    rule: &'static str,
    record: Option<SessionRecord>,
) -> Result<SessionRecord, Violation> {
    let record = record.ok_or_else(|| Violation::new(rule, "a session", "none"))?;
    ensure_eq(rule, &record.messages, &vec![Message::user(&record.state)])?;
    Ok(record)
}

/// Saves this number, as message and as state.
async fn save_number(
    store: &dyn SessionStore,
    revision: u64,
    number: usize,
) -> Result<u64, SessionError> {
    let number = number.to_string();
    let messages = [Message::user(&number)];
    let write = SessionWrite::update(revision).messages(0, &messages).state(&number);
    store.save("s", write).await
}

/// Checks that a save is done completely or not at all, whenever it is dropped.
pub(super) async fn check_dropped_saves(store: &dyn SessionStore) -> Result<(), Violation> {
    let mut revision = save_number(store, 0, 0).await.map_err(failed(COMPLETE))?;
    for number in 1..=DROPPED_SAVES {
        match poll_times(number, save_number(store, revision, number)).await {
            // An earlier save that was dropped may have been completed by itself.
            None | Some(Err(SessionError::Conflict { .. })) => {
                let record = store.load("s").await.map_err(failed(COMPLETE))?;
                revision = ensure_one_save(COMPLETE, record)?.revision;
            }
            Some(saved) => revision = saved.map_err(failed(COMPLETE))?,
        }
    }
    Ok(())
}

/// Checks concurrent writes to one session by two handles of its store, each on the revision that
/// its writer saw last: no write is lost without a conflict, and a reader sees complete saves only.
pub(super) async fn check_concurrent_writes<S>(handles: &[Arc<S>; 2]) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    let [store, other] = handles;
    for scheduling in Scheduling::ALL {
        let first = save_number(store, 0, 0).await.map_err(failed(CONFLICTS))?;
        let writers = handles.iter().cycle().take(WRITERS);
        let mut works: Vec<_> = writers
            .map(|handle| -> Work<()> { Box::pin(count_up(Arc::clone(handle), first)) })
            .collect();
        works.push(Box::pin(read(Arc::clone(other))));
        scheduling.run(works).await?;
        let record = store.load("s").await.map_err(failed(CONFLICTS))?;
        let expected = (WRITERS * WRITES).to_string();
        ensure_eq(CONFLICTS, &record.map(|it| it.state), &Some(expected))?;
        store.delete("s", None).await.map_err(failed(CONFLICTS))?;
    }
    Ok(())
}

async fn count_up(store: Arc<impl SessionStore>, first: u64) -> Result<(), Violation> {
    let (mut revision, mut number) = (first, 0);
    for _ in 0..WRITES {
        // A writer conflicts at most as often as all others write.
        for _ in 0..=WRITERS * WRITES {
            match save_number(&store, revision, number + 1).await {
                Ok(saved) => {
                    revision = saved;
                    number += 1;
                    break;
                }
                Err(SessionError::Conflict { .. }) => {
                    let record = store.load("s").await.map_err(failed(ONE_SAVE))?;
                    let record = ensure_one_save(ONE_SAVE, record)?;
                    revision = record.revision;
                    number = record.state.parse::<usize>().unwrap_or_default();
                }
                Err(other) => return Err(failed(SAVED)(other)),
            }
        }
        yield_now().await;
    }
    Ok(())
}

async fn read(store: Arc<impl SessionStore>) -> Result<(), Violation> {
    for _ in 0..WRITERS * WRITES {
        ensure_one_save(ONE_SAVE, store.load("s").await.map_err(failed(ONE_SAVE))?)?;
        yield_now().await;
    }
    Ok(())
}
