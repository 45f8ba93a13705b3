//! The tokio adaptor: starts the calls, holds them to their time, collects what became of them.

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Terms;
use super::answer::{failed, succeeded, unknown};
use super::invoke::invoke;
use super::plan::waves;
use super::policy::{pause_before_next, permit};
use crate::event::{Event, ToolExecution};
use crate::guard::let_go;
use crate::message::ToolCall;
use crate::registry::Snapshot;
use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput};

pub(super) async fn all(
    tools: &Snapshot,
    terms: &Terms,
    calls: Vec<ToolCall>,
) -> Vec<ToolExecution> {
    let alone = |call: &ToolCall| tools.definition(&call.name).is_some_and(|tool| tool.sequential);
    let mut done = Vec::with_capacity(calls.len());
    for wave in waves(calls.iter().map(alone)) {
        done.extend(at_once(tools, terms, calls.get(wave).unwrap_or_default()).await);
    }
    done
}

/// Each call in a task of its own, also where there is but one: what a tool sees and how it is
/// stopped must not depend on how many were called beside it.
async fn at_once(tools: &Snapshot, terms: &Terms, calls: &[ToolCall]) -> Vec<ToolExecution> {
    // Dropped with this future, the set stops whatever still runs.
    let mut running = JoinSet::new();
    for (place, call) in calls.iter().enumerate() {
        let (tools, terms, call) = (tools.clone(), terms.clone(), call.clone());
        running.spawn(async move { (place, one(&tools, &terms, call).await) });
    }

    let mut done: Vec<Option<ToolExecution>> = calls.iter().map(|_| None).collect();
    while let Some(joined) = running.join_next().await {
        if let Ok((place, execution)) = joined
            && let Some(slot) = done.get_mut(place)
        {
            *slot = Some(execution);
        }
    }
    let done = done.into_iter().zip(calls);
    done.map(|(done, call)| done.unwrap_or_else(|| lost(terms, call))).collect()
}

/// A task that ended without a result was torn down from outside: its runtime is going away.
#[cold]
fn lost(terms: &Terms, call: &ToolCall) -> ToolExecution {
    let text = "The call was stopped before it had a result; it may have had effects.";
    let execution = failed(call.clone(), ToolError::new(ToolErrorKind::Indeterminate, text));
    terms.observers.tell(|| Event::CallFinished(execution.clone()));
    execution
}

/// One call, from its name to its result.
async fn one(tools: &Snapshot, terms: &Terms, call: ToolCall) -> ToolExecution {
    let observers = &terms.observers;
    observers.tell(|| Event::CallStarted { call: call.clone() });
    let started = Instant::now();
    let ctx = ToolContext::new(call).with_extensions(terms.extensions.clone());
    let name = ctx.tool_name();
    let (outcome, attempts) = match tools.entry(name) {
        Some(entry) => match permit(entry.definition(), &terms.granted) {
            Ok(()) => attempts(entry.tool().as_ref(), entry.definition(), &ctx).await,
            Err(denied) => (Err(denied), 0),
        },
        None => (Err(unknown(tools, name)), 0),
    };
    let (call, fixes) = ctx.into_parts();
    let mut execution = match outcome {
        Ok(output) => succeeded(call, output),
        Err(error) => failed(call, error),
    };
    execution.fixes = fixes;
    execution.attempts = attempts;
    execution.took = started.elapsed();
    observers.tell(|| Event::CallFinished(execution.clone()));
    execution
}

type Outcome = Result<ToolOutput, ToolError>;

/// Runs a tool until it succeeds or may not be tried again; and how often that was.
async fn attempts(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    ctx: &ToolContext,
) -> (Outcome, u32) {
    let mut attempts = 0;
    loop {
        let outcome = timed(tool, definition, ctx).await;
        attempts += 1;
        let pause = match &outcome {
            Ok(_) => None,
            Err(error) => pause_before_next(definition, error.kind(), attempts),
        };
        let Some(pause) = pause else { return (outcome, attempts) };
        let_go(outcome);
        sleep(pause).await;
    }
}

async fn timed(tool: &dyn Tool, definition: &ToolDefinition, ctx: &ToolContext) -> Outcome {
    let started = Instant::now();
    let running = invoke(tool, &ctx.call().arguments, ctx);
    let Some(limit) = definition.timeout else { return running.await };
    let text = match timeout(limit, running).await {
        // A tool that never waits can't be stopped on time, but it is no better for that.
        Ok(late) if started.elapsed() > limit => {
            let_go(late);
            format!("The tool took longer than {limit:?}, so its result is not used.")
        }
        Ok(outcome) => return outcome,
        Err(_) if definition.blocking => {
            format!(
                "The tool took longer than {limit:?}. It can't be stopped and may still finish."
            )
        }
        Err(_) => format!("The tool was stopped: it took longer than {limit:?}."),
    };
    Err(ToolError::new(ToolErrorKind::Timeout, text))
}
