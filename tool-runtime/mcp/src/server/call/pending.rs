//! Pending calls: what has to be asked before they can run or continue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::dispatch::{Approval, Decision, SuspendedCall};
use tool_core::{CallId, Fingerprint, ToolDefinition, ToolExecution};

use super::super::input::{ElicitationReply, ElicitationRequest, InputRequests, Suspended};
use super::resume::Resume;

/// The key of the only question of an approval, and of a tool that asks in plain text.
const KEY: &str = "answer";

/// The name under which executions record who answered.
pub(super) const ANSWERED_BY: &str = "MCP client";

/// A call that waits for the client.
pub(super) struct PendingCall {
    pub(super) questions: InputRequests,
    pub(super) reason: Reason,
}

/// The reason why a call is pending.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// An approval of the call with these arguments, as JSON, by this definition of the tool.
    Approval { arguments: String, definition: Fingerprint },
    /// The answer to a question of the tool.
    Question(Box<SuspendedCall>),
}

/// The consequence of the answers of a client.
pub(crate) enum Outcome {
    /// The call continues.
    Resume(Resume),
    /// The questions are asked again, because an answer is missing or invalid, or because the tool
    /// has changed since its approval was requested.
    Unanswered,
    /// The call ends with this text: the user does not want to answer.
    Declined(String),
}

impl PendingCall {
    /// Returns what a call waits for; `None` if nothing that a client could answer.
    ///
    /// `to_approve` are the arguments in the form in which a person may see them.
    pub(super) fn of(
        execution: &ToolExecution,
        definition: &ToolDefinition,
        to_approve: Option<String>,
    ) -> Option<Self> {
        if let Some(suspended) = SuspendedCall::of(execution, definition) {
            let questions = questions(&suspended)?;
            return Some(Self { questions, reason: Reason::Question(Box::new(suspended)) });
        }
        let arguments = execution.decoded_arguments.clone()?;
        let name = definition.title.as_ref().unwrap_or(&definition.name);
        let message = format!("Allow `{name}` with {}?", to_approve?);
        let schema = json!({
            "type": "object",
            "properties": { "approve": { "type": "boolean", "title": "Allow this call" } },
            "required": ["approve"],
        });
        let questions = InputRequests::new().elicit(KEY, ElicitationRequest::new(message, schema));
        let definition = definition.fingerprint();
        Some(Self { questions, reason: Reason::Approval { arguments, definition } })
    }
}

/// Returns the questions of a tool. A question in plain text becomes a form with one field.
fn questions(suspended: &SuspendedCall) -> Option<InputRequests> {
    let question = suspended.question.as_deref()?;
    if let Ok(state) = Suspended::deserialize(&suspended.state) {
        return Some(state.mcp_input_requests);
    }
    let schema = json!({
        "type": "object",
        "properties": { KEY: { "type": "string", "title": "Answer" } },
        "required": [KEY],
    });
    Some(InputRequests::new().elicit(KEY, ElicitationRequest::new(question, schema)))
}

impl Reason {
    /// Decides what follows from the answers.
    pub(super) fn outcome(
        self,
        call: &CallId,
        definition: &ToolDefinition,
        answers: BTreeMap<String, Value>,
        answered_by: &str,
    ) -> Outcome {
        match self {
            Self::Approval { definition: fingerprint, .. }
                if fingerprint != definition.fingerprint() =>
            {
                Outcome::Unanswered
            }
            Self::Approval { arguments, .. } => {
                let is_approved = match reply(&answers) {
                    Some(ElicitationReply::Accepted(content)) => {
                        content.get("approve") == Some(&Value::Bool(true))
                    }
                    Some(_) => false,
                    None => return Outcome::Unanswered,
                };
                let approval = if is_approved {
                    Approval::Once
                } else {
                    Approval::Deny("the user declined".to_owned())
                };
                let decision =
                    Decision::new(call.clone(), definition, arguments, approval, answered_by);
                Outcome::Resume(Resume { decisions: vec![decision], ..Resume::default() })
            }
            Self::Question(suspended) => answered(*suspended, answers, answered_by),
        }
    }
}

fn answered(
    suspended: SuspendedCall,
    answers: BTreeMap<String, Value>,
    answered_by: &str,
) -> Outcome {
    let Some(questions) = questions(&suspended).filter(|it| it.are_answered_by(&answers)) else {
        return Outcome::Unanswered;
    };
    let answer = match Suspended::deserialize(&suspended.state) {
        // Answers to keys that were not asked are left out.
        Ok(_) => {
            let is_key = |key: &String| questions.0.contains_key(key);
            answers.into_iter().filter(|(key, _)| is_key(key)).collect()
        }
        Err(_) => match reply(&answers) {
            Some(ElicitationReply::Accepted(content)) => {
                content.get(KEY).cloned().unwrap_or_default()
            }
            _ => return Outcome::Declined("The user declined to answer.".to_owned()),
        },
    };
    let suspended = vec![suspended.with_answer(answer, answered_by)];
    Outcome::Resume(Resume { suspended, ..Resume::default() })
}

fn reply(answers: &BTreeMap<String, Value>) -> Option<ElicitationReply> {
    ElicitationReply::parse(answers.get(KEY)?).ok()
}
