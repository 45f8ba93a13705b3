//! One attempt: invokes a tool under its time limit, and ends the work that it spawned.

pub(crate) mod attempt_hook;
pub(crate) mod hooked_attempt;
pub(crate) mod invoke;
pub(crate) mod retries;
pub(crate) mod stop;

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::context::BatchContext;
use crate::dispatch::attempt::invoke::invoke;
use crate::dispatch::call::call_context::CallContext;
use crate::dispatch::call::call_record::{CallRecord, CallResult};
use crate::event::ToolEvent;
use crate::guard::catch_panic;
use crate::registry::Entry;
use crate::tool::{Availability, CallEnd, ToolContext, ToolError, ToolErrorKind};

/// The maximum length of the reason why a tool is unavailable, in characters, as the model gets it.
const MAX_REASON_CHARS: usize = 200;

/// Invokes a tool once, and ends the work that the attempt has spawned.
pub(super) async fn run_attempt(call: &mut CallContext<'_>) -> CallResult {
    call.ensure_validated()?;
    let CallContext { batch, entry, ctx, .. } = *call;
    if batch.scope.observers.need_all() {
        let attempt = ctx.attempts() + 1;
        batch.scope.emit(|| ToolEvent::Running { call: ctx.call_id().clone(), attempt });
    }
    let _end_work = ctx.end_work_on_drop();
    let result = match entry.definition().timeout {
        None => {
            ctx.begin_attempt(None);
            invoke(entry.tool().as_ref(), call.arguments(), ctx).await
        }
        // Boxed, since most tools have no timeout.
        Some(limit) => Box::pin(with_timeout(call, limit)).await,
    };
    end_attempt(ctx, call.record).await;
    result
}

/// If a tool failed and is unavailable now, replaces its error by the reason.
pub(super) fn with_availability(
    batch: &BatchContext,
    entry: &Entry,
    error: ToolError,
) -> ToolError {
    let may_be_unavailable = matches!(
        error.kind(),
        ToolErrorKind::ExecutionFailed | ToolErrorKind::TransientFailure | ToolErrorKind::Panicked
    );
    if !may_be_unavailable {
        return error;
    }
    let name = entry.name();
    let (text, cause) = match catch_panic(|| entry.tool().availability()) {
        Ok(Availability::Available) => return error,
        Ok(Availability::Unavailable(mut reason)) => {
            // Redact before truncating: half a secret is a secret too.
            if let Some(redactor) = &batch.scope.redactor {
                redactor.redact(&mut reason);
            }
            let without_control = |c: char| if c.is_control() { ' ' } else { c };
            let short: String =
                reason.chars().take(MAX_REASON_CHARS).map(without_control).collect();
            (format!("`{name}` can't run now: {short}. Go on without it."), reason)
        }
        // A panic message may quote anything, so the model does not receive it.
        Err(panic) => (format!("`{name}` can't run now. Go on without it."), panic.to_string()),
    };
    let cause = format!("{cause}; the call failed: {error}");
    ToolError::new(ToolErrorKind::Unavailable, text).with_source(cause)
}

/// Ends the work that a tool has spawned beside its own future.
pub(super) async fn end_attempt(ctx: &ToolContext, record: &mut CallRecord) {
    if ctx.has_work() {
        ctx.finish_output();
        record.has_detached_thread |= !Box::pin(ctx.end_attempt()).await;
    }
}

async fn with_timeout(call: &CallContext<'_>, limit: Duration) -> CallResult {
    let CallContext { entry, ctx, .. } = *call;
    within_time_limit(entry, ctx, limit, invoke(entry.tool().as_ref(), call.arguments(), ctx)).await
}

/// Begins an attempt and stops it at its time limit.
pub(super) async fn within_time_limit(
    entry: &Entry,
    ctx: &ToolContext,
    limit: Duration,
    invocation: impl Future<Output = CallResult>,
) -> CallResult {
    let started = Instant::now();
    let deadline = started.checked_add(limit);
    ctx.begin_attempt(deadline);
    let Some(deadline) = deadline else { return invocation.await };
    let mut kind = ToolErrorKind::Timeout;
    let timed = {
        let mut invocation = pin!(invocation);
        let timed = timeout_at(deadline, invocation.as_mut()).await;
        if timed.is_err() {
            // Before the future of the tool is dropped.
            ctx.end(CallEnd::TimedOut);
        }
        timed
    };
    let text = match timed {
        // A tool that never awaits can't be stopped in time, and its late result is not used.
        Ok(_) if started.elapsed() > limit => {
            format!("The tool took longer than {limit:?}, so its result is not used.")
        }
        Ok(result) => return result,
        Err(_) if ctx.never_began() => {
            kind = ToolErrorKind::TransientFailure;
            format!("The tool was not run: no thread was free for it within {limit:?}.")
        }
        Err(_) if entry.definition().blocking => format!(
            "The tool took longer than {limit:?}. It can't be stopped and may still finish."
        ),
        Err(_) => format!("The tool was stopped: it took longer than {limit:?}."),
    };
    Err(ToolError::new(kind, text))
}
