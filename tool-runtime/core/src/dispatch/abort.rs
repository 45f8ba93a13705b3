//! Aborting a batch: a failed or blocked call may end the other calls of its reply.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event::{BlockReason, ToolExecution};
use crate::tool::{ToolError, ToolErrorKind};

/// Sets what a failed call means for the other calls of its reply.
///
/// ```
/// use tool_runtime::dispatch::OnFailure;
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
///
/// /// Fails.
/// #[tool(sequential)]
/// async fn fail() -> Result<(), &'static str> {
///     Err("the disk is full")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![fail])?)
///     .policy(Policy::new().on_failure(OnFailure::Abort));
/// let calls = ["1", "2"].map(|id| ToolCall::new(id, "fail", "{}"));
/// let aborted = dispatcher.try_dispatch(calls.into()).await.unwrap_err();
/// assert_eq!(aborted.index, 0);
/// assert_eq!(aborted.executions[1].attempts, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The other calls run, and the model receives every result.
    #[default]
    Continue,
    /// Calls that have not started are cancelled, and an agent's run ends. Calls that have started
    /// finish: stopping them would leave half-done work.
    ///
    /// Unknown tool names and invalid arguments are not failures of a tool: the model receives them
    /// as results and can correct its calls.
    Abort,
}

/// Sets what a blocked call means for the other calls of its reply.
///
/// A call is blocked by an interceptor, a missing capability, a permission, an approver, an attempt
/// hook, a circuit breaker, a rate limit that leaves no time, or the limit of nested calls: see
/// [`BlockReason`](crate::event::BlockReason). A call that awaits approval does not count.
///
/// ```
/// use tool_runtime::Policy;
/// use tool_runtime::dispatch::OnBlock;
///
/// let policy = Policy::new().on_block(OnBlock::Abort);
/// assert!(format!("{policy:?}").contains("on_block: Abort"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBlock {
    /// The other calls run, and the model receives every result.
    #[default]
    Continue,
    /// Calls that have not started are cancelled, and an agent's run ends. Calls that have started
    /// finish.
    Abort,
}

/// Decides whether the rest of a batch still runs.
#[derive(Debug, Default)]
pub(super) struct AbortState {
    on_failure: OnFailure,
    on_block: OnBlock,
    is_aborted: AtomicBool,
}

impl AbortState {
    pub(super) fn new(on_failure: OnFailure, on_block: OnBlock) -> Self {
        Self { on_failure, on_block, is_aborted: AtomicBool::new(false) }
    }

    /// Records a finished call, which may abort the batch.
    pub(super) fn record(&self, execution: &ToolExecution) {
        if aborts(self.on_failure, self.on_block, execution) {
            self.is_aborted.store(true, Ordering::Release);
        }
    }

    /// Checks whether a call may start.
    pub(super) fn check(&self) -> Result<(), (BlockReason, ToolError)> {
        if !self.is_aborted.load(Ordering::Acquire) {
            return Ok(());
        }
        let text = "Not run: another call of the same reply failed or was not allowed.";
        Err((BlockReason::Batch, ToolError::new(ToolErrorKind::Cancelled, text)))
    }
}

/// Whether this execution aborts its batch. A mistake of the model is not a failure of the tool.
pub(super) fn aborts(on_failure: OnFailure, on_block: OnBlock, execution: &ToolExecution) -> bool {
    let model_errors = [ToolErrorKind::Validation, ToolErrorKind::NotFound];
    match execution.blocked_by {
        Some(BlockReason::Pending | BlockReason::Batch) => false,
        Some(_) => on_block == OnBlock::Abort,
        None => {
            on_failure == OnFailure::Abort
                && execution.is_failure()
                && !model_errors.iter().any(|kind| execution.failed_with(kind.code()))
        }
    }
}

/// A batch that one of its calls aborted, as [`Dispatcher::try_dispatch`] returns it.
///
/// See [`OnFailure::Abort`] and [`OnBlock::Abort`].
///
/// ```
/// use tool_runtime::dispatch::OnFailure;
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, ToolError, tool, tools};
///
/// /// Reads the weather report.
/// #[tool(effect = "read")]
/// async fn report() -> Result<String, ToolError> {
///     Err("the station is offline".into())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new().on_failure(OnFailure::Abort);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![report])?).policy(policy);
/// let calls = vec![ToolCall::new("1", "report", "{}")];
/// let aborted = dispatcher.try_dispatch(calls).await.unwrap_err();
/// assert_eq!(aborted.index, 0);
/// assert_eq!(
///     aborted.to_string(),
///     "batch aborted by call `1` of tool `report`: the station is offline",
/// );
/// # Ok(())
/// # }
/// ```
///
/// [`Dispatcher::try_dispatch`]: crate::Dispatcher::try_dispatch
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchError {
    /// The execution of every call, in the order of the calls.
    pub executions: Vec<ToolExecution>,
    /// The index of the execution that aborted the batch.
    pub index: usize,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.executions.get(self.index) {
            Some(execution) => {
                let (id, tool) = (&execution.call.id, &execution.call.name);
                let text = &execution.result.text;
                write!(f, "batch aborted by call `{id}` of tool `{tool}`: {text}")
            }
            None => write!(f, "batch aborted by the call with the index {}", self.index),
        }
    }
}

impl Error for BatchError {}
