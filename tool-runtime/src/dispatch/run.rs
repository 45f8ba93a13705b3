//! The tokio adaptor: starts the calls, holds them to their time, collects what became of them.

use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::ApprovalRequest;
use super::Terms;
use super::answer::{failed, succeeded, unknown};
use super::invoke::invoke;
use super::plan::waves;
use super::policy::{capped, is_granted, not_allowed, pause_before_next};
use crate::event::{Event, ToolExecution};
use crate::guard::{guarded, let_go};
use crate::message::{Arguments, ToolCall};
use crate::registry::{Callable, Entry, Snapshot};
use crate::tool::args::settled;
use crate::tool::{Permission, ToolContext, ToolError, ToolErrorKind, ToolOutput};

pub(super) async fn all(
    tools: &Snapshot,
    terms: &Terms,
    calls: Vec<ToolCall>,
) -> Vec<ToolExecution> {
    // What a tool may look for is what its caller may call.
    let (judge, mut terms) = (terms.clone(), terms.clone());
    let callable = Callable::new(tools.clone(), move |entry| judge.let_call(entry));
    terms.extensions = terms.extensions.with(callable);
    let alone = |call: &ToolCall| tools.definition(&call.name).is_some_and(|tool| tool.sequential);
    let mut done = Vec::with_capacity(calls.len());
    for wave in waves(calls.iter().map(alone)) {
        done.extend(at_once(tools, &terms, calls.get(wave).unwrap_or_default()).await);
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
    let mut running = call.clone();
    let answered = terms.interceptors.before(&mut running).await;
    let changed = (running != call).then(|| Box::new(running.clone()));
    let ctx = ToolContext::new(running).with_extensions(terms.extensions.clone());
    let Came { outcome, attempts, remembered } = match answered {
        Some(outcome) => Came::without_a_try(outcome),
        None => came(tools, terms, &ctx).await,
    };
    let (_, fixes) = ctx.into_parts();
    let mut execution = match outcome {
        Ok(output) => succeeded(call, output),
        Err(error) => failed(call, error),
    };
    if let Some(capped) = capped(&execution.result.text, terms.output_limit) {
        execution.full_text = Some(std::mem::replace(&mut execution.result.text, capped));
    }
    execution.changed = changed;
    execution.fixes = fixes;
    execution.attempts = attempts;
    execution.remembered = remembered;
    execution.took = started.elapsed();
    terms.interceptors.after(&mut execution).await;
    observers.tell(|| Event::CallFinished(execution.clone()));
    execution
}

/// What comes of a call, and how often its tool was called for it.
struct Came {
    outcome: Outcome,
    attempts: u32,
    remembered: bool,
}

impl Came {
    const fn without_a_try(outcome: Outcome) -> Self {
        Self { outcome, attempts: 0, remembered: false }
    }
}

/// What comes of a call that nobody answered before.
async fn came(tools: &Snapshot, terms: &Terms, ctx: &ToolContext) -> Came {
    let name = ctx.tool_name();
    let Some(entry) = tools.entry(name) else {
        return Came::without_a_try(Err(unknown(tools, name)));
    };
    let looked_at = match permitted(entry, terms, ctx).await {
        Ok(looked_at) => looked_at,
        Err(denied) => return Came::without_a_try(Err(denied)),
    };
    let run = async |arguments: &Arguments| {
        let _places = terms.places.take(entry).await;
        attempts(entry, arguments, ctx).await
    };
    let arguments = looked_at.as_ref().unwrap_or_else(|| &ctx.call().arguments);
    if !entry.definition().pure {
        let (outcome, attempts) = run(arguments).await;
        return Came { outcome, attempts, remembered: false };
    }
    let (value, json) = match settled(entry.definition(), arguments, ctx) {
        Ok(settled) => settled,
        Err(refused) => return Came::without_a_try(Err(refused)),
    };
    let arguments = Arguments::from(json);
    let mut attempts = 0;
    let (run, arguments, tried) = (&run, &arguments, &mut attempts);
    let remember = move || async move {
        let (outcome, times) = run(arguments).await;
        *tried = times;
        outcome
    };
    let (outcome, remembered) = terms.memo.recall(name, &value, remember).await;
    Came { outcome, attempts, remembered }
}

/// Whether the call may run; and if somebody looked at its arguments, these, for they are what the
/// tool is then given.
async fn permitted(
    entry: &Entry,
    terms: &Terms,
    ctx: &ToolContext,
) -> Result<Option<Arguments>, ToolError> {
    let definition = entry.definition();
    is_granted(definition, &terms.granted)?;
    let of_tool = terms.permissions.of_tool(entry);
    let is_looked_at = of_tool == Permission::Ask && terms.approvals.can_ask()
        || of_tool != Permission::Deny && terms.permissions.looks_at_arguments();
    if !is_looked_at && of_tool == Permission::Allow {
        return Ok(None);
    }
    let mut request = ApprovalRequest {
        call: ctx.call().clone(),
        arguments: Value::Null,
        tool: Arc::clone(entry.shared_definition()),
        provider: entry.provider().map(ToOwned::to_owned),
    };
    let mut looked_at = None;
    let mut permission = of_tool;
    if is_looked_at {
        let (value, json) = settled(definition, &ctx.call().arguments, ctx)?;
        request.arguments = value;
        looked_at = Some(Arguments::from(json));
        permission =
            guarded(|| terms.permissions.of_call(of_tool, &request)).unwrap_or(Permission::Deny);
    }
    match permission {
        Permission::Allow => {}
        Permission::Ask => terms.approvals.ask(&request).await?,
        Permission::Deny => return Err(not_allowed(definition)),
    }
    Ok(looked_at)
}

type Outcome = Result<ToolOutput, ToolError>;

/// Runs a tool until it succeeds or may not be tried again; and how often that was.
async fn attempts(entry: &Entry, arguments: &Arguments, ctx: &ToolContext) -> (Outcome, u32) {
    let definition = entry.definition();
    let mut attempts = 0;
    loop {
        let outcome = timed(entry, arguments, ctx).await;
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

async fn timed(entry: &Entry, arguments: &Arguments, ctx: &ToolContext) -> Outcome {
    let definition = entry.definition();
    let started = Instant::now();
    let running = invoke(entry.tool().as_ref(), arguments, ctx);
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
