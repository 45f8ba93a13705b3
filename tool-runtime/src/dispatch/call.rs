//! The path of one call, from its name to its execution.
//!
//! 1. Interceptors see the call and may answer or block it (`intercept.rs`).
//! 2. The name is resolved to a tool of the snapshot.
//! 3. The call is authorized: capabilities, permission, approval (`authorize.rs`).
//! 4. The result of a pure tool is taken from the memo (`memo.rs`).
//! 5. The call is admitted: breaker, rate limits, concurrency limits (`admission.rs`).
//! 6. The tool is invoked, with retries (`attempt.rs`, `invoke.rs`).
//! 7. The result is redacted and truncated, and interceptors see the execution.
//!
//! A call that no policy applies to skips the stages 1 to 5. Its future stays small that way: a
//! future is moved before it runs, with space for everything that it might await, so the rarely
//! needed stages are in a box.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::admission::Admission;
use super::attempt::{end_attempt, run_attempt, run_attempts, with_availability};
use super::authorize::authorize;
use super::context::BatchContext;
use super::executions::{end_events, failure, removed_tool, success, unknown_tool};
use super::policy::truncate_middle;
use super::record::{CallRecord, CallResult};
use crate::event::{ToolEvent, ToolExecution, micros};
use crate::message::{Arguments, ToolCall};
use crate::registry::Entry;
use crate::tool::args::validated_arguments;
use crate::tool::dispatch_contract::BatchScope;
use crate::tool::{
    MeteredUsage, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput,
};

/// Runs one call and emits its events.
pub(super) async fn run_call(batch: &Arc<BatchContext>, call: ToolCall) -> ToolExecution {
    let started = Instant::now();
    let scope = &batch.scope;
    scope.collect_secrets(&call);
    scope.emit(|| ToolEvent::Started { call: call.clone() });
    let mut record = CallRecord::default();
    let outcome = match batch.unrestricted_tool(&call) {
        Some(entry) => {
            let ctx = ToolContext::with_host(Arc::clone(batch) as _, call);
            let result = run_attempt(entry, &ctx.call().arguments, &ctx, &mut record).await;
            let result = result.map_err(|error| with_availability(batch, entry, error));
            let result = result.map_err(|error| with_certainty(batch, &ctx, error));
            CallOutcome { original_call: None, ctx, result }
        }
        None => Box::pin(run_with_policy(batch, call, &mut record)).await,
    };
    let mut execution = into_execution(batch, started, outcome, record);
    let interceptors = &batch.state.policy.interceptors;
    if !interceptors.is_empty() {
        execution = Box::pin(interceptors.after_call(execution)).await;
        batch.redact_result(&mut execution);
    }
    batch.abort.record(&execution);
    if !scope.observers.is_empty() {
        emit_end(scope, &execution);
    }
    execution
}

/// A call that has ended.
struct CallOutcome {
    /// The call before the interceptors saw it, if there are any.
    original_call: Option<ToolCall>,
    ctx: ToolContext,
    result: CallResult,
}

/// Runs a call under the whole policy.
async fn run_with_policy(
    batch: &Arc<BatchContext>,
    mut call: ToolCall,
    record: &mut CallRecord,
) -> CallOutcome {
    let interceptors = &batch.state.policy.interceptors;
    let (mut original_call, mut intercepted) = (None, None);
    if !interceptors.is_empty() {
        original_call = Some(call.clone());
        let before = interceptors.before_call(&mut call, record);
        let before = until_stopped(batch, async { Ok(before.await) });
        intercepted = before.await.unwrap_or_else(|error| Some(Err(error)));
        batch.scope.collect_secrets(&call);
    }
    let ctx = ToolContext::with_host(Arc::clone(batch) as _, call);
    let mut result = match intercepted {
        Some(result) => result,
        None => {
            let result = until_stopped(batch, resolve_and_run(batch, &ctx, record)).await;
            // An attempt that was dropped may have left spawned work behind.
            end_attempt(&ctx, record).await;
            result
        }
    };
    if ctx.attempts() == 0 {
        result = result.map_err(|error| batch.indeterminate_if_resumed(ctx.call(), error));
    }
    let result = result.map_err(|error| with_certainty(batch, &ctx, error));
    CallOutcome { original_call, ctx, result }
}

#[cold]
fn emit_end(scope: &BatchScope, execution: &ToolExecution) {
    end_events(execution).for_each(|event| scope.emit(|| event));
}

/// Combines the result of a call and the notes of its stages.
#[inline]
fn into_execution(
    batch: &BatchContext,
    started: Instant,
    outcome: CallOutcome,
    record: CallRecord,
) -> ToolExecution {
    let CallOutcome { original_call, ctx, result } = outcome;
    let recorded = ctx.into_finished();
    let (call, modified_call) = match original_call {
        Some(original) if original != recorded.call => (original, Some(Box::new(recorded.call))),
        _ => (recorded.call, None),
    };
    let mut execution = match result {
        Ok(output) => success(call, output),
        Err(error) => failure(call, error),
    };
    if let Some(spent) = batch.scope.usage_meter.as_ref().filter(|_| !execution.effects.is_empty())
    {
        // Effects that the tool recorded during the call are counted already.
        spent.add(MeteredUsage::of_effects(&execution.effects));
    }
    if !recorded.effects.is_empty() {
        execution.effects.splice(..0, recorded.effects);
    }
    // Redact before truncating: half a secret is a secret too.
    batch.redact_result(&mut execution);
    let limit = batch.state.policy.output_limit;
    if let Some(short) = truncate_middle(&execution.result.text, limit) {
        execution.full_text = Some(std::mem::replace(&mut execution.result.text, short));
    }
    execution.modified_call = modified_call;
    if let Some(decoded) = recorded.arguments {
        execution.fixes = decoded.fixes;
        execution.decoded_arguments = decoded.json;
    }
    execution.attempts = recorded.attempts;
    execution.is_cached = record.is_cached;
    execution.decided_by = record.decided_by;
    execution.blocked_by = record.blocked_by.or(execution.blocked_by);
    execution.has_detached_thread = record.has_detached_thread;
    execution.started_at = batch.scope.clock.at(started);
    execution.duration = micros::truncate(started.elapsed());
    execution
}

/// Resolves, authorizes and runs a call.
async fn resolve_and_run(
    batch: &BatchContext,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> CallResult {
    batch.abort.check().map_err(|blocked| record.block(blocked))?;
    let name = ctx.tool_name();
    let entry = batch.tools.entry(name).ok_or_else(|| missing_tool(batch, name))?;
    batch.check_suspended(ctx.call(), entry)?;
    batch.check_depth().map_err(|blocked| record.block(blocked))?;
    let examined = authorize(batch, entry, ctx, record).await?;
    let arguments = examined.as_ref().unwrap_or_else(|| &ctx.call().arguments);
    if entry.definition().pure {
        return run_memoized(batch, entry, arguments, ctx, record).await;
    }
    admit_and_run(batch, entry, arguments, ctx, record).await
}

/// Returns the error of a call whose tool does not exist.
#[cold]
fn missing_tool(batch: &BatchContext, name: &str) -> ToolError {
    match batch.removed_tools.iter().any(|removed| removed == name) {
        true => removed_tool(name),
        false => unknown_tool(batch.callable(), name),
    }
}

/// Runs a pure tool, unless the memo has its output for these arguments.
async fn run_memoized(
    batch: &BatchContext,
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> CallResult {
    let (value, json) = validated_arguments(entry.definition(), arguments, ctx)?;
    let arguments = Arguments::from(json);
    let run = admit_and_run(batch, entry, &arguments, ctx, record);
    let may_wait = batch.is_outermost();
    let (result, is_cached) = batch.state.memo.get_or_run(entry, &value, may_wait, run).await;
    record.is_cached = is_cached;
    if is_cached { result.map(ToolOutput::without_usage) } else { result }
}

/// Waits for the limits that apply to the call, and runs it.
async fn admit_and_run(
    batch: &BatchContext,
    entry: &Entry,
    arguments: &Arguments,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> CallResult {
    let mut admission = None;
    if Admission::is_needed(batch, entry) {
        let acquired =
            Box::pin(Admission::acquire(batch, entry, ctx.suspended_state().is_some())).await;
        admission = Some(acquired.map_err(|blocked| record.block(blocked))?);
    }
    run_attempts(batch, entry, arguments, ctx, record, admission).await
}

/// Runs `work` until the deadline of the batch passes or the batch is cancelled.
async fn until_stopped<T>(
    batch: &BatchContext,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let BatchScope { cancellation, deadline, .. } = &batch.scope;
    // Check before the first poll: polling starts the tool.
    if cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
        return Err(cancelled());
    }
    if deadline.is_some_and(|at| at <= Instant::now()) {
        return Err(timed_out(batch));
    }
    let mut work = Box::pin(work);
    let timed = async {
        match *deadline {
            None => work.as_mut().await,
            Some(at) => {
                timeout_at(at, work.as_mut()).await.unwrap_or_else(|_| Err(timed_out(batch)))
            }
        }
    };
    match cancellation {
        None => timed.await,
        Some(stop) => stop.run_until_cancelled(timed).await.unwrap_or_else(|| Err(cancelled())),
    }
}

#[cold]
fn timed_out(batch: &BatchContext) -> ToolError {
    let text = match batch.scope.is_run_deadline {
        true => "The call was stopped: the run had taken as long as it may.",
        false => "The call was stopped: the calls of this reply took longer than they may.",
    };
    ToolError::new(ToolErrorKind::Timeout, text)
}

#[cold]
fn cancelled() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The call was stopped.")
}

/// Adds to the error of a stopped call whether its tool ran.
///
/// The model should not repeat a call that may have had effects, and may repeat one whose tool
/// never started.
#[cold]
fn with_certainty(batch: &BatchContext, ctx: &ToolContext, error: ToolError) -> ToolError {
    let is_retry_safe =
        || batch.tools.definition(ctx.tool_name()).is_none_or(ToolDefinition::is_retry_safe);
    match error.kind() {
        ToolErrorKind::Cancelled | ToolErrorKind::Timeout if ctx.attempts() == 0 => {
            error.append_text(" It was not run.")
        }
        ToolErrorKind::Cancelled | ToolErrorKind::Panicked | ToolErrorKind::Timeout
            if !is_retry_safe() =>
        {
            error.append_text(" It may have had effects.")
        }
        _ => error,
    }
}
