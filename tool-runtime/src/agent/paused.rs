use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Turn;
use super::choice::full_name;
use super::window::WindowState;
use crate::event::{RunId, ToolExecution};
use crate::message::{CallId, ToolCall};
use crate::registry::Snapshot;
use crate::tool::{Approval, Decision};

/// A run that waits for somebody to decide on calls: plain data, to keep as long as that takes.
///
/// ```
/// use tool_runtime::dispatch::{Approval, AskLater};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, tool, tools};
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
/// let agent = Agent::new(model, tools![pay]).approver(AskLater);
/// let stopped = agent.run("Pay Ada.").await.unwrap_err();
/// let StopReason::AwaitingApproval(paused) = stopped.why else { panic!() };
/// let kept = serde_json::to_string(&paused)?;
///
/// // … later, perhaps in another process:
/// let mut paused: tool_runtime::agent::Paused = serde_json::from_str(&kept)?;
/// let call = paused.pending()[0].call.id.clone();
/// paused.decide(&call, Approval::Once, "Grace")?;
/// assert_eq!(agent.resume(paused).await?.to_string(), "Done.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
}

/// A call that waits for somebody to decide on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingCall {
    /// The call as the model made it.
    pub call: ToolCall,
    /// Its tool, by its [full name](crate::ToolDefinition::full_name).
    pub tool: String,
    /// What its tool would be given.
    pub arguments: Value,
}

impl PendingCall {
    pub(super) fn of(execution: &ToolExecution, tools: &Snapshot) -> Self {
        let ran = execution.changed.as_deref().unwrap_or(&execution.call);
        let tool = full_name(&ran.name, tools);
        let arguments = execution.arguments().unwrap_or_default();
        Self { call: execution.call.clone(), tool, arguments }
    }
}

/// No call of this id waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no call of the id `{0}` waits for a decision")]
pub struct NotPending(CallId);

impl Paused {
    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The calls that wait.
    pub fn pending(&self) -> &[PendingCall] {
        &self.pending
    }

    /// Decides on a call, as `by`. What is decided last counts.
    ///
    /// # Errors
    /// It doesn't wait for that.
    pub fn decide(
        &mut self,
        call: &CallId,
        approval: Approval,
        by: impl Into<String>,
    ) -> Result<(), NotPending> {
        let is_it = |pending: &&PendingCall| pending.call.id == *call;
        let pending = self.pending.iter().find(is_it).ok_or_else(|| NotPending(call.clone()))?;
        self.decisions.retain(|decision| decision.call != *call);
        let PendingCall { tool, arguments, .. } = pending.clone();
        self.decisions.push(Decision::new(call.clone(), tool, arguments, approval, by));
        Ok(())
    }

    /// The tools that may run for the rest of the run, by what was decided meanwhile as well.
    pub(super) fn approved(&self) -> BTreeMap<String, String> {
        let mut approved = self.approved.clone();
        let for_run = self.decisions.iter().filter(|it| it.approval == Approval::ForRun);
        approved.extend(for_run.map(|it| (it.tool.clone(), it.by.clone())));
        approved
    }
}
