//! The attempts of one call: as many as the retries of its tool allow.

use tokio::time::sleep;

use crate::dispatch::attempt::hooked_attempt::run_hooked_attempt;
use crate::dispatch::attempt::{run_attempt, with_availability};
use crate::dispatch::call::call_context::CallContext;
use crate::dispatch::call::call_record::CallResult;
use crate::dispatch::limits::admission::Admission;
use crate::dispatch::limits::rate::ends_in_time;
use crate::dispatch::policy::retry_delay;
use crate::event::ToolEvent;
use crate::guard::error_chain;
use crate::tool::ToolError;

/// Invokes a tool until it succeeds or is not retried.
pub(crate) async fn run_attempts(
    call: &mut CallContext<'_>,
    mut admission: Option<Box<Admission<'_>>>,
) -> CallResult {
    let CallContext { batch, entry, ctx, .. } = *call;
    call.record.write = batch.begin_write(entry);
    loop {
        let result = if batch.state.policy.attempt_hooks.is_empty() {
            run_attempt(call).await
        } else {
            Box::pin(run_hooked_attempt(call)).await
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
    if cause.starts_with(error.text()) {
        cause
    } else if cause.is_empty() {
        error.text().to_owned()
    } else {
        format!("{}: {cause}", error.text())
    }
}
