use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Turn;
use super::choice::full_name;
use super::window::WindowState;
use crate::dispatch::Dispatcher;
use crate::event::{RunId, ToolExecution};
use crate::message::{CallId, ToolCall};
use crate::registry::Snapshot;
use crate::tool::{Approval, Decision, Suspended};

/// A run that waits for somebody to decide on calls: plain data, to keep as long as that takes. Who keeps it keeps what is
/// secret in the arguments; printed for debugging, it hides that.
///
/// ```
/// use tool_runtime::dispatch::{Approval, AskLater};
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};
///
/// /// Pays somebody.
/// #[tool(permission = "ask")]
/// async fn pay(to: String) -> String {
///     format!("{to} is paid")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("pay", r#"{"to": "Ada"}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
/// let stopped = agent.run("Pay Ada.").await.unwrap_err();
/// let StopReason::AwaitingApproval(paused) = stopped.why else { panic!() };
/// let kept = serde_json::to_string(&paused)?;
///
/// // … later, perhaps in another process:
/// let mut paused: tool_runtime::agent::Paused = serde_json::from_str(&kept)?;
/// let call = paused.pending()[0].call.id.clone();
/// paused.decide(&call, Approval::Once, "Grace")?;
/// assert_eq!(agent.resume(paused).finish().await?.to_string(), "Done.");
/// # Ok(())
/// # }
/// ```
///
/// # Runs within runs
/// An agent that is a [tool](super::SubAgent) of another may wait as well. Then the other one's call of it is among
/// those that wait, and the run [within](Self::within_mut) it has the calls to decide on; however deep that is. When
/// the outer run is resumed, so is the inner one.
///
/// ```
/// # use tool_runtime::dispatch::{Approval, AskLater};
/// # use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, Tools, tool, tools};
/// # /// Pays somebody.
/// # #[tool(permission = "ask")]
/// # async fn pay(to: String) -> String {
/// #     format!("{to} is paid")
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
/// let StopReason::AwaitingApproval(mut paused) = stopped.why else { panic!() };
///
/// let call = paused.pending()[0].call.id.clone();
/// let within = paused.within_mut(&call).ok_or("it waits for nothing within")?;
/// assert_eq!(within.pending()[0].tool, "pay");
/// // Each in its turn, or all of them, wherever they lie:
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
    #[serde(default)]
    pub(super) began: usize,
    #[serde(default)]
    pub(super) window: WindowState,
    pub(super) pending: Vec<PendingCall>,
    pub(super) decisions: Vec<Decision>,
    /// The full names of the tools that may run for the rest of the run, and who said so.
    pub(super) approved: BTreeMap<String, String>,
    /// The tools that ran and may have changed the world.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) acted: BTreeSet<String>,
    /// The session that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
}

/// A call that waits for somebody to decide on it, or on what lies [within](Self::within) it. Printed for debugging, it
/// hides what is secret, as [`shown`](Self::shown) does.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingCall {
    /// The call as the model made it.
    pub call: ToolCall,
    /// Its tool, by its [full name](crate::ToolDefinition::full_name).
    pub tool: String,
    /// What its tool would be given, to decide by. With what is secret: a person is [`shown`](Self::shown) it without.
    pub arguments: Value,
    /// The same as a person may see it, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Value>,
    /// What its tool goes on from, where it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

/// What a tool goes on from.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum State {
    /// An agent, from its run.
    Run(Box<Paused>),
    /// Handed back as it is, to a tool that knows what to make of it.
    Other(Value),
}

impl PendingCall {
    pub(super) fn of(execution: &ToolExecution, tools: &Snapshot, dispatcher: &Dispatcher) -> Self {
        let ran = execution.changed.as_deref().unwrap_or(&execution.call);
        let tool = full_name(&ran.name, tools);
        let arguments = execution.arguments().unwrap_or_default();
        let mut shown = arguments.clone();
        dispatcher.hide_in_arguments(&ran.name, &mut shown);
        let shown = (shown != arguments).then_some(shown);
        let state = execution.suspended.as_deref().map(|state| {
            let run = Paused::deserialize(state).map(|paused| State::Run(Box::new(paused)));
            run.unwrap_or_else(|_| State::Other(state.clone()))
        });
        Self { call: execution.call.clone(), tool, arguments, shown, state }
    }

    /// The arguments as a person may see them: what is marked as secret in them, and what the program
    /// [named](crate::Policy::secrets), is `[redacted]`, as in events.
    pub fn shown(&self) -> &Value {
        self.shown.as_ref().unwrap_or(&self.arguments)
    }

    /// The run that waits within it, where its tool is an agent: on the calls of that one is to be decided.
    pub fn within(&self) -> Option<&Paused> {
        match &self.state {
            Some(State::Run(paused)) => Some(paused),
            _ => None,
        }
    }

    /// What its tool goes on from, where it has begun.
    pub(super) fn suspended(&self) -> Option<Suspended> {
        // What can't be written its tool can't read, and says so.
        let state = serde_json::to_value(self.state.as_ref()?).unwrap_or_default();
        Some(Suspended::new(self.call.id.clone(), self.tool.clone(), state))
    }

    fn decided(&self, approval: Approval, by: impl Into<String>) -> Decision {
        let Self { call, tool, arguments, .. } = self;
        Decision::new(call.id.clone(), tool, arguments.clone(), approval, by)
    }
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("call", &self.call.id)
            .field("tool", &self.tool)
            .field("arguments", self.shown())
            .field("within", &self.within())
            .finish_non_exhaustive()
    }
}

/// Why nothing can be decided on a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPending {
    /// No call has this id.
    #[error("no call of the id `{0}` waits for a decision")]
    Unknown(CallId),
    /// It has begun, and what waits are calls of its own.
    #[error(
        "the call of the id `{0}` waits for calls within it: decide on those (`within_mut`, `decide_each`)"
    )]
    Within(CallId),
}

impl Paused {
    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The name of the [session](super::session::Session) that it belongs to, which goes on with it once that is
    /// [decided](super::session::Session::decided).
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The calls that wait.
    pub fn pending(&self) -> &[PendingCall] {
        &self.pending
    }

    /// The tools of the calls that are to be decided on, in words: with the agents that these lie within.
    pub(super) fn awaited(&self) -> Vec<String> {
        let each = self.pending.iter().flat_map(|pending| match pending.within() {
            None => vec![pending.tool.clone()],
            Some(run) => {
                let agent = &pending.tool;
                run.awaited().into_iter().map(|call| format!("{call} within {agent}")).collect()
            }
        });
        each.collect()
    }

    /// The run that waits within this call, to decide on its calls. Ids tell apart the calls of one run alone.
    pub fn within_mut(&mut self, call: &CallId) -> Option<&mut Self> {
        let pending = self.pending.iter_mut().find(|pending| pending.call.id == *call)?;
        match &mut pending.state {
            Some(State::Run(paused)) => Some(paused),
            _ => None,
        }
    }

    /// Decides on a call, as `by`. What is decided last counts.
    ///
    /// # Errors
    /// It doesn't wait for that; but perhaps for calls [within](Self::within_mut) it.
    pub fn decide(
        &mut self,
        call: &CallId,
        approval: Approval,
        by: impl Into<String>,
    ) -> Result<(), NotPending> {
        let pending = self.pending.iter().find(|pending| pending.call.id == *call);
        let pending = pending.ok_or_else(|| NotPending::Unknown(call.clone()))?;
        if pending.state.is_some() {
            return Err(NotPending::Within(call.clone()));
        }
        let decision = pending.decided(approval, by);
        self.decisions.retain(|decision| decision.call != *call);
        self.decisions.push(decision);
        Ok(())
    }

    /// Decides on each call that waits, as `by`, also on those within others; where that is
    /// [`Defer`](Approval::Defer), it waits on.
    pub fn decide_each(&mut self, by: &str, mut decide: impl FnMut(&PendingCall) -> Approval) {
        self.decide_all(by, &mut decide);
    }

    fn decide_all(&mut self, by: &str, decide: &mut dyn FnMut(&PendingCall) -> Approval) {
        self.decisions.clear();
        for pending in &mut self.pending {
            match &mut pending.state {
                Some(State::Run(within)) => within.decide_all(by, decide),
                Some(State::Other(_)) => {}
                None => {
                    let approval = decide(pending);
                    self.decisions.push(pending.decided(approval, by));
                }
            }
        }
    }

    /// The calls that have begun.
    pub(super) fn suspended(&self) -> Vec<PendingCall> {
        self.pending.iter().filter(|pending| pending.state.is_some()).cloned().collect()
    }

    /// The tools that may run for the rest of the run, by what was decided meanwhile as well.
    pub(super) fn approved(&self) -> BTreeMap<String, String> {
        let mut approved = self.approved.clone();
        let for_run = self.decisions.iter().filter(|it| it.approval == Approval::ForRun);
        approved.extend(for_run.map(|it| (it.tool.clone(), it.by.clone())));
        approved
    }
}

impl fmt::Debug for Paused {
    /// Without the conversation, in which arguments are as they came.
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
