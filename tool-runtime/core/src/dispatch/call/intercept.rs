//! Interceptors: code of the program that runs before and after each call.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::dispatch::attempt::stop::until_grace_ends;
use crate::dispatch::call::call_record::{CallRecord, CallResult};
use crate::dispatch::call::record::add_cause;
use crate::dispatch::context::BatchContext;
use crate::event::{BlockReason, RunChanges, ToolExecution};
use crate::guard::await_guarded;
use crate::message::{ToolCall, ToolResult};
use crate::tool::{RunContext, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Middleware around each call: it may change or block the call, return a result in its place, and
/// change its execution.
///
/// Of several interceptors the first is the outermost: [`before_call`](Self::before_call) runs in
/// the order in which they were [added](crate::Policy::interceptor),
/// [`after_call`](Self::after_call) in the reverse order. An interceptor that panics before a call
/// blocks it, because its check is incomplete. If an interceptor panics after a call, or does not
/// end in time, the model does not receive the result, because the interceptor may have been about
/// to remove a part of it.
///
/// If the run pauses for a decision on a call, the interceptors run again when the run resumes.
///
/// An interceptor does not change the conversation: to edit the messages of a request, use a
/// [`ModelHook`](crate::agent::ModelHook).
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor};
/// use tool_runtime::{
///     Dispatcher, Policy, Registry, RunContext, ToolCall, ToolExecution, async_trait, tool,
///     tools,
/// };
///
/// /// Blocks writes, and marks every result.
/// struct ReadOnly;
///
/// #[async_trait]
/// impl Interceptor for ReadOnly {
///     async fn before_call(
///         &self,
///         call: &mut ToolCall,
///         _: &mut InterceptContext<'_>,
///     ) -> InterceptAction {
///         match call.name.as_str() {
///             "write" => InterceptAction::Block("writes are disabled".into()),
///             _ => InterceptAction::Run,
///         }
///     }
///
///     async fn after_call(&self, execution: &mut ToolExecution, _: &RunContext<'_>) {
///         execution.result.text.push_str(" (read-only mode)");
///     }
/// }
///
/// /// Returns the time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "midnight"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new().interceptor(ReadOnly);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![now])?).policy(policy);
/// let calls = ["now", "write"].map(|name| ToolCall::new(name, name, "{}"));
/// let executions = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(executions[0].result.text, "midnight (read-only mode)");
/// let text = "The call was blocked: writes are disabled (read-only mode)";
/// assert_eq!(executions[1].result.text, text);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't intercept calls",
    label = "implement `Interceptor` for a type of your own, under `#[async_trait]`",
    note = "for a closure that runs before each call, call `Policy::before_call`"
)]
#[async_trait]
pub trait Interceptor: Send + Sync {
    /// Runs before the name of a call is resolved, and decides how the call proceeds.
    ///
    /// The interceptor may change the call, except for its id. Whether the call is sequential is
    /// decided earlier, by the original name. Default: the call runs.
    ///
    /// `call.name` is the name as the model sent it: the model-visible or the
    /// [full name](crate::ToolDefinition::full_name) of a tool. To deny a tool by each of its
    /// names, use [`Permissions::tool`](crate::dispatch::Permissions::tool).
    async fn before_call(
        &self,
        call: &mut ToolCall,
        ctx: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        let _ = (call, ctx);
        InterceptAction::Run
    }

    /// Runs after a call, even if the call was blocked or an interceptor returned its result, and
    /// may change the execution.
    ///
    /// Default: the execution stays unchanged.
    ///
    /// # Cancellation
    /// The future is dropped a second after the run is cancelled or a deadline of the run or its
    /// batch passes. The model then receives a notice that the result is withheld, and
    /// [`cause`](ToolExecution::cause) contains the reason.
    async fn after_call(&self, execution: &mut ToolExecution, ctx: &RunContext<'_>) {
        let _ = (execution, ctx);
    }
}

/// Returns an interceptor that calls a function before each call.
pub(crate) fn before_function(
    intercept: impl Fn(&mut ToolCall, &mut InterceptContext<'_>) -> InterceptAction
    + Send
    + Sync
    + 'static,
) -> impl Interceptor {
    struct BeforeFunction<F>(F);

    #[async_trait]
    impl<F> Interceptor for BeforeFunction<F>
    where
        F: Fn(&mut ToolCall, &mut InterceptContext<'_>) -> InterceptAction + Send + Sync,
    {
        async fn before_call(
            &self,
            call: &mut ToolCall,
            ctx: &mut InterceptContext<'_>,
        ) -> InterceptAction {
            (self.0)(call, ctx)
        }
    }

    BeforeFunction(intercept)
}

/// The run that a call belongs to, and the changes that an interceptor makes to it before the call.
///
/// ```
/// use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor};
/// use tool_runtime::{ToolCall, async_trait};
///
/// /// Blocks mails in the turns after a page was fetched, and ends the run after a payment.
/// struct Guard;
///
/// #[async_trait]
/// impl Interceptor for Guard {
///     async fn before_call(
///         &self,
///         call: &mut ToolCall,
///         ctx: &mut InterceptContext<'_>,
///     ) -> InterceptAction {
///         let has_fetched = ctx.metadata().contains_key("has_fetched");
///         match call.name.as_str() {
///             "send_mail" if has_fetched => {
///                 return InterceptAction::Block("a page was fetched before".into());
///             }
///             "fetch_page" => ctx.set_metadata("has_fetched", true),
///             "pay" => ctx.request_stop("a payment was requested"),
///             _ => {}
///         }
///         InterceptAction::Run
///     }
/// }
/// ```
#[derive(Debug)]
pub struct InterceptContext<'a> {
    run: RunContext<'a>,
    changes: PendingChanges,
}

/// The changes that the interceptors of one call make to the run.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    /// All metadata of the run, once a member was changed.
    metadata: Option<Map<String, Value>>,
    record: RunChanges,
}

impl InterceptContext<'_> {
    /// Returns the agent, the run and the session that the call belongs to. The metadata includes
    /// the changes of the interceptors before this one.
    pub fn run_context(&self) -> RunContext<'_> {
        self.run.with_metadata(self.changes.metadata.as_ref())
    }

    /// Returns the metadata of the run, with the changes of the interceptors before this one.
    pub fn metadata(&self) -> &Map<String, Value> {
        self.run_context().metadata()
    }

    /// Sets a member of the [metadata](RunContext::metadata) of the run; null removes it.
    ///
    /// The call itself and its nested calls see the change at once. The run has it from its next
    /// step on; other calls of the same reply don't see it.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let (key, value) = (key.into(), value.into());
        let base = self.run.metadata();
        let metadata = self.changes.metadata.get_or_insert_with(|| base.clone());
        match &value {
            Value::Null => drop(metadata.remove(&key)),
            value => drop(metadata.insert(key.clone(), value.clone())),
        }
        self.changes.record.metadata.insert(key, value);
    }

    /// Requests the end of the run, once the calls of this reply have their results.
    ///
    /// The run then stops with
    /// [`StopReason::StopRequested`](crate::StopReason::StopRequested). The request does not block
    /// the call. If several calls of a reply request the end, the first reason counts.
    pub fn request_stop(&mut self, reason: impl Into<String>) {
        self.changes.record.stop.get_or_insert_with(|| reason.into());
    }
}

impl PendingChanges {
    /// Applies the changes to the context of the call, and records them for the run.
    pub(crate) fn apply(self, ctx: &mut ToolContext, record: &mut CallRecord) {
        if let Some(metadata) = self.metadata {
            ctx.set_metadata(metadata);
        }
        if self.record != RunChanges::default() {
            record.run_changes = Some(Box::new(self.record));
        }
    }
}

/// The decision of an interceptor before a call.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::dispatch::InterceptAction;
///
/// let cached = InterceptAction::Return(ToolOutput::text("4 degrees"));
/// assert_ne!(cached, InterceptAction::Run);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InterceptAction {
    /// Runs the call as usual.
    Run,
    /// Uses this output as the result; the tool is not invoked.
    Return(ToolOutput),
    /// Blocks the call for this reason, which the model receives.
    Block(String),
}

/// The interceptors of a policy, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Interceptors(Vec<Arc<dyn Interceptor>>);

impl Interceptors {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, interceptor: Arc<dyn Interceptor>) {
        self.0.push(interceptor);
    }

    /// Runs the interceptors before a call. Returns a result if one of them blocked the call or
    /// returned a result in its place.
    pub(crate) async fn before_call(
        &self,
        call: &mut ToolCall,
        run: RunContext<'_>,
        changes: &mut PendingChanges,
        record: &mut CallRecord,
    ) -> Option<CallResult> {
        let id = call.id.clone();
        for interceptor in &self.0 {
            let mut ctx = InterceptContext { run, changes: std::mem::take(changes) };
            let action = await_guarded(|| interceptor.before_call(call, &mut ctx)).await;
            *changes = ctx.changes;
            call.id.clone_from(&id);
            let blocked = |reason: &str| {
                ToolError::new(ToolErrorKind::Denied, format!("The call was blocked: {reason}"))
            };
            let error = match action {
                Ok(InterceptAction::Run) => continue,
                Ok(InterceptAction::Return(output)) => return Some(Ok(output)),
                Ok(InterceptAction::Block(reason)) => blocked(&reason),
                Err(panic) => blocked("an interceptor panicked")
                    .with_source(format!("an interceptor {panic} before the call")),
            };
            return Some(Err(record.block((BlockReason::Interceptor, error))));
        }
        None
    }

    /// Runs the interceptors after a call, in reverse order.
    ///
    /// The result of a call is withheld if an interceptor panics or does not end in time, because
    /// it may have been about to remove a part of it.
    pub(crate) async fn after_call(
        &self,
        batch: &BatchContext,
        mut execution: ToolExecution,
        run: RunContext<'_>,
    ) -> ToolExecution {
        let id = execution.result.call.clone();
        for interceptor in self.0.iter().rev() {
            let hook = await_guarded(|| interceptor.after_call(&mut execution, &run));
            let failure = match until_grace_ends(batch, hook).await {
                Some(Ok(())) => None,
                Some(Err(panic)) => Some(format!("an interceptor {panic} after the call")),
                None => Some("an interceptor did not end after the call".to_owned()),
            };
            if let Some(failure) = failure {
                withhold_result(&mut execution, failure);
            }
            execution.call.id.clone_from(&id);
            execution.result.call.clone_from(&id);
        }
        execution
    }
}

/// Replaces the result of a call whose interceptor failed after it. The text of a blocked call has
/// nothing that an interceptor could have removed, and stays.
fn withhold_result(execution: &mut ToolExecution, failure: String) {
    add_cause(execution, failure);
    if execution.is_blocked() {
        return;
    }
    let ran = if execution.did_run() { " The tool has run." } else { "" };
    let text = format!("The result is withheld, because a check after the call failed.{ran}");
    let code = execution.result.error.take();
    let code = code.unwrap_or_else(|| ToolErrorKind::ExecutionFailed.code().into());
    execution.result = ToolResult::failure(&execution.call, code, text);
    execution.full_text = None;
    execution.protocol_error = None;
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())
    }
}
