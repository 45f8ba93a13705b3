//! One call, from its name to its result: stage after stage.
//!
//! A future is moved about before it runs, with room for all that it might ever wait for. So all that
//! most calls don't need is in one box, and the future of a plain call stays small.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::admission::Admission;
use super::answer::{ending, failed, gone, succeeded, unknown};
use super::attempt::{attempts, end_attempt, explained, once};
use super::permit::permitted;
use super::policy::capped;
use super::record::{Outcome, Record};
use super::running::Running;
use crate::event::{ToolEvent, ToolExecution, micros};
use crate::message::{Arguments, ToolCall};
use crate::registry::Entry;
use crate::tool::args::settled;
use crate::tool::dispatch::Scope;
use crate::tool::{Bill, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput};

pub(super) async fn one(running: &Arc<Running>, call: ToolCall) -> ToolExecution {
    let began = Instant::now();
    let Running { scope, .. } = running.as_ref();
    scope.see(&call);
    scope.tell(|| ToolEvent::Started { call: call.clone() });
    let mut record = Record::default();
    let ran = match running.plain(&call) {
        // A call with nothing between it and its tool.
        Some(entry) => {
            let ctx = ToolContext::within(Arc::clone(running) as _, call);
            let outcome = once(entry, &ctx.call().arguments, &ctx, &mut record).await;
            let outcome = outcome.map_err(|error| explained(running, entry, error));
            let outcome = outcome.map_err(|error| unsure(running, &ctx, error));
            Ran { came: None, ctx, outcome }
        }
        None => Box::pin(governed(running, call, &mut record)).await,
    };
    let mut execution = finish(running, began, ran, record);
    if !running.state.policy.interceptors.is_empty() {
        execution = Box::pin(running.state.policy.interceptors.after(execution)).await;
        running.hide_in_result(&mut execution);
    }
    running.halt.note(&execution);
    if !scope.observers.is_empty() {
        tell_finished(scope, &execution);
    }
    execution
}

/// A call that is over.
struct Ran {
    /// As it came, where somebody may have changed it.
    came: Option<ToolCall>,
    ctx: ToolContext,
    outcome: Outcome,
}

/// A call with everything between it and its tool that there is.
async fn governed(running: &Arc<Running>, mut call: ToolCall, record: &mut Record) -> Ran {
    let interceptors = &running.state.policy.interceptors;
    let (mut came, mut answered) = (None, None);
    if !interceptors.is_empty() {
        came = Some(call.clone());
        let before = interceptors.before(&mut call, record);
        let before = stoppable(running, async { Ok(before.await) });
        answered = before.await.unwrap_or_else(|error| Some(Err(error)));
        running.scope.see(&call);
    }
    let ctx = ToolContext::within(Arc::clone(running) as _, call);
    let mut outcome = match answered {
        Some(outcome) => outcome,
        None => {
            let outcome = stoppable(running, through(running, &ctx, record)).await;
            // What was dropped in mid-work may have something going still.
            end_attempt(&ctx, record).await;
            outcome
        }
    };
    if ctx.attempts() == 0 {
        outcome = outcome.map_err(|error| running.left_off(ctx.call(), error));
    }
    let outcome = outcome.map_err(|error| unsure(running, &ctx, error));
    Ran { came, ctx, outcome }
}

#[cold]
fn tell_finished(scope: &Scope, execution: &ToolExecution) {
    ending(execution).for_each(|event| scope.tell(|| event));
}

/// What the call gave and what was noted, as one value.
#[inline]
fn finish(running: &Running, began: Instant, ran: Ran, record: Record) -> ToolExecution {
    let Ran { came, ctx, outcome } = ran;
    let left = ctx.into_leftover();
    let (call, changed) = match came {
        Some(came) if came != left.call => (came, Some(Box::new(left.call))),
        _ => (left.call, None),
    };
    let mut execution = match outcome {
        Ok(output) => succeeded(call, output),
        Err(error) => failed(call, error),
    };
    if let Some(spent) = running.scope.spent.as_ref().filter(|_| !execution.effects.is_empty()) {
        // What the tool recorded before stands there already.
        spent.add(Bill::of_effects(&execution.effects));
    }
    if !left.effects.is_empty() {
        execution.effects.splice(..0, left.effects);
    }
    // Before the text is cut: half a secret is one too.
    running.hide_in_result(&mut execution);
    if let Some(capped) = capped(&execution.result.text, running.state.policy.output_limit) {
        execution.full_text = Some(std::mem::replace(&mut execution.result.text, capped));
    }
    execution.changed = changed;
    if let Some(decoded) = left.decoded {
        execution.fixes = decoded.fixes;
        execution.decoded = decoded.json;
    }
    execution.attempts = left.attempts;
    execution.remembered = record.remembered;
    execution.decided_by = record.decided_by;
    execution.blocked_by = record.blocked_by.or(execution.blocked_by);
    execution.left_running = record.left_running;
    execution.started = running.scope.clock.at(began);
    execution.took = micros::in_full(began.elapsed());
    execution
}

/// The call on its way to its tool, stage after stage.
async fn through(running: &Running, ctx: &ToolContext, record: &mut Record) -> Outcome {
    let Running { tools, .. } = running;
    running.halt.check().map_err(|held| record.block(held))?;
    let name = ctx.tool_name();
    let entry = tools.entry(name).ok_or_else(|| missing(running, name))?;
    running.check_began(ctx.call(), entry)?;
    running.check_depth().map_err(|held| record.block(held))?;
    let looked_at = permitted(running, entry, ctx, record).await?;
    let arguments = looked_at.as_ref().unwrap_or_else(|| &ctx.call().arguments);
    if entry.definition().pure {
        return remembered(running, entry, arguments, ctx, record).await;
    }
    limited(running, entry, arguments, ctx, record).await
}

/// Why there is no tool of this name.
#[cold]
fn missing(running: &Running, name: &str) -> ToolError {
    match running.gone.iter().any(|gone| gone == name) {
        true => gone(name),
        false => unknown(running.callable(), name),
    }
}

/// What a pure tool said to these arguments before; or else what it says now.
async fn remembered(
    running: &Running,
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut Record,
) -> Outcome {
    let (value, json) = settled(entry.definition(), arguments, ctx)?;
    let arguments = Arguments::from(json);
    let run = limited(running, entry, &arguments, ctx, record);
    let may_wait = running.is_outermost();
    let (outcome, was_remembered) = running.state.memo.recall(entry, &value, may_wait, run).await;
    record.remembered = was_remembered;
    if was_remembered { outcome.map(ToolOutput::for_nothing) } else { outcome }
}

/// Waits until the tool may run, and runs it.
async fn limited(
    running: &Running,
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut Record,
) -> Outcome {
    let mut admission = None;
    if Admission::is_needed(running, entry) {
        let admitted = Box::pin(Admission::wait(running, entry, ctx.resumed().is_some())).await;
        admission = Some(admitted.map_err(|held| record.block(held))?);
    }
    attempts(running, entry, arguments, ctx, record, admission).await
}

/// The same, until the batch is past its time or stopped.
async fn stoppable<T>(
    running: &Running,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let Scope { stop, deadline, .. } = &running.scope;
    // What is over before it begins must not begin: a future that is polled once has begun.
    if stop.as_ref().is_some_and(CancellationToken::is_cancelled) {
        return Err(stopped());
    }
    if deadline.is_some_and(|at| at <= Instant::now()) {
        return Err(late(running));
    }
    let mut work = Box::pin(work);
    let timed = async {
        match *deadline {
            None => work.as_mut().await,
            Some(at) => timeout_at(at, work.as_mut()).await.unwrap_or_else(|_| Err(late(running))),
        }
    };
    match stop {
        None => timed.await,
        Some(stop) => stop.run_until_cancelled(timed).await.unwrap_or_else(|| Err(stopped())),
    }
}

#[cold]
fn late(running: &Running) -> ToolError {
    let text = match running.scope.ends_run {
        true => "The call was stopped: the run had taken as long as it may.",
        false => "The call was stopped: the calls of this reply took longer than they may.",
    };
    ToolError::new(ToolErrorKind::Timeout, text)
}

#[cold]
fn stopped() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The call was stopped.")
}

/// The model is not to make a call again as if nothing had happened, where nobody can tell how far its tool came;
/// nor to wonder, where that never began.
#[cold]
fn unsure(running: &Running, ctx: &ToolContext, error: ToolError) -> ToolError {
    let may_repeat =
        || running.tools.definition(ctx.tool_name()).is_none_or(ToolDefinition::may_repeat);
    match error.kind() {
        ToolErrorKind::Cancelled | ToolErrorKind::Timeout if ctx.attempts() == 0 => {
            error.and_say(" It was not run.")
        }
        ToolErrorKind::Cancelled | ToolErrorKind::Panicked | ToolErrorKind::Timeout
            if !may_repeat() =>
        {
            error.and_say(" It may have had effects.")
        }
        _ => error,
    }
}
