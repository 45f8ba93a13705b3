//! Invokes a tool: one attempt, or as many as its retries allow.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::admission::Admission;
use super::call_context::CallContext;
use super::call_record::{CallRecord, CallResult};
use super::context::BatchContext;
use super::hooked_attempt::run_hooked_attempt;
use super::invoke::invoke;
use super::policy::retry_delay;
use super::rate::ends_in_time;
use crate::event::ToolEvent;
use crate::guard::{catch_panic, error_chain};
use crate::registry::Entry;
use crate::tool::{Availability, ToolContext, ToolError, ToolErrorKind};

/// The maximum length of the reason why a tool is unavailable, in characters, as the model gets it.
const MAX_REASON_CHARS: usize = 200;

/// Invokes a tool until it succeeds or is not retried.
pub(super) async fn run_attempts(
    call: &mut CallContext<'_>,
    mut admission: Option<Box<Admission<'_>>>,
) -> CallResult {
    let CallContext { batch, entry, ctx, .. } = *call;
    call.record.write = batch.begin_write(entry);
    loop {
        let result = match batch.state.policy.attempt_hooks.is_empty() {
            true => run_attempt(call).await,
            false => Box::pin(run_hooked_attempt(call)).await,
        };
        let delay = result.as_ref().err().and_then(|error| {
            let tool = entry.definition();
            let max_retries = batch.state.policy.max_retries_of(tool);
            retry_delay(tool, error, ctx.attempts(), max_retries, fastrand::f64())
                .filter(|delay| ends_in_time(*delay, batch.scope.deadline))
        });
        let result = match delay {
            Some(_) => result,
            None => result.map_err(|error| with_availability(batch, entry, error)),
        };
        if let Some(admission) = &mut admission {
            admission.report(&result);
        }
        let allows_retry =
            |_: &_| admission.as_ref().is_none_or(|admission| admission.allows_retry());
        let (Some(delay), Err(error)) = (delay.filter(allows_retry), &result) else {
            return result;
        };
        let attempt = ctx.attempts();
        batch.scope.emit(|| ToolEvent::Retried {
            call: ctx.call_id().clone(),
            attempt,
            error: error.kind().code().to_owned(),
            text: operator_text(error),
            delay,
        });
        sleep(delay).await;
        if let Some(admission) = &mut admission
            && !admission.acquire_retry().await
        {
            return result.map_err(|error| with_availability(batch, entry, error));
        }
    }
}

/// Returns the text of an error with its causes.
fn operator_text(error: &ToolError) -> String {
    let cause = error.source().map(|source| error_chain(source)).unwrap_or_default();
    match cause.starts_with(error.text()) {
        true => cause,
        false if cause.is_empty() => error.text().to_owned(),
        false => format!("{}: {cause}", error.text()),
    }
}

/// Invokes a tool once, and ends the work that the attempt has spawned.
#[inline]
pub(super) async fn run_attempt(call: &mut CallContext<'_>) -> CallResult {
    call.ensure_validated()?;
    let CallContext { entry, ctx, .. } = *call;
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
#[cold]
pub(super) fn with_availability(
    batch: &BatchContext,
    entry: &Entry,
    error: ToolError,
) -> ToolError {
    let may_be_unavailable = matches!(
        error.kind(),
        ToolErrorKind::Failed | ToolErrorKind::Transient | ToolErrorKind::Panicked
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
    let text = match timeout_at(deadline, invocation).await {
        // A tool that never awaits can't be stopped in time, and its late result is not used.
        Ok(_) if started.elapsed() > limit => {
            format!("The tool took longer than {limit:?}, so its result is not used.")
        }
        Ok(result) => return result,
        Err(_) if ctx.never_began() => {
            kind = ToolErrorKind::Transient;
            format!("The tool was not run: no thread was free for it within {limit:?}.")
        }
        Err(_) if entry.definition().blocking => format!(
            "The tool took longer than {limit:?}. It can't be stopped and may still finish."
        ),
        Err(_) => format!("The tool was stopped: it took longer than {limit:?}."),
    };
    Err(ToolError::new(kind, text))
}
