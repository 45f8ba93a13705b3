//! Stops a call when the deadline of its batch passes or the batch is cancelled.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::dispatch::context::BatchContext;
use crate::tool::dispatch_contract::BatchScope;
use crate::tool::{CallEnd, ToolContext, ToolDefinition, ToolError, ToolErrorKind};

/// Runs `work` until the deadline of the batch passes or the batch is cancelled. `on_stop` receives
/// the reason before `work` is dropped.
pub(crate) async fn until_stopped<T>(
    batch: &BatchContext,
    work: impl Future<Output = Result<T, ToolError>>,
    on_stop: impl FnOnce(CallEnd),
) -> Result<T, ToolError> {
    let BatchScope { cancellation, deadline, .. } = &batch.scope;
    // Check before the first poll: polling starts the tool.
    if cancellation.as_ref().is_some_and(CancellationToken::is_cancelled)
        || batch.scope.permit.as_ref().is_some_and(|permit| !permit.is_valid())
    {
        return Err(cancelled());
    }
    if deadline.is_some_and(|at| at <= Instant::now()) {
        return Err(timed_out(batch));
    }
    let mut work = Box::pin(work);
    let timed = async {
        match *deadline {
            None => Ok(work.as_mut().await),
            Some(at) => timeout_at(at, work.as_mut()).await.map_err(|_| CallEnd::TimedOut),
        }
    };
    let mut timed = pin!(timed);
    // Before each poll: any of them may start the tool, a retry, or a nested call.
    let timed = poll_fn(|cx| match &batch.scope.permit {
        Some(permit) if !permit.is_valid() => Poll::Ready(Err(CallEnd::Dropped)),
        _ => timed.as_mut().poll(cx),
    });
    let ended = match cancellation {
        None => timed.await,
        Some(stop) => stop
            .run_until_cancelled(timed)
            .await
            .unwrap_or_else(|| Err(batch.end_of_dropped_calls())),
    };
    ended.unwrap_or_else(|end| {
        on_stop(end);
        Err(if end == CallEnd::TimedOut { timed_out(batch) } else { cancelled() })
    })
}

/// How long a hook that runs after a call may take once the batch is stopped, so that it can record
/// the end of the call.
const HOOK_GRACE: Duration = Duration::from_secs(1);

/// Runs a hook that follows a call. Returns `None` if the batch is stopped and the hook does not
/// end within [`HOOK_GRACE`].
pub(crate) async fn until_grace_ends<T>(
    batch: &BatchContext,
    hook: impl Future<Output = T>,
) -> Option<T> {
    let BatchScope { cancellation, deadline, .. } = &batch.scope;
    let passed = async {
        match *deadline {
            None => pending().await,
            Some(at) => sleep_until(at).await,
        }
    };
    let grace = async {
        match cancellation {
            None => passed.await,
            Some(stop) => _ = stop.run_until_cancelled(passed).await,
        }
        sleep(HOOK_GRACE).await;
    };
    let (mut hook, mut grace) = (pin!(hook), pin!(grace));
    poll_fn(|cx| match hook.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => grace.as_mut().poll(cx).map(|()| None),
    })
    .await
}

fn timed_out(batch: &BatchContext) -> ToolError {
    let text = if batch.scope.is_run_deadline {
        "The call was stopped: the time limit of the run was exceeded."
    } else {
        "The call was stopped: the time limit for the calls of this reply was exceeded."
    };
    ToolError::new(ToolErrorKind::Timeout, text)
}

fn cancelled() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The call was stopped.")
}

/// Adds to the error of a stopped call whether its tool ran.
///
/// The model should not repeat a call that may have had effects, and may repeat one whose tool
/// never started.
pub(crate) fn with_certainty(
    batch: &BatchContext,
    ctx: &ToolContext,
    error: ToolError,
) -> ToolError {
    let is_retry_safe =
        || batch.tools.definition(ctx.tool_name()).is_none_or(ToolDefinition::is_retry_safe);
    match error.kind() {
        _ if error.states_certainty() => error,
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
