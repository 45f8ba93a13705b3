//! Emits the end of every observed call, also of one that is dropped before it has a result.
//!
//! The tasks that a dropped call has spawned stop at their next `.await`, which may be after the
//! drop. Its end is emitted once they have stopped, so that nothing of a call follows its end.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

use crate::dispatch::call::emitted_ends::EndClaim;
use crate::dispatch::call::record::failure;
#[cfg(not(feature = "tracing"))]
use crate::dispatch::call::run_call;
#[cfg(feature = "tracing")]
use crate::dispatch::call::traced::run_call;
use crate::dispatch::context::BatchContext;
use crate::event::{ToolEvent, ToolExecution};
use crate::message::ToolCall;
use crate::tool::{CallWork, ToolError, ToolErrorKind, indeterminate_text};

/// Runs a call. If the future is dropped early, observers receive its end all the same.
pub(crate) fn run_observed(
    batch: Arc<BatchContext>,
    call: ToolCall,
) -> impl Future<Output = ToolExecution> {
    let is_observed = batch.scope.observers.need_all();
    let mut guard = is_observed.then(|| Box::new(FinishGuard::new(&batch, &call)));
    let work = guard.as_ref().map_or_else(OnceLock::new, |it| OnceLock::from(Arc::clone(&it.work)));
    let end = guard.as_ref().map(|it| it.end.clone());
    async move {
        if let Some(guard) = &mut guard {
            guard.is_started = true;
        }
        run_call(&batch, call, work, end).await
    }
}

/// Emits the missing events of an observed call when it is dropped.
struct FinishGuard {
    batch: Arc<BatchContext>,
    call: ToolCall,
    work: Arc<CallWork>,
    end: EndClaim,
    is_started: bool,
}

impl FinishGuard {
    fn new(batch: &Arc<BatchContext>, call: &ToolCall) -> Self {
        let end = batch.start_call(call);
        let (batch, call) = (Arc::clone(batch), call.clone());
        Self { batch, call, work: Arc::default(), end, is_started: false }
    }
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        let Self { batch, call, work, end, is_started } = self;
        // The task of a call may be dropped before its first poll.
        if !*is_started {
            batch.scope.emit(|| batch.started_event(call));
        }
        if !end.claim() {
            return;
        }
        let (batch, call) = (Arc::clone(batch), call.clone());
        let end = LostEnd { batch, call, has_detached_thread: false };
        let has_tasks = work.cancel().is_some_and(|tasks| !tasks.is_empty());
        if has_tasks && let Ok(runtime) = Handle::try_current() {
            let work = Arc::clone(work);
            runtime.spawn(async move {
                let mut end = end;
                end.has_detached_thread = !work.end().await;
            });
        }
    }
}

/// Emits the end of a lost call when it is dropped.
struct LostEnd {
    batch: Arc<BatchContext>,
    call: ToolCall,
    has_detached_thread: bool,
}

impl Drop for LostEnd {
    fn drop(&mut self) {
        let Self { batch, call, has_detached_thread } = self;
        let execution = lost_execution(batch, call);
        let has_detached_thread = *has_detached_thread;
        let execution = ToolExecution { has_detached_thread, ..execution };
        batch.scope.emit(|| ToolEvent::Finished(execution));
    }
}

/// Returns the execution of a call that was dropped before it had a result, because its caller or
/// its runtime went away.
pub(crate) fn lost_execution(batch: &BatchContext, call: &ToolCall) -> ToolExecution {
    let cause = "The call was stopped before it had a result";
    let text = indeterminate_text(cause, batch.tools.is_retry_safe(&call.name));
    let error = ToolError::new(ToolErrorKind::Indeterminate, text);
    let mut execution = failure(call.clone(), error);
    execution.started_at = batch.scope.clock.now();
    execution
}
