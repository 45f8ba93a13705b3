//! Decisions on calls, as data that can be stored and sent.

use serde::{Deserialize, Serialize};

use super::{Fingerprint, ToolDefinition};
use crate::message::CallId;

/// The response of an approver to a request for approval.
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
    /// Postpones the decision: the call is pending, and its run pauses.
    Defer,
}

/// A decision on one call, bound to the tool's definition and the exact arguments.
///
/// ```
/// use tool_runtime::dispatch::{Approval, Decision};
/// use tool_runtime::ToolDefinition;
///
/// let schema = serde_json::json!({ "type": "object" });
/// let pay = ToolDefinition::new("pay", "Pays an order.", schema);
/// let json = r#"{"order": 7}"#;
/// let decision = Decision::new("call_1".into(), &pay, json, Approval::Once, "Ada");
/// assert_eq!(decision.tool, "pay");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The id of the call.
    pub call: CallId,
    /// The [full name](super::ToolDefinition::full_name) of the tool.
    pub tool: String,
    /// The fingerprint of the definition; `None` if the tool was not registered when the call was
    /// made. A decision without one is not valid for any call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The exact JSON text of the arguments that were decided on.
    pub arguments: String,
    /// The decision on the call.
    pub approval: Approval,
    /// The name of the person or program that decided.
    pub decided_by: String,
}

impl Decision {
    /// Creates a decision on a call of the tool with this definition.
    ///
    /// `arguments` is the JSON text that was decided on, such as
    /// [`ToolExecution::decoded_arguments`](crate::ToolExecution::decoded_arguments) of the pending
    /// call. The decision is valid for arguments that differ from this text only in the
    /// whitespace between tokens.
    pub fn new(
        call: CallId,
        definition: &ToolDefinition,
        arguments: impl Into<String>,
        approval: Approval,
        decided_by: impl Into<String>,
    ) -> Self {
        Self {
            call,
            tool: definition.full_name().to_owned(),
            fingerprint: Some(definition.fingerprint()),
            arguments: arguments.into(),
            approval,
            decided_by: decided_by.into(),
        }
    }

    /// Returns whether this is a decision on the call of this tool with these arguments.
    pub(crate) fn is_on(&self, call: &CallId, definition: &ToolDefinition, json: &str) -> bool {
        self.call == *call && self.change(definition, json).is_none()
    }

    /// Returns what this decision on a call is not valid for: the tool, its definition or the
    /// arguments changed since. `None` if the decision is valid.
    pub(crate) fn change(&self, definition: &ToolDefinition, json: &str) -> Option<String> {
        let name = definition.full_name();
        if self.tool != name {
            return Some(format!("the call was of `{}` and is of `{name}`", self.tool));
        }
        if self.fingerprint != Some(definition.fingerprint()) {
            return Some(definition_changed(name));
        }
        let is_same = without_whitespace(&self.arguments) == without_whitespace(json);
        (!is_same).then(|| format!("the arguments of `{name}` changed"))
    }
}

/// Returns the reason why a decision on another definition of a tool is void.
pub(crate) fn definition_changed(name: &str) -> String {
    format!("the definition of `{name}` changed")
}

/// A permission for all calls of a tool for the rest of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunApproval {
    pub(crate) decided_by: String,
    pub(crate) fingerprint: Option<Fingerprint>,
}

/// Returns JSON without the whitespace between its tokens.
fn without_whitespace(json: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let keep = |c: &char| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_string = !is_string,
            _ => {}
        }
        is_string || !c.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::without_whitespace;

    #[test]
    fn whitespace_is_removed_outside_of_strings_only() {
        let json = "{ \"a b\" :\n[ 1 ,\t\"\\\" x\" ] }";
        assert_eq!(without_whitespace(json), "{\"a b\":[1,\"\\\" x\"]}");
    }
}
