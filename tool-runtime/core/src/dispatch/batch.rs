//! Runs the calls of one reply: which of them run concurrently, and exactly one result for each.

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::abort::AbortState;
#[cfg(not(feature = "tracing"))]
use super::call::run_call;
use super::context::{BatchContext, BatchHistory, OuterCalls};
use super::plan::waves;
use super::state::DispatchState;
use crate::dispatch::call::finish_guard::{lost_execution, run_observed};
#[cfg(feature = "tracing")]
use crate::dispatch::call::traced::run_call;
use crate::event::ToolExecution;
use crate::guard::BoxFuture;
use crate::message::ToolCall;
use crate::registry::Snapshot;
use crate::span;
use crate::tool::Batch;
use crate::tool::dispatch_contract::BatchScope;

/// Runs the calls of a batch, which may be nested in other calls.
///
/// This is not an `async fn`: its future would store the parameters beside the values made of them.
pub(super) fn run_batch(
    tools: Snapshot,
    state: Arc<DispatchState>,
    mut batch: Batch,
    outer: Option<OuterCalls>,
) -> impl Future<Output = Vec<ToolExecution>> + Send + 'static {
    let (mut calls, early) = (std::mem::take(&mut batch.calls), batch.completed.take());
    let batch = Arc::new(batch_context(tools, state, batch, outer));
    async move {
        if calls.len() == 1
            && let Some(call) = calls.pop()
        {
            // Awaited before the list, which would otherwise be allocated while the call runs.
            let execution = if batch.scope.observers.need_all() {
                run_alone_observed(batch, call).await
            } else {
                run_call(&batch, call, OnceLock::new(), None).await
            };
            return vec![execution];
        }
        run_waves(batch, calls, early).await
    }
}

/// Runs the only call of a batch, for observers.
fn run_alone_observed(
    batch: Arc<BatchContext>,
    call: ToolCall,
) -> BoxFuture<'static, ToolExecution> {
    Box::pin(run_observed(batch, call))
}

fn batch_context(
    tools: Snapshot,
    state: Arc<DispatchState>,
    batch: Batch,
    outer: Option<OuterCalls>,
) -> BatchContext {
    let policy = &state.policy;
    let is_run_deadline = batch.is_run_deadline
        && policy.batch_timeout.is_none_or(|limit| batch.timeout.is_some_and(|run| run < limit));
    let deadline = match (batch.timeout, policy.batch_timeout) {
        (None, None) => None,
        // A deadline that the clock can't represent is no deadline.
        (of_batch, of_policy) => {
            let least = of_batch.into_iter().chain(of_policy).min();
            least.and_then(|span| Instant::now().checked_add(span))
        }
    };
    let Batch {
        decisions, deferred, suspended, started, removed_tools, caller, served_key, ..
    } = batch;
    let is_new = decisions.is_empty()
        && deferred.is_empty()
        && suspended.is_empty()
        && started.is_empty()
        && removed_tools.is_empty();
    let is_outermost = outer.is_none() && caller.is_none() && served_key.is_none();
    let history = if is_new && is_outermost {
        None
    } else {
        Some(history(BatchHistory {
            decisions,
            deferred,
            suspended,
            started,
            removed_tools,
            outer,
            caller,
            served_key,
        }))
    };
    let redactor = state.redactor_for(&tools, batch.origin.run);
    // One literal, since a part that is created before would be copied to its place.
    BatchContext {
        tools,
        scope: BatchScope {
            origin: batch.origin,
            run_info: batch.run_info,
            transcript: batch.transcript,
            clock: state.clock,
            observers: state.observers.followed_by(&batch.observers),
            batch_observers: batch.observers,
            extensions: batch.extensions,
            redactor,
            deadline,
            is_run_deadline,
            cancellation: batch.cancellation,
            permit: batch.permit,
            usage_meter: batch.usage_meter,
        },
        abort: AbortState::new(policy.abort_on_failure, policy.abort_on_block),
        state,
        history,
        on_demand: OnceLock::new(),
    }
}

fn history(mut history: BatchHistory) -> Box<BatchHistory> {
    history.suspended.sort_by(|a, b| a.call.cmp(&b.call));
    Box::new(history)
}

/// Receives each execution as soon as it is complete, before the batch is.
type EarlyResults = Option<UnboundedSender<ToolExecution>>;

/// Runs several calls.
fn run_waves(
    batch: Arc<BatchContext>,
    calls: Vec<ToolCall>,
    early: EarlyResults,
) -> BoxFuture<'static, Vec<ToolExecution>> {
    Box::pin(async move {
        let is_sequential = |call: &ToolCall| {
            batch.tools.definition(&call.name).is_some_and(|tool| tool.sequential)
        };
        // Allocated with the first results: space for all would lie unused while the calls run.
        let mut executions = Vec::new();
        for wave in waves(calls.iter().map(is_sequential)) {
            let calls = calls.get(wave).unwrap_or_default();
            executions.extend(run_wave(&batch, calls, &early).await);
        }
        executions
    })
}

/// Runs one call in the caller's task, or several calls in separate tasks, to use all cores.
async fn run_wave(
    batch: &Arc<BatchContext>,
    calls: &[ToolCall],
    early: &EarlyResults,
) -> Vec<ToolExecution> {
    let send = |execution: &ToolExecution| {
        if let Some(early) = early {
            // Fails if the receiver is no longer interested.
            let _ = early.send(execution.clone());
        }
    };
    if let [call] = calls {
        let execution = run_observed(Arc::clone(batch), call.clone()).await;
        send(&execution);
        return vec![execution];
    }
    // If this future is dropped, the set aborts the remaining tasks.
    let mut tasks = JoinSet::new();
    for (index, call) in calls.iter().enumerate() {
        let execution = run_observed(Arc::clone(batch), call.clone());
        let indexed = async move { (index, execution.await) };
        tasks.spawn(span::in_current_span(indexed));
    }

    let mut executions: Vec<Option<ToolExecution>> = calls.iter().map(|_| None).collect();
    while let Some(joined) = tasks.join_next().await {
        if let Ok((index, execution)) = joined
            && let Some(slot) = executions.get_mut(index)
        {
            send(&execution);
            *slot = Some(execution);
        }
    }
    let executions = executions.into_iter().zip(calls);
    executions
        .map(|(execution, call)| execution.unwrap_or_else(|| lost_execution(batch, call)))
        .collect()
}
