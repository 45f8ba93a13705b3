//! Attempt hooks: code of the program that runs directly before and after each attempt.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use async_trait::async_trait;
use tokio::time::Instant;

use crate::message::ToolCall;
use crate::tool::{
    RunContext, SuspendedCall, ToolContext, ToolDefinition, ToolError, ToolOutput,
    ValidatedArguments,
};

/// Runs before and after each attempt of a call, for journals and for tools that run elsewhere.
///
/// An [interceptor](crate::dispatch::Interceptor) runs before all other stages of the policy. An
/// attempt hook runs after them: the call is authorized and admitted, and the tool is invoked next,
/// with exactly the arguments that the hook receives. A call that the policy blocks, or whose
/// output is cached, has no attempt; a call that is retried has several.
///
/// If there are several hooks, the first one is the outermost:
/// [`before_attempt`](Self::before_attempt) runs in the order in which they were
/// [added](crate::Policy::attempt_hook), [`after_attempt`](Self::after_attempt) in the reverse
/// order, for those hooks whose `before_attempt` returned [`AttemptAction::Run`]. A hook that
/// panics before an attempt refuses it. A hook that panics after an attempt, or does not end in
/// time, does not change the result; [`cause`](crate::ToolExecution::cause) has the failure.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tool_runtime::dispatch::{Attempt, AttemptAction, AttemptHook};
/// use tool_runtime::{
///     Dispatcher, Policy, Registry, ToolCall, ToolError, ToolOutput, async_trait, tool, tools,
/// };
///
/// /// Records in order when attempts start and end.
/// #[derive(Clone, Default)]
/// struct Journal(Arc<Mutex<Vec<String>>>);
///
/// #[async_trait]
/// impl AttemptHook for Journal {
///     async fn before_attempt(&self, attempt: &Attempt<'_>) -> AttemptAction {
///         let (tool, json) = (&attempt.definition().name, attempt.arguments().json().to_text());
///         self.0.lock().unwrap().push(format!("{tool} {json} starts"));
///         AttemptAction::Run
///     }
///
///     async fn after_attempt(
///         &self,
///         attempt: &Attempt<'_>,
///         result: Result<&ToolOutput, &ToolError>,
///     ) {
///         let is_success = result.is_ok();
///         self.0.lock().unwrap().push(format!("{}: {is_success}", attempt.definition().name));
///     }
/// }
///
/// /// Pays a person.
/// #[tool]
/// async fn pay(to: String, amount: u32) -> String {
///     format!("{to} received {amount}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let journal = Journal::default();
/// let policy = Policy::new().attempt_hook(journal.clone());
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(policy);
/// dispatcher.dispatch(vec![ToolCall::new("1", "pay", r#"{"to":"Ada","amount":5}"#)]).await;
/// assert_eq!(
///     *journal.0.lock().unwrap(),
///     [r#"pay {"to":"Ada","amount":5} starts"#, "pay: true"],
/// );
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `AttemptHook`",
    label = "implement `AttemptHook` for a type of your own, under `#[async_trait]`"
)]
#[async_trait]
pub trait AttemptHook: Send + Sync {
    /// Runs before an attempt and decides whether the tool is invoked.
    ///
    /// The time limit of the tool includes this method.
    ///
    /// # Cancellation
    /// The future is dropped if the call is cancelled or a deadline passes. The call then counts as
    /// started, because the hook may have run the tool elsewhere.
    async fn before_attempt(&self, attempt: &Attempt<'_>) -> AttemptAction;

    /// Runs after an attempt, with its result before redaction. Default: does nothing.
    ///
    /// If the attempt timed out, the call was cancelled, or the deadline of its batch passed, the
    /// result is the corresponding error. The tool may have had effects nevertheless. If the future
    /// of the dispatcher is dropped or the process ends, this method is not called: an attempt that
    /// has started and not ended may have had effects.
    ///
    /// # Cancellation
    /// The future is dropped if the call is cancelled or a deadline passes while it runs. After an
    /// attempt that was stopped, it is dropped a second later.
    async fn after_attempt(&self, attempt: &Attempt<'_>, result: Result<&ToolOutput, &ToolError>) {
        let _ = (attempt, result);
    }
}

/// One attempt of a call, as an [`AttemptHook`] sees it.
///
/// `Debug` omits the arguments, which may contain secrets.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::dispatch::{Attempt, AttemptAction, AttemptHook};
///
/// /// Refuses to retry deployments.
/// struct OnceOnly;
///
/// #[async_trait]
/// impl AttemptHook for OnceOnly {
///     async fn before_attempt(&self, attempt: &Attempt<'_>) -> AttemptAction {
///         match (attempt.definition().name.as_str(), attempt.number()) {
///             ("deploy", 2..) => AttemptAction::Refuse("deployments are not repeated".into()),
///             _ => AttemptAction::Run,
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    pub(crate) open: &'a OpenAttempt,
    pub(crate) ctx: &'a ToolContext,
}

impl<'a> Attempt<'a> {
    /// Returns the call, as the interceptors have changed it.
    pub fn call(&self) -> &'a ToolCall {
        self.ctx.call()
    }

    /// Returns the definition of the tool.
    pub fn definition(&self) -> &'a ToolDefinition {
        &self.open.definition
    }

    /// Returns the arguments that the tool receives, including secrets, as a value and as the exact
    /// JSON text.
    pub fn arguments(&self) -> &'a ValidatedArguments {
        &self.open.arguments
    }

    /// Returns the [idempotency key](ToolContext::idempotency_key) of the call: the same for each
    /// attempt, also after a crash if the run is resumed.
    pub fn idempotency_key(&self) -> &'a str {
        &self.open.key
    }

    /// Returns the number of the attempt, from 1.
    pub fn number(&self) -> u32 {
        self.open.number
    }

    /// Returns the run and the session that the call belongs to.
    pub fn run_context(&self) -> RunContext<'a> {
        self.ctx.run_context()
    }

    /// Returns when the attempt times out; `None` if it has no time limit.
    pub fn deadline(&self) -> Option<Instant> {
        self.ctx.deadline()
    }

    /// Returns what the tool continues with, if its call was
    /// [suspended](ToolError::suspended) before.
    pub fn resumed(&self) -> Option<&'a SuspendedCall> {
        self.ctx.resumed()
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("call", &self.call().id)
            .field("tool", &self.definition().name)
            .field("number", &self.number())
            .finish_non_exhaustive()
    }
}

/// The decision of an [`AttemptHook`] before an attempt.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::dispatch::AttemptAction;
///
/// let from_a_worker = AttemptAction::Return(Ok(ToolOutput::text("4 degrees")));
/// assert!(matches!(from_a_worker, AttemptAction::Return(Ok(_))));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AttemptAction {
    /// Invokes the tool in this process.
    Run,
    /// Refuses the attempt for this reason, which the model receives. The tool is not invoked, and
    /// the call is not tried again.
    Refuse(String),
    /// Uses this result instead of invoking the tool, such as the result of a worker. An error may
    /// be retried, like an error of the tool.
    Return(Result<ToolOutput, ToolError>),
}

/// The attempt hooks of a policy, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct AttemptHooks(pub(crate) Vec<Arc<dyn AttemptHook>>);

impl AttemptHooks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, hook: Arc<dyn AttemptHook>) {
        self.0.push(hook);
    }
}

impl fmt::Debug for AttemptHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.len().fmt(f)
    }
}

/// An attempt whose result the hooks have not received yet.
pub(crate) struct OpenAttempt {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) arguments: ValidatedArguments,
    pub(crate) key: String,
    pub(crate) number: u32,
    /// The number of hooks that let the attempt run: these receive its result.
    pub(crate) entered: AtomicUsize,
    pub(crate) is_refused: AtomicBool,
}
