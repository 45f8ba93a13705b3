//! Saves that others come between, and saves that are not waited for.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};

use super::{Violation, refused, same};
use crate::agent::session::{SessionError, SessionRecord, SessionStore, SessionWrite};
use crate::message::Message;

/// How many write at once, and how often each.
const WRITERS: usize = 4;
const TIMES: usize = 10;
/// How many saves are dropped, each when it has gone on once more than the one before.
const DROPPED: usize = 16;

/// What is said and what is kept beside it are of one save.
fn is_whole(law: &'static str, kept: Option<SessionRecord>) -> Result<SessionRecord, Violation> {
    let kept = kept.ok_or_else(|| Violation::new(law, "the session is gone"))?;
    same(law, &kept.messages, &vec![Message::user(&kept.state)])?;
    Ok(kept)
}

/// Keeps this number, in what is said and beside it.
async fn count(
    store: &dyn SessionStore,
    revision: u64,
    number: usize,
) -> Result<u64, SessionError> {
    let number = number.to_string();
    let said = [Message::user(&number)];
    store.save("s", SessionWrite::on(revision).messages(0, &said).state(&number)).await
}

/// Wherever a save is dropped, it was done, or it was not.
pub(super) async fn is_not_done_by_half(store: &dyn SessionStore) -> Result<(), Violation> {
    const LAW: &str = "a save whose future is dropped is done or not, and not by half";
    let mut revision = count(store, 0, 0).await.map_err(refused(LAW))?;
    for number in 1..=DROPPED {
        let mut left = number;
        let mut save = pin!(count(store, revision, number));
        let done = poll_fn(|cx| {
            left = left.saturating_sub(1);
            match save.as_mut().poll(cx) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        match done.await {
            // One that was dropped before goes on by itself.
            None | Some(Err(SessionError::Conflict { .. })) => {
                let kept = store.load("s").await.map_err(refused(LAW))?;
                revision = is_whole(LAW, kept)?.revision;
            }
            Some(done) => revision = done.map_err(refused(LAW))?,
        }
    }
    Ok(())
}

/// Where those are who write at once.
#[derive(Clone, Copy, PartialEq)]
enum Where {
    /// In the runtime: on its one thread, they come between each other wherever a store waits.
    Tasks,
    /// Each on a thread of its own, whatever the runtime: they come between each other anywhere.
    Threads,
}

/// Several go on with one session by either handle of its store, each from what it last saw: nothing of any is lost
/// unnoticed, and whoever reads meanwhile sees what one of them saved.
pub(super) async fn nothing_comes_between<S>(handles: [Arc<S>; 2]) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    for place in [Where::Tasks, Where::Threads] {
        nothing_comes_between_in(place, &handles).await?;
    }
    Ok(())
}

async fn nothing_comes_between_in<S>(place: Where, handles: &[Arc<S>; 2]) -> Result<(), Violation>
where
    S: SessionStore + 'static,
{
    const LAW: &str = "of several who write at once, whoever is late is told so";
    let [store, other] = handles;
    let first = count(store, 0, 0).await.map_err(refused(LAW))?;
    let all_are_there = Arc::new(Barrier::new(WRITERS + 1));
    let mut all = JoinSet::new();
    let mut add = |work: Work| match place {
        Where::Tasks => _ = all.spawn(work),
        Where::Threads => _ = all.spawn(on_a_thread(Arc::clone(&all_are_there), work)),
    };
    for handle in handles.iter().cycle().take(WRITERS) {
        add(Box::pin(count_up(Arc::clone(handle), first)));
    }
    add(Box::pin(read(Arc::clone(other))));
    while let Some(joined) = all.join_next().await {
        joined.map_err(|error| Violation::new(LAW, error.to_string()))??;
    }
    let kept = store.load("s").await.map_err(refused(LAW))?;
    let all = (WRITERS * TIMES).to_string();
    same(LAW, &kept.map(|it| it.state), &Some(all))?;
    store.delete("s").await.map_err(refused(LAW))
}

type Work = Pin<Box<dyn Future<Output = Result<(), Violation>> + Send>>;

/// The thread is none of the runtime's own: a store may need as many of those as there are.
async fn on_a_thread(all_are_there: Arc<Barrier>, work: Work) -> Result<(), Violation> {
    let (done, ended) = oneshot::channel();
    let runtime = Handle::current();
    thread::spawn(move || {
        all_are_there.wait();
        done.send(runtime.block_on(work))
    });
    ended.await.unwrap_or_else(|_| Err(Violation::new(ONE, "who wrote or read panicked")))
}

const ONE: &str = "what is loaded is of one save, whoever writes meanwhile";

async fn count_up(store: Arc<impl SessionStore>, first: u64) -> Result<(), Violation> {
    const LAW: &str = "a write that fits is kept";
    let (mut revision, mut number) = (first, 0);
    for _ in 0..TIMES {
        // Nobody is late more often than all the others write.
        for _ in 0..=WRITERS * TIMES {
            match count(&store, revision, number + 1).await {
                Ok(saved) => {
                    (revision, number) = (saved, number + 1);
                    break;
                }
                Err(SessionError::Conflict { .. }) => {
                    let kept = is_whole(ONE, store.load("s").await.map_err(refused(ONE))?)?;
                    (revision, number) =
                        (kept.revision, kept.state.parse::<usize>().unwrap_or_default());
                }
                Err(other) => return Err(refused(LAW)(other)),
            }
        }
        yield_now().await;
    }
    Ok(())
}

async fn read(store: Arc<impl SessionStore>) -> Result<(), Violation> {
    for _ in 0..WRITERS * TIMES {
        is_whole(ONE, store.load("s").await.map_err(refused(ONE))?)?;
        yield_now().await;
    }
    Ok(())
}
