//! The notes of one call, which become its execution.

use std::sync::Arc;

use crate::dispatch::attempt::attempt_hook::OpenAttempt;
use crate::dispatch::memo::WriteGuard;
use crate::event::{BlockReason, Review, RunChanges};
use crate::guard::Panic;
use crate::message::{ToolCall, ToolKind};
use crate::tool::{ToolError, ToolOutput};

/// The output or the error of a call.
pub(crate) type CallResult = Result<ToolOutput, ToolError>;

/// The notes that the stages of a call make for its execution.
#[derive(Default)]
pub(crate) struct CallRecord {
    /// The call before the interceptors saw it, if there are any.
    pub(crate) original_call: Option<Box<ToolCall>>,
    pub(crate) run_changes: Option<Box<RunChanges>>,
    /// How the tool is implemented, once the call is resolved to one.
    pub(crate) tool_kind: Option<ToolKind>,
    pub(crate) is_cached: bool,
    pub(crate) blocked_by: Option<BlockReason>,
    /// The decision of an approver on the call, and what it was shown.
    pub(crate) review: Option<Box<Review>>,
    pub(crate) has_detached_thread: bool,
    /// Lives while the tool runs, if it may change what other tools read.
    pub(crate) write: Option<WriteGuard>,
    /// The attempt whose result the attempt hooks have yet to receive.
    pub(crate) open_attempt: Option<Arc<OpenAttempt>>,
    /// The failures of hooks, interceptors and approvers, for operators.
    hook_failures: Vec<String>,
    /// Whether a hook that follows an attempt has started and not ended.
    is_hook_running: bool,
}

impl CallRecord {
    /// Records why the call is blocked, and returns its error.
    pub(crate) fn block(&mut self, (reason, error): (BlockReason, ToolError)) -> ToolError {
        self.blocked_by = Some(reason);
        error
    }

    /// Records the decision on the call, and what the approver was shown.
    pub(crate) fn set_review(&mut self, review: Review) {
        self.review = (review != Review::default()).then(|| Box::new(review));
    }

    /// Records that code of the program failed, such as a hook.
    pub(crate) fn add_failure(&mut self, failure: String) {
        self.hook_failures.push(failure);
    }

    /// Records that a hook follows an attempt. Unless [`end_hook`](Self::end_hook) is called, it
    /// was dropped before its end.
    pub(crate) fn start_hook(&mut self) {
        self.is_hook_running = true;
    }

    /// Records the end of a hook that follows an attempt.
    pub(crate) fn end_hook(&mut self, panic: Option<Panic>) {
        self.is_hook_running = false;
        if let Some(panic) = panic {
            self.add_failure(format!("an attempt hook {panic} after the attempt"));
        }
    }

    /// Returns the failures of code of the program in words, or `None` if there are none.
    pub(crate) fn take_failures(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_hook_running) {
            self.add_failure("an attempt hook did not end after the attempt".to_owned());
        }
        (!self.hook_failures.is_empty()).then(|| self.hook_failures.join("; "))
    }
}
