//! Makes an attempt under the attempt hooks of the policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::dispatch::attempt::attempt_hook::{Attempt, AttemptAction, AttemptHooks, OpenAttempt};
use crate::dispatch::attempt::invoke::invoke;
use crate::dispatch::attempt::{end_attempt, within_time_limit};
use crate::dispatch::call::call_context::CallContext;
use crate::dispatch::call::call_record::{CallRecord, CallResult};
use crate::event::BlockReason;
use crate::guard::await_guarded;
use crate::tool::{ToolContext, ToolError, ToolErrorKind};

/// Makes one attempt, unless a hook refuses it or has made it elsewhere.
pub(crate) async fn run_hooked_attempt(call: &mut CallContext<'_>) -> CallResult {
    let arguments = call.validated()?.clone();
    let CallContext { batch, entry, ctx, .. } = *call;
    let hooks = &batch.state.policy.attempt_hooks;
    let open = Arc::new(OpenAttempt {
        definition: Arc::clone(entry.shared_definition()),
        arguments,
        key: ctx.idempotency_key(),
        number: ctx.attempts() + 1,
        entered: AtomicUsize::new(0),
        is_refused: AtomicBool::new(false),
    });
    call.record.open_attempt = Some(Arc::clone(&open));
    let mut result = {
        let _end_work = ctx.end_work_on_drop();
        let invocation = invoke_under(hooks, &open, call);
        match entry.definition().timeout {
            None => {
                ctx.begin_attempt(None);
                invocation.await
            }
            Some(limit) => within_time_limit(entry, ctx, limit, invocation).await,
        }
    };
    end_attempt(ctx, call.record).await;
    if open.is_refused.load(Ordering::Relaxed) {
        ctx.uncount_attempt();
        if ctx.attempts() == 0 {
            result = result.map_err(|error| call.record.block((BlockReason::AttemptHook, error)));
        }
    }
    // From here on, nothing else passes a result to the hooks.
    call.record.open_attempt = None;
    hooks.after_attempt(&open, ctx, &result, call.record).await;
    result
}

async fn invoke_under(
    hooks: &AttemptHooks,
    open: &OpenAttempt,
    call: &CallContext<'_>,
) -> CallResult {
    let CallContext { entry, ctx, .. } = *call;
    let attempt = Attempt { open, ctx };
    for hook in &hooks.0 {
        let action = await_guarded(|| hook.before_attempt(&attempt)).await;
        let (reason, panic) = match action {
            Ok(AttemptAction::Run) => {
                open.entered.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok(AttemptAction::Return(result)) => return result,
            Ok(AttemptAction::Refuse(reason)) => (reason, None),
            Err(panic) => ("an attempt hook panicked".to_owned(), Some(panic)),
        };
        open.is_refused.store(true, Ordering::Relaxed);
        let text = match open.number {
            1 => format!("The call was refused: {reason}"),
            _ => format!("The call was not tried again: {reason}"),
        };
        let error = ToolError::new(ToolErrorKind::Denied, text);
        return Err(match panic {
            Some(panic) => error.with_source(format!("an attempt hook {panic}")),
            None => error,
        });
    }
    invoke(entry.tool().as_ref(), call.arguments(), ctx).await
}

impl AttemptHooks {
    /// Passes the result of an attempt to the hooks that let it run, in reverse order.
    pub(crate) async fn after_attempt(
        &self,
        open: &OpenAttempt,
        ctx: &ToolContext,
        result: &CallResult,
        record: &mut CallRecord,
    ) {
        let attempt = Attempt { open, ctx };
        let entered = open.entered.load(Ordering::Relaxed);
        for hook in self.0.iter().take(entered).rev() {
            record.start_hook();
            let ended = await_guarded(|| hook.after_attempt(&attempt, result.as_ref())).await;
            record.end_hook(ended.err());
        }
    }
}
