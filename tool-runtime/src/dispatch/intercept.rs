//! Interceptors: code of the program that runs before and after each call.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::call_record::{CallRecord, CallResult};
use crate::event::{BlockReason, ToolExecution};
use crate::guard::{CatchPanic, Panic};
use crate::message::ToolCall;
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// Middleware around each call: it may change, answer or block the call, and change its execution.
///
/// Of several interceptors the first is the outermost: [`before_call`](Self::before_call) runs in
/// the order in which they were [added](crate::Policy::interceptor),
/// [`after_call`](Self::after_call) in the reverse order. An interceptor that panics before a call
/// blocks it, since its check is incomplete; a panic after a call is ignored.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{InterceptAction, Interceptor};
/// use tool_runtime::{
///     Dispatcher, Policy, Registry, ToolCall, ToolExecution, async_trait, tool, tools,
/// };
///
/// /// Blocks writes, and marks every result.
/// struct ReadOnly;
///
/// #[async_trait]
/// impl Interceptor for ReadOnly {
///     async fn before_call(&self, call: &mut ToolCall) -> InterceptAction {
///         match call.name.as_str() {
///             "write" => InterceptAction::Block("writes are disabled".into()),
///             _ => InterceptAction::Run,
///         }
///     }
///
///     async fn after_call(&self, execution: &mut ToolExecution) {
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
    note = "a closure can't be an interceptor: an interceptor has one method before the call and one after it"
)]
#[async_trait]
pub trait Interceptor: Send + Sync {
    /// Runs before the name of a call is resolved, and decides how the call proceeds.
    ///
    /// The interceptor may change the call, except for its id. Whether the call is sequential is
    /// decided earlier, by the original name. Default: the call runs.
    async fn before_call(&self, call: &mut ToolCall) -> InterceptAction {
        let _ = call;
        InterceptAction::Run
    }

    /// Runs after a call, also after one that was blocked or answered, and may change the
    /// execution.
    ///
    /// The run waits for this method; no timeout applies to it. Default: the execution stays
    /// unchanged.
    async fn after_call(&self, execution: &mut ToolExecution) {
        let _ = execution;
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
pub(super) struct Interceptors(Vec<Arc<dyn Interceptor>>);

impl Interceptors {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, interceptor: Arc<dyn Interceptor>) {
        self.0.push(interceptor);
    }

    /// Runs the interceptors before a call. Returns its result if one of them answered or blocked
    /// it.
    pub(super) async fn before_call(
        &self,
        call: &mut ToolCall,
        record: &mut CallRecord,
    ) -> Option<CallResult> {
        let id = call.id.clone();
        for interceptor in &self.0 {
            let panicked =
                |Panic(_)| InterceptAction::Block("what looks after calls has crashed".into());
            let action = CatchPanic::new(|| interceptor.before_call(call), panicked).await;
            call.id.clone_from(&id);
            match action {
                InterceptAction::Run => {}
                InterceptAction::Return(output) => return Some(Ok(output)),
                InterceptAction::Block(reason) => {
                    let text = format!("The call was blocked: {reason}");
                    let error = ToolError::new(ToolErrorKind::Denied, text);
                    return Some(Err(record.block((BlockReason::Interceptor, error))));
                }
            }
        }
        None
    }

    /// Runs the interceptors after a call, in reverse order.
    pub(super) async fn after_call(&self, mut execution: ToolExecution) -> ToolExecution {
        let id = execution.result.call.clone();
        for interceptor in self.0.iter().rev() {
            CatchPanic::new(|| interceptor.after_call(&mut execution), |Panic(_)| ()).await;
            execution.call.id.clone_from(&id);
            execution.result.call.clone_from(&id);
        }
        execution
    }
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())
    }
}
