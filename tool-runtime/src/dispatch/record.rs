//! What becomes of a call on its way.

use crate::event::Gate;
use crate::tool::{ToolError, ToolOutput};

pub(super) type Outcome = Result<ToolOutput, ToolError>;

/// What the stages note of a call beside its outcome.
#[derive(Default)]
pub(super) struct Record {
    pub(super) remembered: bool,
    pub(super) decided_by: Option<String>,
    pub(super) blocked_by: Option<Gate>,
    pub(super) left_running: bool,
}

impl Record {
    /// Notes what holds the call back.
    pub(super) fn block(&mut self, (gate, error): (Gate, ToolError)) -> ToolError {
        self.blocked_by = Some(gate);
        error
    }
}
