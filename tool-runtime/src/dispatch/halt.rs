//! When a failure or a refusal ends the rest of a batch.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event::{Gate, ToolExecution};
use crate::tool::{ToolError, ToolErrorKind};

/// What a failure of one call means for the others of its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing: every call runs, and the model is told what came of each.
    #[default]
    Collect,
    /// What hasn't begun doesn't, and the run ends. What has begun is let finish: half a piece of
    /// work is worse than one too many.
    ///
    /// Unknown names and wrong arguments are no failure of a tool: the model is told, and mends them.
    Throw,
}

/// What it means for the others that one call was held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBlock {
    /// Nothing: the model is told.
    #[default]
    Continue,
    /// What hasn't begun doesn't, and the run ends.
    Stop,
}

/// Whether the rest of a batch is still to run.
#[derive(Debug, Default)]
pub(super) struct Halt {
    on_failure: OnFailure,
    on_block: OnBlock,
    is_halted: AtomicBool,
}

impl Halt {
    pub(super) fn new(on_failure: OnFailure, on_block: OnBlock) -> Self {
        Self { on_failure, on_block, is_halted: AtomicBool::new(false) }
    }

    /// What came of a call.
    pub(super) fn note(&self, execution: &ToolExecution) {
        if halts(self.on_failure, self.on_block, execution) {
            self.is_halted.store(true, Ordering::Release);
        }
    }

    /// Whether a call may begin.
    pub(super) fn check(&self) -> Result<(), (Gate, ToolError)> {
        if !self.is_halted.load(Ordering::Acquire) {
            return Ok(());
        }
        let text = "Not run: another call of the same reply failed or was not allowed.";
        Err((Gate::Batch, ToolError::new(ToolErrorKind::Cancelled, text)))
    }
}

/// Whether this ends the batch. What the model did wrong is no failure of the work: it may mend it.
pub(super) fn halts(on_failure: OnFailure, on_block: OnBlock, execution: &ToolExecution) -> bool {
    let is_models_fault = [ToolErrorKind::Validation, ToolErrorKind::NotFound];
    match execution.blocked_by {
        Some(Gate::Pending | Gate::Batch) => false,
        Some(_) => on_block == OnBlock::Stop,
        None => {
            on_failure == OnFailure::Throw
                && execution.is_failure()
                && !is_models_fault.iter().any(|kind| execution.failed_with(kind.code()))
        }
    }
}

/// A batch that was ended by one of its calls.
#[derive(Debug)]
#[non_exhaustive]
pub struct Halted {
    /// What became of every call, in their order.
    pub executions: Vec<ToolExecution>,
    /// Which of them ended it.
    pub at: usize,
}

impl fmt::Display for Halted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.executions.get(self.at) {
            Some(execution) => {
                let (tool, text) = (&execution.call.name, &execution.result.text);
                write!(f, "the call of `{tool}` ended its batch: {text}")
            }
            None => f.write_str("a call ended its batch"),
        }
    }
}

impl Error for Halted {}
