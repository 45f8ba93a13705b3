//! Runs blocking functions on separate threads, which can't be stopped.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::task::spawn_blocking;

use crate::tool::ToolFuture;
use crate::tool::{ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Runs a blocking function on a thread where it does not delay other tasks.
///
/// The thread can't be stopped. If the returned future is dropped, the function runs to its end and
/// its thread counts as detached. If it has not started by then, it never starts.
///
/// Generated code calls it:
///
/// ```
/// use tool_runtime::tool;
///
/// /// Counts the lines of a file.
/// #[tool(blocking, effect = "read")]
/// fn count_lines(path: String) -> Result<usize, std::io::Error> {
///     Ok(std::fs::read_to_string(path)?.lines().count())
/// }
/// ```
pub fn on_blocking_thread<F>(ctx: &ToolContext, run: F) -> ToolFuture<'static>
where
    F: FnOnce(&ToolContext) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    let ctx = ctx.clone();
    Box::pin(async move {
        let thread = ctx.begin_thread();
        let _waiting = Waiting(Arc::clone(&thread));
        let work = spawn_blocking(move || {
            let _tracked = ctx.track();
            let Some(_working) = Working::begin(&thread) else { return Err(not_run()) };
            run(&ctx)
        });
        match work.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => Err(not_run()),
        }
    })
}

fn not_run() -> ToolError {
    let text = "The program is shutting down; the tool was not run.";
    ToolError::new(ToolErrorKind::Cancelled, text)
}

/// Counts the threads that still work although their calls have results. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetachedThreads(Arc<AtomicUsize>);

impl DetachedThreads {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The thread of one attempt.
#[derive(Debug)]
pub(crate) struct BlockingThread {
    state: AtomicU8,
    detached: DetachedThreads,
}

const QUEUED: u8 = 0;
const WORKING: u8 = 1;
/// The call ended while the function was running.
const DETACHED: u8 = 2;
const FINISHED: u8 = 3;
/// The call ended before the function started.
const NEVER_BEGAN: u8 = 4;

impl BlockingThread {
    pub(crate) fn new(detached: DetachedThreads) -> Self {
        Self { state: AtomicU8::new(QUEUED), detached }
    }

    pub(crate) fn never_began(&self) -> bool {
        self.state.load(Ordering::Acquire) == NEVER_BEGAN
    }

    fn transition(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// Lives on the thread while the function runs.
struct Working<'t>(&'t BlockingThread);

impl<'t> Working<'t> {
    fn begin(thread: &'t BlockingThread) -> Option<Self> {
        thread.transition(QUEUED, WORKING).then_some(Self(thread))
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let BlockingThread { state, detached } = self.0;
        if state.swap(FINISHED, Ordering::AcqRel) == DETACHED {
            detached.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Lives in the task that waits for the thread.
struct Waiting(Arc<BlockingThread>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let thread = &self.0;
        if thread.transition(QUEUED, NEVER_BEGAN) {
            return;
        }
        // Count first: once the thread sees that it is detached, it subtracts itself.
        thread.detached.0.fetch_add(1, Ordering::Relaxed);
        if !thread.transition(WORKING, DETACHED) {
            thread.detached.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
