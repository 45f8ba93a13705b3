//! Emits the end of every observed call, also of one that is dropped before it has a result.

use std::sync::Arc;

#[cfg(not(feature = "tracing"))]
use super::call::run_call;
use super::context::BatchContext;
use super::record::failure;
#[cfg(feature = "tracing")]
use super::traced::run_call;
use crate::event::{ToolEvent, ToolExecution};
use crate::message::ToolCall;
use crate::tool::{ToolError, ToolErrorKind, indeterminate_text};

/// Runs a call. If the future is dropped early, observers receive its end all the same.
#[inline]
pub(super) fn run_observed(
    batch: Arc<BatchContext>,
    call: ToolCall,
) -> impl Future<Output = ToolExecution> {
    let is_observed = batch.scope.observers.need_all();
    let mut guard = is_observed.then(|| Box::new(FinishGuard::new(&batch, &call)));
    async move {
        if let Some(guard) = &mut guard {
            guard.is_started = true;
        }
        let execution = run_call(&batch, call).await;
        if let Some(guard) = &mut guard {
            guard.is_finished = true;
        }
        execution
    }
}

/// Emits the missing events of an observed call when it is dropped.
struct FinishGuard {
    batch: Arc<BatchContext>,
    call: ToolCall,
    is_started: bool,
    is_finished: bool,
}

impl FinishGuard {
    #[cold]
    fn new(batch: &Arc<BatchContext>, call: &ToolCall) -> Self {
        let (batch, call) = (Arc::clone(batch), call.clone());
        Self { batch, call, is_started: false, is_finished: false }
    }
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        let Self { batch, call, is_started, is_finished } = self;
        // The task of a call may be dropped before its first poll.
        if !*is_started {
            batch.scope.emit(|| ToolEvent::Started { call: call.clone() });
        }
        if !*is_finished {
            batch.scope.emit(|| ToolEvent::Finished(lost_execution(batch, call)));
        }
    }
}

/// Returns the execution of a call that was dropped before it had a result, because its caller or
/// its runtime went away.
#[cold]
pub(super) fn lost_execution(batch: &BatchContext, call: &ToolCall) -> ToolExecution {
    let cause = "The call was stopped before it had a result";
    let text = indeterminate_text(cause, batch.tools.is_retry_safe(&call.name));
    let error = ToolError::new(ToolErrorKind::Indeterminate, text);
    let mut execution = failure(call.clone(), error);
    execution.started_at = batch.scope.clock.now();
    execution
}
