//! What somebody decided on a call, and what waits for that, in a form that can be kept and sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::CallId;

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// This call may run.
    Once,
    /// This tool may run for the rest of the run; outside of runs, for as long as this dispatcher lives.
    ForRun,
    /// It may not, for this reason, which the model is told.
    Deny(String),
    /// Nothing yet: the call is left open, and its run stops until there is an answer.
    Defer,
}

/// A call that has begun and waits for somebody, and what its tool goes on from when it is made again: a state of its
/// own, which means nothing to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Suspended {
    /// The call.
    pub call: CallId,
    /// The tool, by its [full name](super::ToolDefinition::full_name): no other is given the state.
    pub tool: String,
    /// The state.
    pub state: Value,
}

impl Suspended {
    /// A call of the tool of this full name.
    pub fn new(call: CallId, tool: impl Into<String>, state: Value) -> Self {
        Self { call, tool: tool.into(), state }
    }
}

/// What was decided on one call, of what tool and on what arguments: it holds for no others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The call.
    pub call: CallId,
    /// The tool, by its [full name](super::ToolDefinition::full_name).
    pub tool: String,
    /// The arguments that were looked at.
    pub arguments: Value,
    /// What was decided.
    pub approval: Approval,
    /// Who decided.
    pub by: String,
}

impl Decision {
    /// A decision on a call of the tool of this full name with these arguments.
    pub fn new(
        call: CallId,
        tool: impl Into<String>,
        arguments: Value,
        approval: Approval,
        by: impl Into<String>,
    ) -> Self {
        Self { call, tool: tool.into(), arguments, approval, by: by.into() }
    }
}
