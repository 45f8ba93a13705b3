//! Pending calls of a paused run, and the reasons to refuse a decision or an answer.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Paused;
use crate::agent::state::is_zero;
use crate::dispatch::Dispatcher;
use crate::event::{RunId, ToolExecution};
use crate::message::{CallId, ToolCall, visible, visible_json, visible_value};
use crate::registry::Snapshot;
use crate::tool::{
    Approval, CallAnswer, Decision, Fingerprint, MAX_PENDING_LEVELS, SuspendedCall, ToolDefinition,
};

/// A call that waits for a decision, for the answer to its [question](Self::question), or for
/// decisions on the calls of its [nested run](Self::nested_run).
///
/// The debug output redacts secrets, as [`redacted_arguments`](Self::redacted_arguments) does.
///
/// ```
/// use tool_runtime::dispatch::AskLater;
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
///
/// /// Pays a person.
/// #[tool(permission = "ask")]
/// async fn pay(to: String, #[arg(secret)] pin: String) {}
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("pay", r#"{"to": "Ada", "pin": "1234"}"#),
/// # ]);
/// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let reason = agent.run("Pay Ada.").await.unwrap_err().reason;
/// let StopReason::AwaitingApproval(paused) = reason else { panic!() };
/// let pending = &paused.pending()[0];
/// assert_eq!(pending.arguments["pin"], "1234");
/// assert_eq!(pending.redacted_arguments()["pin"], "[redacted]");
/// # }
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingCall {
    /// The call as the model made it.
    pub call: ToolCall,
    /// The [full name](crate::ToolDefinition::full_name) of the tool.
    pub tool: String,
    /// The fingerprint of the tool's definition, to which a decision on the call is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Why an earlier decision on the call does not apply to it, such as "decision of Ada is void:
    /// the definition of `pay` changed". The call then needs a new decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void_decision: Option<String>,
    /// A description of what the call would do, from a previewer of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
    /// The repaired arguments that the tool would receive, including secrets.
    ///
    /// Numbers that don't fit into 64 bits are rounded; [`arguments_json`](Self::arguments_json)
    /// has all digits. To show the arguments to a person, use
    /// [`redacted_arguments_json`](Self::redacted_arguments_json).
    pub arguments: Value,
    /// The exact JSON text of the arguments, if it differs from `arguments.to_string()`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    /// The arguments with their secrets redacted, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redacted: Option<Value>,
    /// The exact JSON text with its secrets redacted, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redacted_arguments_json: Option<String>,
    /// The state from which the tool resumes, if it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<ToolState>,
    /// The question whose answer the call awaits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The JSON Schema of the answer to the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_schema: Option<Value>,
    /// How often the call has been resumed.
    #[serde(default, skip_serializing_if = "is_zero")]
    resumptions: u32,
    /// The answer to the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<CallAnswer>,
}

/// The state from which a suspended tool resumes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ToolState {
    /// The nested run of a sub-agent.
    Run(Box<Paused>),
    /// The value of another tool, returned to it unchanged.
    Other(Value),
}

impl PendingCall {
    pub(crate) fn of(execution: &ToolExecution, tools: &Snapshot, dispatcher: &Dispatcher) -> Self {
        let ran = execution.modified_call.as_deref().unwrap_or(&execution.call);
        let tool = tools.full_name_of(&ran.name);
        let fingerprint = tools.definition(&ran.name).map(ToolDefinition::fingerprint);
        let arguments = execution.arguments().unwrap_or_default();
        let compact = arguments.to_string();
        let exact = execution.decoded_arguments.clone().unwrap_or_else(|| compact.clone());
        let redacted_arguments_json = dispatcher.redact_json(&ran.name, &exact);
        let redacted_arguments_json =
            (redacted_arguments_json != exact).then_some(redacted_arguments_json);
        let json = (exact != compact).then_some(exact);
        let mut redacted = arguments.clone();
        dispatcher.redact_arguments(&ran.name, &mut redacted);
        let redacted = (redacted != arguments).then_some(redacted);
        let state = execution.suspended_state().map(|state| {
            let run = Paused::deserialize(state).map(|paused| ToolState::Run(Box::new(paused)));
            run.unwrap_or_else(|_| ToolState::Other(state.clone()))
        });
        let has_nested_run = matches!(state, Some(ToolState::Run(_)));
        Self {
            call: execution.call.clone(),
            tool,
            fingerprint,
            void_decision: execution.void_decision().map(ToOwned::to_owned),
            preview: execution.preview().map(ToOwned::to_owned),
            arguments,
            json,
            redacted,
            redacted_arguments_json,
            // A tool that saves a paused run waits for the decisions on its calls.
            question: execution.question().filter(|_| !has_nested_run).map(ToOwned::to_owned),
            resumptions: execution.resumptions(),
            answer_schema: execution.answer_schema().filter(|_| !has_nested_run).cloned(),
            state,
            answer: None,
        }
    }

    /// Returns the arguments with secrets replaced by `[redacted]`, as in events: values of
    /// arguments that are marked as secret, and the [secrets of the
    /// policy](crate::Policy::secrets). Deceptive characters are made
    /// [visible](crate::message::visible).
    pub fn redacted_arguments(&self) -> Value {
        visible_value(self.redacted.as_ref().unwrap_or(&self.arguments).clone())
    }

    /// Returns the exact JSON text of the arguments that the tool would receive, including secrets.
    ///
    /// A decision on the call is valid for this text only.
    pub fn arguments_json(&self) -> Cow<'_, str> {
        self.json.as_deref().map_or_else(|| self.arguments.to_string().into(), Cow::Borrowed)
    }

    /// Returns the exact JSON text with secrets replaced by `[redacted]`, to show to a person.
    /// Deceptive characters are made [visible](crate::message::visible).
    pub fn redacted_arguments_json(&self) -> String {
        visible_json(match (&self.redacted_arguments_json, &self.redacted) {
            (Some(json), _) => json.clone(),
            (None, Some(redacted)) => redacted.to_string(),
            (None, None) => self.arguments_json().into_owned(),
        })
    }

    /// Returns a description of what the call would do, such as the diff of an edit, from a
    /// [previewer of the policy](crate::Policy::previewer); `None` if none describes calls of this
    /// tool.
    ///
    /// Secrets are redacted, and deceptive characters are made [visible](crate::message::visible).
    /// It was computed when the run paused, and is saved with it: what it is computed from may have
    /// changed since.
    pub fn preview(&self) -> Option<&str> {
        self.preview.as_deref()
    }

    /// Returns the paused nested run if the call is a sub-agent's. Decide on the calls of that run.
    pub fn nested_run(&self) -> Option<&Paused> {
        match &self.state {
            Some(ToolState::Run(paused)) => Some(paused),
            _ => None,
        }
    }

    /// Returns the question that the tool asks, if it [suspended](crate::ToolError::suspended) the
    /// call. Secrets are redacted, and deceptive characters made
    /// [visible](crate::message::visible). [`Paused::answer`] records the answer.
    pub fn question(&self) -> Option<Cow<'_, str>> {
        self.question.as_deref().map(visible)
    }

    /// Returns the JSON Schema of the answer to the question, if the tool states one.
    pub fn answer_schema(&self) -> Option<&Value> {
        self.answer_schema.as_ref()
    }

    /// Returns the state that the tool saved when it suspended the call, including secrets; `None`
    /// if it has not started, or if its state is a [nested run](Self::nested_run).
    pub fn suspended_state(&self) -> Option<&Value> {
        match &self.state {
            Some(ToolState::Other(state)) => Some(state),
            _ => None,
        }
    }

    /// Returns whether an answer to the question of the call was recorded.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some()
    }

    /// Returns whether the tool has started and continues from its state.
    pub(crate) fn is_suspended(&self) -> bool {
        self.state.is_some()
    }

    /// Whether the call awaits a decision, rather than an answer or its nested calls.
    pub(crate) fn awaits_decision(&self) -> bool {
        self.state.is_none() && self.question.is_none()
    }

    /// Returns the state to pass to the tool when the call resumes, if it has started.
    pub(crate) fn to_suspended(&self) -> Option<SuspendedCall> {
        // A tool that gets no readable state reports that itself.
        let state = serde_json::to_value(self.state.as_ref()?).unwrap_or_default();
        Some(SuspendedCall {
            call: self.call.id.clone(),
            tool: self.tool.clone(),
            fingerprint: self.fingerprint,
            state,
            question: self.question.clone(),
            answer_schema: self.answer_schema.clone(),
            resumptions: self.resumptions.saturating_add(1),
            answer: self.answer.clone(),
        })
    }

    pub(crate) fn decision(&self, approval: Approval, by: impl Into<String>) -> Decision {
        Decision {
            call: self.call.id.clone(),
            tool: self.tool.clone(),
            fingerprint: self.fingerprint,
            arguments: self.arguments_json().into_owned(),
            approval,
            decided_by: by.into(),
        }
    }
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("call", &self.call.id)
            .field("tool", &self.tool)
            .field("arguments", &self.redacted_arguments())
            .field("question", &self.question)
            .field("nested_run", &self.nested_run())
            .finish_non_exhaustive()
    }
}

/// The reason why a decision on a pending call, or an answer to its question, is not accepted.
///
/// ```
/// use tool_runtime::agent::PendingCallError;
/// use tool_runtime::dispatch::{Approval, AskLater};
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
///
/// /// Pays a person.
/// #[tool(permission = "ask")]
/// async fn pay(to: String) {}
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
/// # ]);
/// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let reason = agent.run("Pay Ada.").await.unwrap_err().reason;
/// let StopReason::AwaitingApproval(mut paused) = reason else { panic!() };
/// let error = paused.decide("other", Approval::Once, "Grace").unwrap_err();
/// assert_eq!(error, PendingCallError::Unknown("other".into()));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PendingCallError {
    /// No pending call has this id.
    #[error("no pending call with the id `{}`", visible(.0.as_str()))]
    Unknown(CallId),
    /// Neither the paused run nor one nested in it has this id.
    #[error("no paused run with the id `{0}`")]
    UnknownRun(RunId),
    /// The call has started, and calls of its nested run are pending.
    #[error(
        "call `{}` waits for its nested run: decide on the calls of that run, with `nested_run_mut` or `decide_each`",
        visible(.0.as_str())
    )]
    HasNestedRun(CallId),
    /// The call has started and asks a question: it awaits an answer, not a decision.
    #[error("call `{}` awaits the answer to its question: call `answer` instead of `decide`", visible(.0.as_str()))]
    AwaitsAnswer(CallId),
    /// The call asks no question: it awaits a decision, not an answer.
    #[error("call `{}` asks no question: call `decide` instead of `answer`", visible(.0.as_str()))]
    NoQuestion(CallId),
    /// The answer can't be saved with the run, because it is nested too deeply.
    #[error("the answer to call `{}` has more than {MAX_PENDING_LEVELS} levels", visible(.0.as_str()))]
    AnswerTooDeep(CallId),
}
