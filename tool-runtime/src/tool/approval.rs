//! Decisions on calls and the states of suspended calls, as data that can be stored and sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::CallId;

/// The answer of an approver to a request for approval.
///
/// ```
/// use tool_runtime::dispatch::Approval;
///
/// let denial = Approval::Deny("the order exceeds the budget".into());
/// assert_eq!(serde_json::to_value(&Approval::ForRun).unwrap(), "for_run");
/// assert_ne!(denial, Approval::Once);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// Allows this one call only.
    Once,
    /// Allows all calls of this tool for the rest of the run. Outside of a run, it allows them for
    /// the lifetime of the dispatcher.
    ForRun,
    /// Denies the call for a reason, which the model receives.
    Deny(String),
    /// Postpones the decision: the call stays open and its run pauses.
    Defer,
}

/// A call that has started and waits for an external decision, with the state that its tool needs
/// to continue.
///
/// The state belongs to the tool. Nothing else interprets it.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::dispatch::SuspendedCall;
///
/// let call = SuspendedCall::new("call_1".into(), "research", json!({ "step": 2 }));
/// assert_eq!(call.tool, "research");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SuspendedCall {
    /// The id of the call.
    pub call: CallId,
    /// The [full name](super::ToolDefinition::full_name) of the tool. No other tool receives the
    /// state.
    pub tool: String,
    /// The state that the tool continues from.
    pub state: Value,
}

impl SuspendedCall {
    /// Creates the record of a suspended call. `tool` is the full name of its tool.
    pub fn new(call: CallId, tool: impl Into<String>, state: Value) -> Self {
        Self { call, tool: tool.into(), state }
    }
}

/// A decision on one call. It holds for this tool and these arguments only.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::dispatch::{Approval, Decision};
///
/// let arguments = json!({ "order": 7 });
/// let decision = Decision::new("call_1".into(), "pay", arguments, Approval::Once, "Ada");
/// assert_eq!(decision.decided_by, "Ada");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The id of the call.
    pub call: CallId,
    /// The [full name](super::ToolDefinition::full_name) of the tool.
    pub tool: String,
    /// The arguments that were decided on.
    pub arguments: Value,
    /// The decision on the call.
    pub approval: Approval,
    /// The name of the person or program that decided.
    #[serde(rename = "by")]
    pub decided_by: String,
}

impl Decision {
    /// Creates a decision on a call. `tool` is the full name of its tool.
    pub fn new(
        call: CallId,
        tool: impl Into<String>,
        arguments: Value,
        approval: Approval,
        decided_by: impl Into<String>,
    ) -> Self {
        Self { call, tool: tool.into(), arguments, approval, decided_by: decided_by.into() }
    }
}
