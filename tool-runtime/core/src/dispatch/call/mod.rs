//! The path of one call, from its name to its execution, as a list of stages.
//!
//! 1. **Intercept**: interceptors may change or block the call, or return a result in its place
//!    (`intercept.rs`).
//! 2. **Resolve**: the name is resolved to a tool of the snapshot (`resolve.rs`).
//! 3. **Decode and validate**: the arguments are repaired and validated (`call_context.rs`): here
//!    if stage 4 or 5 examines them, otherwise after stage 4. A tool that decodes its arguments
//!    itself does so in stage 7.
//! 4. **Authorize**: capabilities, permission, approval (`authorize.rs`).
//! 5. **Memoize**: the output of a pure tool is taken from the memo (`memo.rs`).
//! 6. **Admit**: breaker, rate limits, concurrency limits (`admission.rs`).
//! 7. **Execute**: the tool is invoked (`attempt.rs`, `invoke.rs`), with retries (`retries.rs`) and
//!    under attempt hooks (`hooked_attempt.rs`).
//! 8. **Record**: the execution is built, redacted and truncated, and interceptors see it
//!    (`record.rs`).
//!
//! The deadline and the cancellation of the batch stop the stages 1 to 7; the hooks of stage 8 have
//! a short time more (`stop.rs`).

pub(crate) mod call_context;
pub(crate) mod call_record;
pub(crate) mod emitted_ends;
pub(crate) mod finish_guard;
pub(crate) mod intercept;
pub(crate) mod record;
pub(crate) mod resolve;
pub(crate) mod resumed;
#[cfg(feature = "tracing")]
pub(crate) mod traced;
pub(crate) mod unknown_tool;

use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use super::attempt::{end_attempt, run_attempt, with_availability};
use super::context::BatchContext;
use super::memo::{MemoKey, is_memoized};
use crate::dispatch::approval::authorize::{authorize, examines_arguments, tool_permission};
use crate::dispatch::attempt::retries::run_attempts;
use crate::dispatch::attempt::stop::{until_grace_ends, until_stopped, with_certainty};
use crate::dispatch::call::call_context::CallContext;
use crate::dispatch::call::call_record::{CallRecord, CallResult};
use crate::dispatch::call::emitted_ends::EndClaim;
use crate::dispatch::call::intercept::PendingChanges;
use crate::dispatch::call::record::{emit_end, into_execution};
use crate::dispatch::call::resolve::resolve;
use crate::dispatch::limits::admission::Admission;
use crate::event::{ToolExecution, micros};
use crate::guard::BoxFuture;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::{CallWork, ToolContext, ToolError, ToolOutput};

/// Runs one call and emits its events. `end` is set if observers receive its end.
///
/// A call that no policy applies to skips the stages 1 to 6. So its future stays small: a future is
/// moved before it runs, with space for everything that it might await, so the rarely needed stages
/// are in a box, whose type is erased ([`BoxFuture`]). For the same reason, the call is in its
/// final place from the beginning; an `async fn` would keep its parameters twice.
pub(super) fn run_call(
    batch: &Arc<BatchContext>,
    call: ToolCall,
    work: OnceLock<Arc<CallWork>>,
    end: Option<EndClaim>,
) -> impl Future<Output = ToolExecution> + Send {
    let mut ctx = ToolContext::with_host(Arc::clone(batch) as _, call, work);
    async move {
        let started = Instant::now();
        batch.scope.collect_secrets(ctx.call());
        if batch.scope.observers.need_all() {
            batch.scope.emit(|| batch.started_event(ctx.call()));
        }
        let mut record = CallRecord::default();
        let result = match batch.unrestricted_tool(ctx.call()) {
            // The fast path.
            Some(entry) => {
                let result = if batch.scope.cancellation.is_some() {
                    run_cancellable_attempt(batch, entry, &ctx, &mut record).await
                } else {
                    run_attempt(&mut CallContext::new(batch, entry, &ctx, &mut record)).await
                };
                result.map_err(|error| with_availability(batch, entry, error))
            }
            None => run_with_policy(batch, &mut ctx, &mut record).await,
        };
        let result = result.map_err(|error| with_certainty(batch, &ctx, error));

        let metadata = ctx.changed_metadata().cloned();
        let mut execution = into_execution(batch, ctx, result, record);
        execution.started_at = batch.scope.clock.at(started);
        execution.duration = micros::truncate(started.elapsed());
        let interceptors = &batch.state.policy.interceptors;
        if !interceptors.is_empty() {
            let run = batch.run_context().with_metadata(metadata.as_deref());
            execution = Box::pin(interceptors.after_call(batch, execution, run)).await;
            batch.clean_result(&mut execution);
        }
        batch.abort.record(&execution);
        if end.is_some_and(|end| end.claim()) {
            emit_end(&batch.scope, &execution);
        }
        execution
    }
}

/// Runs the only attempt of a call that can be cancelled from outside.
fn run_cancellable_attempt<'c>(
    batch: &'c BatchContext,
    entry: &'c Entry,
    ctx: &'c ToolContext,
    record: &'c mut CallRecord,
) -> BoxFuture<'c, CallResult> {
    Box::pin(async move {
        let result = {
            let mut call = CallContext::new(batch, entry, ctx, record);
            until_stopped(batch, run_attempt(&mut call), |end| ctx.end(end)).await
        };
        // An attempt that was dropped may have left spawned work behind.
        end_attempt(ctx, record).await;
        result
    })
}

/// Runs a call under the whole policy.
fn run_with_policy<'c>(
    batch: &'c BatchContext,
    ctx: &'c mut ToolContext,
    record: &'c mut CallRecord,
) -> BoxFuture<'c, CallResult> {
    Box::pin(async move {
        let mut changes = PendingChanges::default();
        let intercepted = intercept(batch, ctx.call_mut(), &mut changes, record).await;
        changes.apply(ctx, record);
        let mut result = match intercepted {
            Some(result) => result,
            None => {
                let ctx = &*ctx;
                let stages = run_stages(batch, ctx, record);
                let result = until_stopped(batch, stages, |end| ctx.end(end)).await;
                // An attempt that was dropped may have left spawned work behind.
                end_attempt(ctx, record).await;
                if let Some(open) = record.open_attempt.take() {
                    let hooks = &batch.state.policy.attempt_hooks;
                    let after = hooks.after_attempt(&open, ctx, &result, record);
                    until_grace_ends(batch, after).await;
                }
                result
            }
        };
        if ctx.attempts() == 0 {
            result = result.map_err(|error| batch.indeterminate_if_resumed(ctx.call(), error));
        }
        result
    })
}

/// Runs the stages from the name of a call to its result.
async fn run_stages(
    batch: &BatchContext,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> CallResult {
    let entry = resolve(batch, ctx.call(), record)?;
    let mut call = CallContext::new(batch, entry, ctx, record);
    let permission = tool_permission(&mut call)?;
    // The output of a resumed call depends on its state.
    let is_resumed = batch.resumed_call(ctx.call()).is_some();
    let is_memoized = is_memoized(entry.definition()) && !is_resumed;
    if is_memoized || is_resumed || examines_arguments(batch, permission) {
        call.validated()?;
    }
    authorize(&mut call, permission).await?;
    batch.check_answered(ctx.call(), entry)?;
    if batch.state.policy.attempt_hooks.is_empty() {
        call.ensure_validated()?;
    } else {
        // The hooks see what the tool receives.
        call.validated()?;
    }
    if is_memoized { memoize(&mut call).await } else { admit_and_execute(&mut call).await }
}

/// Runs the interceptors before a call. Returns a result if one of them blocked the call or
/// returned a result in its place.
async fn intercept(
    batch: &BatchContext,
    call: &mut ToolCall,
    changes: &mut PendingChanges,
    record: &mut CallRecord,
) -> Option<CallResult> {
    let interceptors = &batch.state.policy.interceptors;
    if interceptors.is_empty() {
        return None;
    }
    record.original_call = Some(Box::new(call.clone()));
    let action = interceptors.before_call(call, batch.run_context(), changes, record);
    let result = until_stopped(batch, async { Ok(action.await) }, |_| ()).await;
    batch.scope.collect_secrets(call);
    result.unwrap_or_else(|error| Some(Err(error)))
}

/// Runs a pure tool, unless the memo has its output for these arguments.
async fn memoize(call: &mut CallContext<'_>) -> CallResult {
    let CallContext { batch, entry, .. } = *call;
    let Some(validated) = &call.validated else { return admit_and_execute(call).await };
    let arguments = validated.canonical();
    let key = MemoKey { run: batch.memo_run(), entry, arguments, may_wait: batch.is_outermost() };
    let run = admit_and_execute(call);
    let (result, is_cached) = batch.state.memo.get_or_run(key, run).await;
    call.record.is_cached = is_cached;
    if is_cached { result.map(ToolOutput::without_usage) } else { result }
}

/// Waits for the limits that apply to the call, and invokes the tool.
async fn admit_and_execute(call: &mut CallContext<'_>) -> CallResult {
    let admission = admit(call).await?;
    run_attempts(call, admission).await
}

/// Waits for the limits that apply to the call.
async fn admit<'c>(call: &mut CallContext<'c>) -> Result<Option<Box<Admission<'c>>>, ToolError> {
    let CallContext { batch, entry, ctx, .. } = *call;
    if !Admission::is_needed(batch, entry) {
        return Ok(None);
    }
    let is_resumed = ctx.suspended_call().is_some();
    let admitted = Box::pin(Admission::acquire(batch, entry, is_resumed)).await;
    admitted.map(Some).map_err(|blocked| call.record.block(blocked))
}
