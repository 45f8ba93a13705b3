//! Functions that don't wait run on threads of their own, which nobody can stop.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::task::spawn_blocking;

use super::Call;
use super::{ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Runs a function that doesn't wait where it holds up nobody.
///
/// It can't be stopped: when nobody waits for it any more, its thread still works to the end, and is
/// counted. One that has not begun by then never does.
pub fn on_blocking_thread<F>(ctx: &ToolContext, run: F) -> Call<'static>
where
    F: FnOnce(&ToolContext) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    let ctx = ctx.clone();
    Box::pin(async move {
        let thread = ctx.begin_thread();
        let _waits = Waits(Arc::clone(&thread));
        let work = spawn_blocking(move || {
            let _is_waited_for = ctx.tracked();
            let Some(_at_work) = AtWork::begin(&thread) else { return Err(not_run()) };
            run(&ctx)
        });
        match work.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => Err(not_run()),
        }
    })
}

#[cold]
fn not_run() -> ToolError {
    let text = "The program is shutting down; the tool was not run.";
    ToolError::new(ToolErrorKind::Cancelled, text)
}

/// How many threads are at work whose calls have their results.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftRunning(Arc<AtomicUsize>);

impl LeftRunning {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The thread of one attempt.
#[derive(Debug)]
pub(super) struct Thread {
    state: AtomicU8,
    left: LeftRunning,
}

const QUEUED: u8 = 0;
const AT_WORK: u8 = 1;
/// Nobody waits for it any more.
const LEFT: u8 = 2;
const DONE: u8 = 3;
/// Nobody waited for it any more before it began.
const NEVER_BEGAN: u8 = 4;

impl Thread {
    pub(super) fn new(left: LeftRunning) -> Self {
        Self { state: AtomicU8::new(QUEUED), left }
    }

    pub(super) fn never_began(&self) -> bool {
        self.state.load(Ordering::Acquire) == NEVER_BEGAN
    }

    fn goes_from(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// On the thread, while the function runs.
struct AtWork<'t>(&'t Thread);

impl<'t> AtWork<'t> {
    fn begin(thread: &'t Thread) -> Option<Self> {
        thread.goes_from(QUEUED, AT_WORK).then_some(Self(thread))
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let Thread { state, left } = self.0;
        if state.swap(DONE, Ordering::AcqRel) == LEFT {
            left.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// In the task that waits for it.
struct Waits(Arc<Thread>);

impl Drop for Waits {
    fn drop(&mut self) {
        let thread = &self.0;
        if thread.goes_from(QUEUED, NEVER_BEGAN) {
            return;
        }
        // Counted before the thread can see that it is, or it would count itself off first.
        thread.left.0.fetch_add(1, Ordering::Relaxed);
        if !thread.goes_from(AT_WORK, LEFT) {
            thread.left.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
