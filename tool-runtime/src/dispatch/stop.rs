//! Stops a call when the deadline of its batch passes or the batch is cancelled.

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::context::BatchContext;
use crate::tool::dispatch_contract::BatchScope;
use crate::tool::{ToolContext, ToolDefinition, ToolError, ToolErrorKind};

/// Runs `work` until the deadline of the batch passes or the batch is cancelled.
pub(super) async fn until_stopped<T>(
    batch: &BatchContext,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let BatchScope { cancellation, deadline, .. } = &batch.scope;
    // Check before the first poll: polling starts the tool.
    if cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
        return Err(cancelled());
    }
    if deadline.is_some_and(|at| at <= Instant::now()) {
        return Err(timed_out(batch));
    }
    let mut work = Box::pin(work);
    let timed = async {
        match *deadline {
            None => work.as_mut().await,
            Some(at) => {
                timeout_at(at, work.as_mut()).await.unwrap_or_else(|_| Err(timed_out(batch)))
            }
        }
    };
    match cancellation {
        None => timed.await,
        Some(stop) => stop.run_until_cancelled(timed).await.unwrap_or_else(|| Err(cancelled())),
    }
}

#[cold]
fn timed_out(batch: &BatchContext) -> ToolError {
    let text = if batch.scope.is_run_deadline {
        "The call was stopped: the time limit of the run was exceeded."
    } else {
        "The call was stopped: the time limit for the calls of this reply was exceeded."
    };
    ToolError::new(ToolErrorKind::Timeout, text)
}

#[cold]
fn cancelled() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The call was stopped.")
}

/// Adds to the error of a stopped call whether its tool ran.
///
/// The model should not repeat a call that may have had effects, and may repeat one whose tool
/// never started.
#[cold]
pub(super) fn with_certainty(
    batch: &BatchContext,
    ctx: &ToolContext,
    error: ToolError,
) -> ToolError {
    let is_retry_safe =
        || batch.tools.definition(ctx.tool_name()).is_none_or(ToolDefinition::is_retry_safe);
    match error.kind() {
        ToolErrorKind::Cancelled | ToolErrorKind::Timeout if ctx.attempts() == 0 => {
            error.append_text(" It was not run.")
        }
        ToolErrorKind::Cancelled | ToolErrorKind::Panicked | ToolErrorKind::Timeout
            if !is_retry_safe() =>
        {
            error.append_text(" It may have had effects.")
        }
        _ => error,
    }
}
