//! Runs a tool, once or as often as it may be tried.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::admission::Admission;
use super::invoke::invoke;
use super::policy::retry_delay;
use super::record::{Outcome, Record};
use super::running::Running;
use crate::event::ToolEvent;
use crate::guard::{causes, guarded};
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::{Availability, ToolContext, ToolError, ToolErrorKind};

/// How much of the reason why a tool can't run the model is told, in characters.
const MOST_OF_REASON: usize = 200;

/// Runs a tool until it succeeds or may not be tried again.
pub(super) async fn attempts(
    running: &Running,
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut Record,
    mut admission: Option<Box<Admission<'_>>>,
) -> Outcome {
    loop {
        let outcome = once(entry, arguments, ctx, record).await;
        let pause = outcome.as_ref().err().and_then(|error| {
            let tool = entry.definition();
            let max_retries = running.state.policy.max_retries_of(tool);
            retry_delay(tool, error, ctx.attempts(), max_retries, fastrand::f64())
                .filter(|pause| is_in_time(*pause, running.scope.deadline))
        });
        let outcome = match pause {
            Some(_) => outcome,
            None => outcome.map_err(|error| explained(running, entry, error)),
        };
        if let Some(admission) = &mut admission {
            admission.note(&outcome);
        }
        let may_try_again =
            |_: &_| admission.as_ref().is_none_or(|admission| admission.may_try_again());
        let (Some(pause), Err(error)) = (pause.filter(may_try_again), &outcome) else {
            return outcome;
        };
        let attempt = ctx.attempts();
        running.scope.tell(|| ToolEvent::Retried {
            call: ctx.call_id().clone(),
            attempt,
            error: error.kind().code().to_owned(),
            text: whole(error),
            pause,
        });
        sleep(pause).await;
        if let Some(admission) = &mut admission
            && !admission.another_turn().await
        {
            return outcome.map_err(|error| explained(running, entry, error));
        }
    }
}

/// Whether something is left of the time of the batch behind that pause: to wait for its end tells nobody anything.
fn is_in_time(pause: Duration, deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|at| at.saturating_duration_since(Instant::now()) > pause)
}

/// What a tool failed with, and what lies behind that.
fn whole(error: &ToolError) -> String {
    let cause = error.source().map(|source| causes(source)).unwrap_or_default();
    match cause.starts_with(error.text()) {
        true => cause,
        false if cause.is_empty() => error.text().to_owned(),
        false => format!("{}: {cause}", error.text()),
    }
}

/// Runs a tool once, and ends what it has going.
#[inline]
pub(super) async fn once(
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut Record,
) -> Outcome {
    let _ends = ctx.ends_work();
    let outcome = match entry.definition().timeout {
        None => {
            ctx.begin_attempt(None);
            invoke(entry.tool().as_ref(), arguments, ctx).await
        }
        // Boxed, for most tools have none.
        Some(limit) => Box::pin(timed(entry, limit, arguments, ctx)).await,
    };
    end_attempt(ctx, record).await;
    outcome
}

/// A tool that failed and can't run now has failed for that.
#[cold]
pub(super) fn explained(running: &Running, entry: &Entry, error: ToolError) -> ToolError {
    let may_be_it = matches!(
        error.kind(),
        ToolErrorKind::Failed | ToolErrorKind::Transient | ToolErrorKind::Panicked
    );
    if !may_be_it {
        return error;
    }
    let (name, asked) = (entry.name(), guarded(|| entry.tool().availability()));
    let (text, why) = match asked {
        Ok(Availability::Available) => return error,
        Ok(Availability::Unavailable(mut why)) => {
            // Before the text is cut: half a secret is one too.
            if let Some(redactor) = &running.scope.redactor {
                redactor.hide(&mut why);
            }
            let plain = |c: char| if c.is_control() { ' ' } else { c };
            let told: String = why.chars().take(MOST_OF_REASON).map(plain).collect();
            (format!("`{name}` can't run now: {told}. Go on without it."), why)
        }
        // A panic may quote anything.
        Err(panic) => (format!("`{name}` can't run now. Go on without it."), panic.to_string()),
    };
    let cause = format!("{why}; the call failed: {error}");
    ToolError::new(ToolErrorKind::Unavailable, text).with_source(cause)
}

/// Ends what the tool has going beside its own future.
pub(super) async fn end_attempt(ctx: &ToolContext, record: &mut Record) {
    if ctx.has_work() {
        record.left_running |= !Box::pin(ctx.end_attempt()).await;
    }
}

async fn timed(
    entry: &Entry,
    limit: Duration,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Outcome {
    let running = invoke(entry.tool().as_ref(), arguments, ctx);
    let started = Instant::now();
    let deadline = started.checked_add(limit);
    ctx.begin_attempt(deadline);
    let Some(deadline) = deadline else { return running.await };
    let mut kind = ToolErrorKind::Timeout;
    let text = match timeout_at(deadline, running).await {
        // A tool that never waits can't be stopped on time, but it is no better for that.
        Ok(_) if started.elapsed() > limit => {
            format!("The tool took longer than {limit:?}, so its result is not used.")
        }
        Ok(outcome) => return outcome,
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
