//! Tracks the work that a call starts besides its own future, and ends it with the call.

pub(crate) mod blocking;
#[cfg(feature = "process")]
pub(crate) mod capture;
#[cfg(feature = "process")]
pub(crate) mod command;
pub(crate) mod end;

use std::iter;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::MeteredUsage;
use crate::event::{EffectRecord, RunId};
use crate::secret::{PieceRedactor, Redactor};
use crate::tool::work::blocking::BlockingThread;
use crate::tool::work::end::EndCell;

/// How long a result waits for cancelled tasks to end. A task ends at its next `.await`, so only a
/// task that blocks its thread takes longer.
const GRACE: Duration = Duration::from_millis(100);

/// The work of one call. Clones of its context share it.
#[derive(Debug, Default)]
pub(crate) struct CallWork {
    attempt: Mutex<Attempt>,
    effects: Mutex<Vec<EffectRecord>>,
    nested_calls: AtomicU32,
    /// The end of the emitted output, which may be the beginning of a secret.
    output: Mutex<PieceRedactor>,
    substitute_run_id: OnceLock<RunId>,
    /// The end of the attempt, for clones of the context and for nested calls.
    pub(crate) end: EndCell,
}

#[derive(Debug, Default)]
struct Attempt {
    deadline: Option<Instant>,
    is_over: bool,
    /// Whether the tasks did not end within [`GRACE`]; then nothing waits for them again.
    timed_out_ending: bool,
    tasks: Option<Tasks>,
    thread: Option<Arc<BlockingThread>>,
}

#[derive(Clone, Debug)]
struct Tasks {
    cancellation: CancellationToken,
    tracker: TaskTracker,
}

impl CallWork {
    pub(super) fn begin(&self, deadline: Option<Instant>) {
        *lock(&self.attempt) = Attempt { deadline, ..Attempt::default() };
        self.end.clear();
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        lock(&self.attempt).deadline
    }

    /// Returns a token that is cancelled when the attempt ends or `parent` is cancelled.
    pub(super) fn cancellation(&self, parent: Option<&CancellationToken>) -> CancellationToken {
        self.tasks(parent).cancellation
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        parent: Option<&CancellationToken>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let Tasks { cancellation, tracker } = self.tasks(parent);
        tracker.spawn(cancellation.run_until_cancelled_owned(task))
    }

    /// Spawns a task that ends by itself when the attempt ends.
    #[cfg(feature = "process")]
    pub(super) fn spawn_until_end<T: Send + 'static>(
        &self,
        parent: Option<&CancellationToken>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks(parent).tracker.spawn(task)
    }

    /// Returns a token for which the end of the attempt waits until it is dropped.
    pub(super) fn track(&self, parent: Option<&CancellationToken>) -> TaskTrackerToken {
        self.tasks(parent).tracker.token()
    }

    /// Registers the thread that is about to run the attempt.
    pub(super) fn begin_thread(&self, thread: &Arc<BlockingThread>) {
        lock(&self.attempt).thread = Some(Arc::clone(thread));
    }

    /// Whether the attempt needed a thread and ended before one was free.
    pub(super) fn never_began(&self) -> bool {
        lock(&self.attempt).thread.as_ref().is_some_and(|thread| thread.never_began())
    }

    fn tasks(&self, parent: Option<&CancellationToken>) -> Tasks {
        let mut attempt = lock(&self.attempt);
        let is_over = attempt.is_over;
        let tasks = attempt.tasks.get_or_insert_with(|| {
            let cancellation =
                parent.map_or_else(CancellationToken::new, CancellationToken::child_token);
            if is_over {
                cancellation.cancel();
            }
            Tasks { cancellation, tracker: TaskTracker::new() }
        });
        tasks.clone()
    }

    /// Redacts the next piece of the output, or the rest if there is none.
    pub(super) fn redact_output(&self, redactor: &Redactor, piece: Option<&str>) -> String {
        let mut output = lock(&self.output);
        match piece {
            Some(piece) => output.push(redactor, piece),
            None => output.finish(redactor),
        }
    }

    /// Cancels all tasks and prevents new ones.
    pub(crate) fn cancel(&self) -> Option<TaskTracker> {
        let mut attempt = lock(&self.attempt);
        attempt.is_over = true;
        let Tasks { cancellation, tracker } = attempt.tasks.as_ref()?;
        cancellation.cancel();
        tracker.close();
        Some(tracker.clone())
    }

    /// Cancels all tasks and waits for them; returns whether all of them have ended.
    pub(crate) async fn end(&self) -> bool {
        let Some(tracker) = self.cancel() else { return true };
        if tracker.is_empty() || lock(&self.attempt).timed_out_ending {
            return tracker.is_empty();
        }
        let has_ended = timeout(GRACE, tracker.wait()).await.is_ok();
        lock(&self.attempt).timed_out_ending = !has_ended;
        has_ended
    }

    /// Returns the numbers of the nested calls, from 1.
    pub(super) fn call_numbers(&self) -> impl Iterator<Item = u32> {
        iter::repeat_with(|| self.nested_calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns a random id that identifies the call outside of a run.
    pub(super) fn substitute_run_id(&self) -> RunId {
        *self.substitute_run_id.get_or_init(RunId::random)
    }

    /// Records an effect. All records of tokens of one model are merged into at most two, one for
    /// those with a known cost and one for the others.
    pub(super) fn record(&self, effect: EffectRecord) {
        let mut effects = lock(&self.effects);
        let is_usage = |effect: &EffectRecord| matches!(effect, EffectRecord::TokensSpent { .. });
        let is_merged = is_usage(&effect);
        effects.push(effect);
        if is_merged {
            let sum = MeteredUsage::of_effects(effects.iter());
            effects.retain(|known| !is_usage(known));
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

/// Ends the work of a call when the future of the call is dropped.
#[derive(Debug)]
pub(crate) struct EndWorkOnDrop<'a>(pub(super) &'a OnceLock<Arc<CallWork>>);

impl Drop for EndWorkOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.0.get() {
            work.cancel();
        }
    }
}
