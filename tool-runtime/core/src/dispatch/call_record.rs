//! The notes of one call, which become its execution.

use std::sync::Arc;

use super::attempt_hook::OpenAttempt;
use super::memo::WriteGuard;
use crate::event::{BlockReason, RunChanges};
use crate::message::{ToolCall, ToolKind};
use crate::tool::{ToolError, ToolOutput};

/// The output or the error of a call.
pub(super) type CallResult = Result<ToolOutput, ToolError>;

/// The notes that the stages of a call make for its execution.
#[derive(Default)]
pub(super) struct CallRecord {
    /// The call before the interceptors saw it, if there are any.
    pub(super) original_call: Option<Box<ToolCall>>,
    pub(super) run_changes: Option<Box<RunChanges>>,
    /// How the tool is implemented, once the call is resolved to one.
    pub(super) tool_kind: Option<ToolKind>,
    pub(super) is_cached: bool,
    pub(super) decided_by: Option<String>,
    pub(super) blocked_by: Option<BlockReason>,
    /// Why an earlier decision on the call does not apply to it.
    pub(super) void_decision: Option<String>,
    pub(super) has_detached_thread: bool,
    /// Lives while the tool runs, if it may change what other tools read.
    pub(super) write: Option<WriteGuard>,
    /// The attempt whose result the attempt hooks have yet to receive.
    pub(super) open_attempt: Option<Arc<OpenAttempt>>,
}

impl CallRecord {
    /// Records why the call is blocked, and returns its error.
    pub(super) fn block(&mut self, (reason, error): (BlockReason, ToolError)) -> ToolError {
        self.blocked_by = Some(reason);
        error
    }
}
