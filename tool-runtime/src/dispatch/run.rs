//! The tokio adaptor: starts the calls, holds them to their time, collects what became of them.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::guard::invoke;
use crate::event::{Event, Observers, ToolExecution};
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// How many names a model is told of when it called none of them.
const MOST_NAMES: usize = 20;

pub(super) async fn all(
    tools: &Arc<Snapshot>,
    observers: &Observers,
    calls: Vec<ToolCall>,
) -> Vec<ToolExecution> {
    // One call needs no task of its own.
    if let [call] = calls.as_slice() {
        return vec![one(tools, observers, call.clone()).await];
    }

    // Dropped with this future, the set stops whatever still runs.
    let mut running = JoinSet::new();
    for (place, call) in calls.iter().enumerate() {
        let (tools, observers, call) = (Arc::clone(tools), observers.clone(), call.clone());
        running.spawn(async move { (place, one(&tools, &observers, call).await) });
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
    let lost = |call| {
        let text = "The call was stopped before it had a result; it may have had effects.";
        failed(call, &ToolError::new(ToolErrorKind::Indeterminate, text))
    };
    done.into_iter().zip(calls).map(|(done, call)| done.unwrap_or_else(|| lost(call))).collect()
}

/// One call, from its name to its result.
async fn one(tools: &Snapshot, observers: &Observers, call: ToolCall) -> ToolExecution {
    observers.tell(|| Event::CallStarted { call: call.clone() });
    let started = Instant::now();
    let ctx = ToolContext::new(call);
    let outcome = match tools.get(ctx.tool_name()) {
        Some(tool) => timed(tool.as_ref(), &ctx).await,
        None => Err(unknown(tools, ctx.tool_name())),
    };
    let (call, fixes) = ctx.into_parts();
    let mut execution = match outcome {
        Ok(output) => {
            let result = ToolResult::success(&call, output.into_text());
            ToolExecution::new(call, result)
        }
        Err(error) => failed(call, &error),
    };
    execution.fixes = fixes;
    execution.took = started.elapsed();
    observers.tell(|| Event::CallFinished(execution.clone()));
    execution
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
