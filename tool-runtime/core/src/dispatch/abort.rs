//! Aborting a batch: a failed or blocked call may end the other calls of its reply.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event::{BlockReason, ToolExecution};
use crate::tool::{ToolError, ToolErrorKind};

/// Decides whether the rest of a batch still runs.
#[derive(Debug, Default)]
pub(super) struct AbortState {
    on_failure: bool,
    on_block: bool,
    is_aborted: AtomicBool,
}

impl AbortState {
    pub(super) fn new(on_failure: bool, on_block: bool) -> Self {
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
pub(super) fn aborts(on_failure: bool, on_block: bool, execution: &ToolExecution) -> bool {
    let model_errors = [ToolErrorKind::InvalidArguments, ToolErrorKind::NotFound];
    match execution.blocked_by {
        Some(BlockReason::Pending | BlockReason::Batch) => false,
        Some(_) => on_block,
        None => {
            on_failure
                && execution.is_failure()
                && !model_errors.iter().any(|kind| execution.failed_with(kind.code()))
        }
    }
}

/// A batch that one of its calls aborted, as [`Dispatcher::try_dispatch`] returns it.
///
/// See [`Policy::abort_on_failure`](crate::Policy::abort_on_failure) and
/// [`Policy::abort_on_block`](crate::Policy::abort_on_block).
///
/// ```
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
/// let policy = Policy::new().abort_on_failure();
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
