//! Calls that have begun before, and go on: whether they can.

use serde_json::Value;

use super::running::Running;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::{Suspended, ToolError, ToolErrorKind};

impl Running {
    /// What the tool of this call goes on from. A tool that has come by the name meanwhile knows nothing of it.
    pub(super) fn goes_on_from(&self, call: &ToolCall) -> Option<&Value> {
        let begun = self.begun(call)?;
        let is_it = self.tools.entry(&call.name)?.full_name() == begun.tool;
        is_it.then_some(&begun.state)
    }

    /// No other tool is given what this one has begun.
    pub(super) fn check_began(&self, call: &ToolCall, entry: &Entry) -> Result<(), ToolError> {
        match self.begun(call) {
            Some(begun) if begun.tool != entry.full_name() => {
                let text = format!("`{}` is another tool by now than the one called.", call.name);
                Err(ToolError::new(ToolErrorKind::NotFound, text))
            }
            _ => Ok(()),
        }
    }

    /// Something keeps the call from its tool. Where it has begun before, it is not one that never ran.
    pub(super) fn left_off(&self, call: &ToolCall, error: ToolError) -> ToolError {
        if self.begun(call).is_none() {
            return error;
        }
        let text = format!("The call had begun, may have had effects, and can't go on. {error}");
        ToolError::new(ToolErrorKind::Indeterminate, text).with_source(error.to_string())
    }

    fn begun(&self, call: &ToolCall) -> Option<&Suspended> {
        self.resumed.iter().find(|begun| begun.call == call.id)
    }
}
