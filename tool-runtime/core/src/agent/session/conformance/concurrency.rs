//! Checks saves whose future is dropped, and concurrent saves.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};

use super::{Violation, ensure_eq, failed};
use crate::agent::session::{SessionError, SessionRecord, SessionStore, SessionWrite};
use crate::message::Message;

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
    let record = record.ok_or_else(|| Violation::new(rule, "the session does not exist"))?;
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
        let mut polls_left = number;
        let mut save = pin!(save_number(store, revision, number));
        let saved = poll_fn(|cx| {
            polls_left = polls_left.saturating_sub(1);
            match save.as_mut().poll(cx) {
                Poll::Ready(saved) => Poll::Ready(Some(saved)),
                Poll::Pending if polls_left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        match saved.await {
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

/// How concurrent writers run.
#[derive(Clone, Copy, PartialEq)]
enum Scheduling {
    /// Tasks of the runtime: on a single thread, they interleave where a store awaits.
    Tasks,
    /// Separate threads, whatever the runtime: they interleave anywhere.
    Threads,
}

/// Checks concurrent writes to one session by two handles of its store, each on the revision that
/// its writer saw last: no write is lost without a conflict, and a reader sees complete saves only.
pub(super) async fn check_concurrent_writes<S>(handles: [Arc<S>; 2]) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    for scheduling in [Scheduling::Tasks, Scheduling::Threads] {
        check_scheduled(scheduling, &handles).await?;
    }
    Ok(())
}

async fn check_scheduled<S>(scheduling: Scheduling, handles: &[Arc<S>; 2]) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    let [store, other] = handles;
    let first = save_number(store, 0, 0).await.map_err(failed(CONFLICTS))?;
    let all_started = Arc::new(Barrier::new(WRITERS + 1));
    let mut tasks = JoinSet::new();
    let mut spawn = |work: Work| match scheduling {
        Scheduling::Tasks => _ = tasks.spawn(work),
        Scheduling::Threads => _ = tasks.spawn(run_on_thread(Arc::clone(&all_started), work)),
    };
    for handle in handles.iter().cycle().take(WRITERS) {
        spawn(Box::pin(count_up(Arc::clone(handle), first)));
    }
    spawn(Box::pin(read(Arc::clone(other))));
    while let Some(joined) = tasks.join_next().await {
        joined.map_err(|error| Violation::new(CONFLICTS, error.to_string()))??;
    }
    let record = store.load("s").await.map_err(failed(CONFLICTS))?;
    let expected = (WRITERS * WRITES).to_string();
    ensure_eq(CONFLICTS, &record.map(|it| it.state), &Some(expected))?;
    store.delete("s").await.map_err(failed(CONFLICTS))
}

type Work = Pin<Box<dyn Future<Output = Result<(), Violation>> + Send>>;

/// Runs the work on a thread outside of the runtime's blocking pool, all of which a store may need.
async fn run_on_thread(all_started: Arc<Barrier>, work: Work) -> Result<(), Violation> {
    let (sender, result) = oneshot::channel();
    let runtime = Handle::current();
    thread::spawn(move || {
        all_started.wait();
        sender.send(runtime.block_on(work))
    });
    let panicked = |_| Err(Violation::new(ONE_SAVE, "a writer or reader panicked"));
    result.await.unwrap_or_else(panicked)
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
