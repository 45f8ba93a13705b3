//! Calls that started in an earlier dispatch and continue from the saved state of their tool.

use serde_json::Value;

use super::context::BatchContext;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::{SuspendedCall, ToolError, ToolErrorKind};

impl BatchContext {
    /// Returns the state from which the tool of this call continues, unless the name belongs to
    /// another tool by now.
    pub(super) fn suspended_state(&self, call: &ToolCall) -> Option<&Value> {
        let suspended = self.suspended_call(call)?;
        let is_same_tool = self.tools.entry(&call.name)?.full_name() == suspended.tool;
        is_same_tool.then_some(&suspended.state)
    }

    /// Returns whether this call continues, with the definition that its tool had when it started.
    pub(super) fn is_resumed(&self, call: &ToolCall, entry: &Entry) -> bool {
        let started_with = self.suspended_call(call).and_then(|suspended| suspended.fingerprint);
        self.suspended_state(call).is_some()
            && started_with == Some(entry.definition().fingerprint())
    }

    /// Checks that a resumed call still has the tool that it started with.
    pub(super) fn check_suspended(&self, call: &ToolCall, entry: &Entry) -> Result<(), ToolError> {
        match self.suspended_call(call) {
            Some(suspended) if suspended.tool != entry.full_name() => {
                let text = format!("`{}` is another tool by now than the one called.", call.name);
                Err(ToolError::new(ToolErrorKind::NotFound, text))
            }
            _ => Ok(()),
        }
    }

    /// Converts the error of a call whose tool was not invoked. If the call is resumed, the tool
    /// may have had effects before, so the error becomes `TOOL_INDETERMINATE`.
    pub(super) fn indeterminate_if_resumed(&self, call: &ToolCall, error: ToolError) -> ToolError {
        if self.suspended_call(call).is_none() {
            return error;
        }
        let text = format!("The call had begun, may have had effects, and can't go on. {error}");
        ToolError::new(ToolErrorKind::Indeterminate, text).with_source(error.to_string())
    }

    fn suspended_call(&self, call: &ToolCall) -> Option<&SuspendedCall> {
        self.suspended.iter().find(|suspended| suspended.call == call.id)
    }
}
