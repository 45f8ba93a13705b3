//! Paused runs: plain data that waits for decisions on pending calls.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Turn;
use super::state::is_zero;
use super::window::WindowState;
use crate::dispatch::Dispatcher;
use crate::event::{RunId, ToolExecution};
use crate::message::{CallId, ToolCall};
use crate::registry::Snapshot;
use crate::tool::{Approval, Decision, Fingerprint, RunApproval, SuspendedCall, ToolDefinition};

/// A run that is paused until its pending calls are decided on, as plain data.
///
/// [`StopReason::AwaitingApproval`](crate::StopReason::AwaitingApproval) holds it. Persist it for
/// as long as the decisions take, record them with [`decide`](Self::decide), and pass it to
/// [`Agent::resume`](crate::Agent::resume), in this or in another process. A run of a session is
/// passed to [`Session::resume_with`](super::session::Session::resume_with).
///
/// The serialized form contains the arguments with their secrets. The debug output redacts them.
///
/// ```
/// use tool_runtime::dispatch::{Approval, AskLater};
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
///
/// /// Pays a person.
/// #[tool(permission = "ask")]
/// async fn pay(to: String) -> String {
///     format!("{to} is paid")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let stopped = agent.run("Pay Ada.").await.unwrap_err();
/// let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!() };
/// let saved = serde_json::to_string(&paused)?;
///
/// // Later, perhaps in another process.
/// let mut paused: tool_runtime::agent::Paused = serde_json::from_str(&saved)?;
/// let call = paused.pending()[0].call.id.clone();
/// paused.decide(&call, Approval::Once, "Grace")?;
/// assert_eq!(agent.resume(paused).finish().await?.to_string(), "Done.");
/// # Ok(())
/// # }
/// ```
///
/// # Nested runs
/// If a [sub-agent](super::SubAgent) pauses, so does the run that called it. The pending call of
/// the outer run then holds the [nested run](Self::nested_run_mut), whose pending calls are to be
/// decided on, at any depth. Resuming the outer run resumes the nested run.
///
/// ```
/// # use tool_runtime::dispatch::{Approval, AskLater};
/// # use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, Tools, tool, tools};
/// # /// Pays a person.
/// # #[tool(permission = "ask")]
/// # async fn pay(to: String) -> String {
/// #     format!("{to} is paid")
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let small_model = ScriptedModel::new([
/// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
/// #     ChatReply::text("Ada has her money."),
/// # ]);
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("cashier", r#"{"task": "Pay Ada."}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let cashier = Agent::new(small_model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let cashier = cashier.into_tool("cashier", "Sees to money.");
/// let agent = Agent::new(model, Tools::new().with(cashier));
/// let stopped = agent.run("See that Ada gets her money.").await.unwrap_err();
/// let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
///
/// let call = paused.pending()[0].call.id.clone();
/// let nested = paused.nested_run_mut(&call).ok_or("the call has no nested run")?;
/// assert_eq!(nested.pending()[0].tool, "pay");
/// // Decide on one call at a time, or on all of them at any depth:
/// paused.decide_each("Grace", |pending| match pending.tool.as_str() {
///     "pay" => Approval::Once,
///     tool => Approval::Deny(format!("{tool} is not for today")),
/// });
/// assert_eq!(agent.resume(*paused).finish().await?.to_string(), "Done.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    pub(super) run: RunId,
    pub(super) turn: Turn,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) rejected_answers: u32,
    #[serde(default, rename = "began")]
    pub(super) prompt_index: usize,
    #[serde(default)]
    pub(super) window: WindowState,
    pub(super) pending: Vec<PendingCall>,
    pub(super) decisions: Vec<Decision>,
    /// The tools that are approved for the rest of the run, by their full names.
    pub(super) approved: BTreeMap<String, RunApproval>,
    /// The tools that ran and may have had effects.
    #[serde(default, rename = "acted", skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) mutating_tools: BTreeSet<String>,
    /// The session to which the run belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
}

/// A call that waits for a decision, or for decisions on the calls of its [nested
/// run](Self::nested_run).
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
    /// The fingerprint of the tool's definition. A decision on the call is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The repaired arguments that the tool would receive, including secrets.
    ///
    /// Numbers that don't fit into 64 bits are rounded; [`json`](Self::json) has all digits. To
    /// show the arguments to a person, use [`redacted_json`](Self::redacted_json).
    pub arguments: Value,
    /// The exact JSON text of the arguments, if it differs from `arguments.to_string()`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    /// The arguments with their secrets redacted, if there are any.
    #[serde(default, rename = "shown", skip_serializing_if = "Option::is_none")]
    redacted: Option<Value>,
    /// The exact JSON text with its secrets redacted, if there are any.
    #[serde(default, rename = "shown_json", skip_serializing_if = "Option::is_none")]
    redacted_json: Option<String>,
    /// The state from which the tool resumes, if it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<ToolState>,
}

/// The state from which a suspended tool resumes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum ToolState {
    /// The nested run of a sub-agent.
    Run(Box<Paused>),
    /// The value of another tool, returned to it unchanged.
    Other(Value),
}

impl PendingCall {
    pub(super) fn of(execution: &ToolExecution, tools: &Snapshot, dispatcher: &Dispatcher) -> Self {
        let ran = execution.modified_call.as_deref().unwrap_or(&execution.call);
        let tool = tools.full_name_of(&ran.name);
        let fingerprint = tools.definition(&ran.name).map(ToolDefinition::fingerprint);
        let arguments = execution.arguments().unwrap_or_default();
        let compact = arguments.to_string();
        let exact = execution.decoded_arguments.clone().unwrap_or_else(|| compact.clone());
        let redacted_json = dispatcher.redact_json(&ran.name, &exact);
        let redacted_json = (redacted_json != exact).then_some(redacted_json);
        let json = (exact != compact).then_some(exact);
        let mut redacted = arguments.clone();
        dispatcher.redact_arguments(&ran.name, &mut redacted);
        let redacted = (redacted != arguments).then_some(redacted);
        let state = execution.suspended_state.as_deref().map(|state| {
            let run = Paused::deserialize(state).map(|paused| ToolState::Run(Box::new(paused)));
            run.unwrap_or_else(|_| ToolState::Other(state.clone()))
        });
        let call = execution.call.clone();
        Self { call, tool, fingerprint, arguments, json, redacted, redacted_json, state }
    }

    /// Returns the arguments with secrets replaced by `[redacted]`, as in events: values of
    /// arguments that are marked as secret, and the [secrets of the
    /// policy](crate::Policy::secrets).
    pub fn redacted_arguments(&self) -> &Value {
        self.redacted.as_ref().unwrap_or(&self.arguments)
    }

    /// Returns the exact JSON text of the arguments that the tool would receive, including secrets.
    ///
    /// A decision on the call is valid for this text only.
    pub fn json(&self) -> Cow<'_, str> {
        self.json.as_deref().map_or_else(|| self.arguments.to_string().into(), Cow::Borrowed)
    }

    /// Returns the exact JSON text of the arguments with secrets replaced by `[redacted]`, to show
    /// to a person.
    pub fn redacted_json(&self) -> Cow<'_, str> {
        match (&self.redacted_json, &self.redacted) {
            (Some(json), _) => Cow::Borrowed(json),
            (None, Some(redacted)) => redacted.to_string().into(),
            (None, None) => self.json(),
        }
    }

    /// Returns the paused nested run if the call is a sub-agent's. Decide on the calls of that run.
    pub fn nested_run(&self) -> Option<&Paused> {
        match &self.state {
            Some(ToolState::Run(paused)) => Some(paused),
            _ => None,
        }
    }

    /// Returns whether the tool has started and continues from its state.
    pub(super) fn is_suspended(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the state to pass to the tool when the call resumes, if it has started.
    pub(super) fn to_suspended(&self) -> Option<SuspendedCall> {
        // A tool that gets no readable state reports that itself.
        let state = serde_json::to_value(self.state.as_ref()?).unwrap_or_default();
        let Self { call, tool, fingerprint, .. } = self;
        let (call, tool) = (call.id.clone(), tool.clone());
        Some(SuspendedCall { call, tool, fingerprint: *fingerprint, state })
    }

    fn decision(&self, approval: Approval, by: impl Into<String>) -> Decision {
        Decision {
            call: self.call.id.clone(),
            tool: self.tool.clone(),
            fingerprint: self.fingerprint,
            json: self.json().into_owned(),
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
            .field("arguments", self.redacted_arguments())
            .field("nested_run", &self.nested_run())
            .finish_non_exhaustive()
    }
}

/// The error of a decision on a call that does not wait for one.
///
/// ```
/// use tool_runtime::agent::NotPending;
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
/// let error = paused.decide(&"other".into(), Approval::Once, "Grace").unwrap_err();
/// assert_eq!(error, NotPending::Unknown("other".into()));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPending {
    /// No pending call has this id.
    #[error("no pending call with the id `{0}`")]
    Unknown(CallId),
    /// The call has started, and calls of its nested run are pending.
    #[error(
        "call `{0}` waits for its nested run: decide on the calls of that run, with `nested_run_mut` or `decide_each`"
    )]
    HasNestedRun(CallId),
}

impl Paused {
    /// Returns the id of the run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Returns the name of the [session](super::session::Session) to which the run belongs. That
    /// session [resumes](super::session::Session::resume_with) it.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the [metadata](crate::agent::Prompt::metadata) of the run.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns the pending calls of this run, but not of its nested runs.
    pub fn pending(&self) -> &[PendingCall] {
        &self.pending
    }

    /// Returns the tools of all calls to decide on, each with the sub-agents in which its call is
    /// nested.
    pub(super) fn awaited(&self) -> Vec<String> {
        let each = self.pending.iter().flat_map(|pending| match pending.nested_run() {
            None => vec![pending.tool.clone()],
            Some(run) => {
                let agent = &pending.tool;
                run.awaited().into_iter().map(|call| format!("{call} within {agent}")).collect()
            }
        });
        each.collect()
    }

    /// Returns the nested run of this pending call, to decide on its calls. Call ids are unique
    /// within one run only.
    pub fn nested_run_mut(&mut self, call: &CallId) -> Option<&mut Self> {
        let pending = self.pending.iter_mut().find(|pending| pending.call.id == *call)?;
        match &mut pending.state {
            Some(ToolState::Run(paused)) => Some(paused),
            _ => None,
        }
    }

    /// Records a decision on a pending call, with the name of the approver. The last decision on a
    /// call counts.
    ///
    /// # Errors
    /// Returns [`NotPending::Unknown`] if no pending call has this id, and
    /// [`NotPending::HasNestedRun`] if the calls of its [nested run](Self::nested_run_mut) are
    /// pending instead.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
    ///
    /// /// Pays a person.
    /// #[tool(permission = "ask")]
    /// async fn pay(to: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
    /// #     ChatReply::text("I may not."),
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let reason = agent.run("Pay Ada.").await.unwrap_err().reason;
    /// let StopReason::AwaitingApproval(mut paused) = reason else { panic!() };
    /// let call = paused.pending()[0].call.id.clone();
    /// paused.decide(&call, Approval::Deny("not today".into()), "Grace")?;
    /// assert_eq!(agent.resume(*paused).finish().await?.text, "I may not.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn decide(
        &mut self,
        call: &CallId,
        approval: Approval,
        by: impl Into<String>,
    ) -> Result<(), NotPending> {
        let pending = self.pending.iter().find(|pending| pending.call.id == *call);
        let pending = pending.ok_or_else(|| NotPending::Unknown(call.clone()))?;
        if pending.state.is_some() {
            return Err(NotPending::HasNestedRun(call.clone()));
        }
        let decision = pending.decision(approval, by);
        self.decisions.retain(|decision| decision.call != *call);
        self.decisions.push(decision);
        Ok(())
    }

    /// Records a decision on every pending call, also on those of nested runs, with the name of who
    /// decides. Calls for which it is [`Defer`](Approval::Defer) stay pending.
    pub fn decide_each(&mut self, by: &str, mut decide: impl FnMut(&PendingCall) -> Approval) {
        self.decide_all(by, &mut decide);
    }

    fn decide_all(&mut self, by: &str, decide: &mut dyn FnMut(&PendingCall) -> Approval) {
        self.decisions.clear();
        for pending in &mut self.pending {
            match &mut pending.state {
                Some(ToolState::Run(nested)) => nested.decide_all(by, decide),
                Some(ToolState::Other(_)) => {}
                None => {
                    let approval = decide(pending);
                    self.decisions.push(pending.decision(approval, by));
                }
            }
        }
    }

    /// Returns the tools that are approved for the rest of the run, including those of the recorded
    /// decisions.
    pub(super) fn approved(&self) -> BTreeMap<String, RunApproval> {
        let mut approved = self.approved.clone();
        let for_run = self.decisions.iter().filter(|it| it.approval == Approval::ForRun);
        approved.extend(for_run.map(|it| {
            let (decided_by, fingerprint) = (it.decided_by.clone(), it.fingerprint);
            (it.tool.clone(), RunApproval { decided_by, fingerprint })
        }));
        approved
    }
}

impl fmt::Debug for Paused {
    /// Omits the transcript, whose arguments are not redacted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decisions: Vec<_> = self.decisions.iter().map(|it| (&it.call, &it.approval)).collect();
        f.debug_struct("Paused")
            .field("run", &self.run)
            .field("session", &self.session)
            .field("pending", &self.pending)
            .field("decisions", &decisions)
            .finish_non_exhaustive()
    }
}
