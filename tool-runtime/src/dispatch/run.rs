//! The tokio adaptor: starts the calls, holds them to their time, collects what became of them.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Terms;
use super::guard::invoke;
use super::plan::waves;
use super::policy::{pause_before_next, permit};
use crate::event::{Event, ToolExecution};
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// How many names a model is told of when it called none of them.
const MOST_NAMES: usize = 20;

pub(super) async fn all(
    tools: &Arc<Snapshot>,
    terms: &Terms,
    calls: Vec<ToolCall>,
) -> Vec<ToolExecution> {
    // One call needs no task of its own.
    if let [call] = calls.as_slice() {
        return vec![one(tools, terms, call.clone()).await];
    }
    let alone = |call: &ToolCall| tools.get(&call.name).is_some_and(|t| t.definition().sequential);
    let mut done = Vec::with_capacity(calls.len());
    for wave in waves(calls.iter().map(alone)) {
        done.extend(at_once(tools, terms, calls.get(wave).unwrap_or_default()).await);
    }
    done
}

async fn at_once(tools: &Arc<Snapshot>, terms: &Terms, calls: &[ToolCall]) -> Vec<ToolExecution> {
    // Dropped with this future, the set stops whatever still runs.
    let mut running = JoinSet::new();
    for (place, call) in calls.iter().enumerate() {
        let (tools, terms, call) = (Arc::clone(tools), terms.clone(), call.clone());
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
    // A task that ended without a result was torn down from outside: the runtime is going away.
    let lost = |call: &ToolCall| {
        let text = "The call was stopped before it had a result; it may have had effects.";
        failed(call.clone(), &ToolError::new(ToolErrorKind::Indeterminate, text))
    };
    done.into_iter().zip(calls).map(|(done, call)| done.unwrap_or_else(|| lost(call))).collect()
}

/// One call, from its name to its result.
async fn one(tools: &Snapshot, terms: &Terms, call: ToolCall) -> ToolExecution {
    let observers = &terms.observers;
    observers.tell(|| Event::CallStarted { call: call.clone() });
    let started = Instant::now();
    let ctx = ToolContext::new(call).with_extensions(terms.extensions.clone());
    let (outcome, attempts) = match tools.get(ctx.tool_name()) {
        Some(tool) => match permit(tool.definition(), &terms.granted) {
            Ok(()) => attempts(tool.as_ref(), &ctx).await,
            Err(denied) => (Err(denied), 0),
        },
        None => (Err(unknown(tools, ctx.tool_name())), 0),
    };
    let (call, fixes) = ctx.into_parts();
    let mut execution = match outcome {
        Ok(output) => succeeded(call, output),
        Err(error) => failed(call, &error),
    };
    execution.fixes = fixes;
    execution.attempts = attempts;
    execution.took = started.elapsed();
    observers.tell(|| Event::CallFinished(execution.clone()));
    execution
}

/// Runs a tool until it succeeds or may not be tried again; and how often that was.
async fn attempts(tool: &dyn Tool, ctx: &ToolContext) -> (Result<ToolOutput, ToolError>, u32) {
    let mut attempts = 0;
    loop {
        let outcome = timed(tool, ctx).await;
        attempts += 1;
        let pause = match &outcome {
            Ok(_) => None,
            Err(error) => pause_before_next(tool.definition(), error.kind(), attempts),
        };
        match pause {
            Some(pause) => sleep(pause).await,
            None => return (outcome, attempts),
        }
    }
}

async fn timed(tool: &dyn Tool, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let running = invoke(tool, ctx.call().arguments.clone(), ctx);
    match tool.definition().timeout {
        None => running.await,
        Some(limit) => timeout(limit, running).await.unwrap_or_else(|_| {
            let text = format!("The tool was stopped: it took longer than {limit:?}.");
            Err(ToolError::new(ToolErrorKind::Timeout, text))
        }),
    }
}

fn succeeded(call: ToolCall, output: ToolOutput) -> ToolExecution {
    let (text, images, effects) = output.into_parts();
    let mut result = ToolResult::success(&call, text);
    result.images = images;
    let mut execution = ToolExecution::new(call, result);
    execution.effects = effects;
    execution
}

fn failed(call: ToolCall, error: &ToolError) -> ToolExecution {
    let result = ToolResult::failure(&call, error.kind().code(), error.text());
    let mut execution = ToolExecution::new(call, result);
    execution.cause = error.source().map(|source| chain(source));
    execution
}

/// An error and all that lies behind it, outermost first.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        let _ = write!(text, ": {error}");
        behind = error.source();
    }
    text
}

fn unknown(tools: &Snapshot, name: &str) -> ToolError {
    let name: String = name.chars().take(80).collect();
    let list = |names: &[&str], joint: &str| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(joint)
    };
    let nearest = tools.nearest(&name);
    let advice = if !nearest.is_empty() {
        format!("Did you mean {}?", list(&nearest, " or "))
    } else {
        let known: Vec<_> =
            tools.definitions().iter().map(|known| known.name.as_str()).take(MOST_NAMES).collect();
        match known.as_slice() {
            [] => "There are no tools.".to_owned(),
            known => format!("The tools are {}.", list(known, ", ")),
        }
    };
    let text = format!("There is no tool named `{name}`. {advice}");
    ToolError::new(ToolErrorKind::NotFound, text)
}
