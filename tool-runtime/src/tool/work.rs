//! What a tool has going beside its own future, and what ends with it.

use std::iter;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Bill;
use super::blocking::Thread;
use crate::event::{EffectRecord, RunId};

/// How long a result waits for tasks to be gone that were told to go. They go where they wait, so
/// all but one that holds its thread up are gone at once.
const GRACE: Duration = Duration::from_millis(100);

/// What one call has going. Clones of its context share it.
#[derive(Debug, Default)]
pub(super) struct Live {
    attempt: Mutex<Attempt>,
    effects: Mutex<Vec<EffectRecord>>,
    calls: AtomicU32,
    stand_in: OnceLock<RunId>,
}

#[derive(Debug, Default)]
struct Attempt {
    deadline: Option<Instant>,
    is_over: bool,
    /// Whether its end was waited for in vain; then it is not waited for again.
    was_waited_for: bool,
    work: Option<Work>,
    thread: Option<Arc<Thread>>,
}

#[derive(Clone, Debug)]
struct Work {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Live {
    pub(super) fn begin(&self, deadline: Option<Instant>) {
        *lock(&self.attempt) = Attempt { deadline, ..Attempt::default() };
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        lock(&self.attempt).deadline
    }

    /// Cancelled when the attempt is over; or when `outer` is.
    pub(super) fn stop(&self, outer: Option<&CancellationToken>) -> CancellationToken {
        self.work(outer).stop
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        outer: Option<&CancellationToken>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let Work { stop, tasks } = self.work(outer);
        tasks.spawn(stop.run_until_cancelled_owned(task))
    }

    /// Runs what ends by itself when the attempt is over.
    #[cfg(feature = "process")]
    pub(super) fn run_to_its_end<T: Send + 'static>(
        &self,
        outer: Option<&CancellationToken>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.work(outer).tasks.spawn(task)
    }

    /// Has the end of the attempt wait for whoever holds this.
    pub(super) fn tracked(&self, outer: Option<&CancellationToken>) -> TaskTrackerToken {
        self.work(outer).tasks.token()
    }

    /// The attempt is about to run on this thread.
    pub(super) fn begin_thread(&self, thread: &Arc<Thread>) {
        lock(&self.attempt).thread = Some(Arc::clone(thread));
    }

    /// Whether the attempt was to run on a thread and none was free for it.
    pub(super) fn never_began(&self) -> bool {
        lock(&self.attempt).thread.as_ref().is_some_and(|thread| thread.never_began())
    }

    fn work(&self, outer: Option<&CancellationToken>) -> Work {
        let mut attempt = lock(&self.attempt);
        let is_over = attempt.is_over;
        let work = attempt.work.get_or_insert_with(|| {
            let stop = outer.map_or_else(CancellationToken::new, CancellationToken::child_token);
            if is_over {
                stop.cancel();
            }
            Work { stop, tasks: TaskTracker::new() }
        });
        work.clone()
    }

    /// Tells everything to end, and begins nothing more.
    pub(super) fn stop_all(&self) -> Option<TaskTracker> {
        let mut attempt = lock(&self.attempt);
        attempt.is_over = true;
        let Work { stop, tasks } = attempt.work.as_ref()?;
        stop.cancel();
        tasks.close();
        Some(tasks.clone())
    }

    /// The same, and waits until it has ended; whether it has.
    pub(super) async fn end(&self) -> bool {
        let Some(tasks) = self.stop_all() else { return true };
        if tasks.is_empty() || lock(&self.attempt).was_waited_for {
            return tasks.is_empty();
        }
        let has_ended = timeout(GRACE, tasks.wait()).await.is_ok();
        lock(&self.attempt).was_waited_for = !has_ended;
        has_ended
    }

    /// The numbers of the calls that the tool makes, from 1.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        iter::repeat_with(|| self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Tells the call from others where there is no run to do so.
    pub(super) fn stand_in(&self) -> RunId {
        *self.stand_in.get_or_init(RunId::random)
    }

    /// Tokens are one sum, however often some are recorded; those whose cost is known are another.
    pub(super) fn record(&self, effect: EffectRecord) {
        let mut effects = lock(&self.effects);
        let is_bill = |effect: &EffectRecord| matches!(effect, EffectRecord::TokensSpent { .. });
        let says_more = is_bill(&effect);
        effects.push(effect);
        if says_more {
            let sum = Bill::of_effects(effects.iter());
            effects.retain(|known| !is_bill(known));
            effects.extend(sum.into_effects());
        }
    }

    pub(super) fn take_effects(&self) -> Vec<EffectRecord> {
        std::mem::take(&mut lock(&self.effects))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends what a call has going when its own future is dropped.
#[derive(Debug)]
pub(crate) struct EndsWork<'a>(pub(super) &'a OnceLock<Arc<Live>>);

impl Drop for EndsWork<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.0.get() {
            live.stop_all();
        }
    }
}
