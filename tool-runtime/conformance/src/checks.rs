//! Runs the checks of a suite: one after the other, with a guard against panics.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::Violation;

const NO_PANIC: &str = "no operation panics";
const IN_RUNTIME: &str = "a suite runs in a runtime of tokio";

/// The violations that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<Violation>);

impl Checks {
    /// Runs a check, and keeps the violation that it returns.
    pub(crate) async fn run(&mut self, check: impl Future<Output = Result<(), Violation>>) {
        if Handle::try_current().is_err() {
            let missing = Violation::new(IN_RUNTIME, "`#[tokio::test]` or alike", "no runtime");
            if self.0.is_empty() {
                self.0.push(missing);
            }
            return;
        }
        self.0.extend(guarded(check).await.err());
    }

    pub(crate) fn found(self) -> Vec<Violation> {
        self.0
    }
}

/// Returns the panic of a check as a violation.
async fn guarded(check: impl Future<Output = Result<(), Violation>>) -> Result<(), Violation> {
    let mut check = pin!(check);
    let mut poll = |context: &mut std::task::Context<'_>| {
        // A check that has panicked is not polled again.
        catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    };
    poll_fn(move |context| poll(context)).await
}

fn panicked(panic: &(dyn Any + Send)) -> Violation {
    Violation::new(NO_PANIC, "a result", format!("the panic `{}`", message(panic)))
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Runs a closure, and returns the message of its panic.
#[cfg(feature = "observers")]
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| message(&*panic))
}

/// Polls a future a few times, and then drops it. Returns its output if it has completed.
pub(crate) async fn poll_times<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut polls_left = times;
    poll_fn(|context| {
        if polls_left == 0 {
            return Poll::Ready(None);
        }
        polls_left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // After the last poll, the future is dropped, even if nothing wakes it.
            Poll::Pending if polls_left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// The work of one of several concurrent writers or readers.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = Result<T, Violation>> + Send>>;

/// How concurrent work is scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scheduling {
    /// Tasks of the runtime: on a single thread, they interleave where a store awaits.
    Tasks,
    /// Separate threads, whatever the runtime: they interleave anywhere.
    Threads,
}

impl Scheduling {
    pub(crate) const ALL: [Self; 2] = [Self::Tasks, Self::Threads];

    /// Runs all work concurrently, and returns the results in order, or the first violation.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        works: Vec<Work<T>>,
    ) -> Result<Vec<T>, Violation> {
        let all_started = Arc::new(Barrier::new(works.len()));
        let mut tasks = JoinSet::new();
        for (index, work) in works.into_iter().enumerate() {
            let started = Arc::clone(&all_started);
            let work = async move {
                match self {
                    Self::Tasks => work.await,
                    Self::Threads => on_thread(started, work).await,
                }
            };
            tasks.spawn(async move { (index, work.await) });
        }
        let mut results = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            let stopped = |error: tokio::task::JoinError| match error.try_into_panic() {
                Ok(panic) => panicked(&*panic),
                Err(error) => Violation::new(NO_PANIC, "a result", error.to_string()),
            };
            results.push(joined.map_err(stopped)?);
        }
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Runs work on a thread outside of the runtime's blocking pool, all of which a store may need.
async fn on_thread<T: Send + 'static>(
    all_started: Arc<Barrier>,
    work: Work<T>,
) -> Result<T, Violation> {
    let (sender, result) = oneshot::channel();
    let runtime = Handle::current();
    thread::spawn(move || {
        all_started.wait();
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
        let _ = sender.send(caught.unwrap_or_else(|panic| Err(panicked(&*panic))));
    });
    let lost = |_| Err(Violation::new(NO_PANIC, "a result", "a thread that has ended"));
    result.await.unwrap_or_else(lost)
}
