//! Paused runs: plain data that waits for decisions on pending calls, and for answers to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Turn;
use crate::agent::outcome::pending_call::{PendingCall, PendingCallError, ToolState};
use crate::agent::state::is_zero;
use crate::agent::steering::DeliveredKeys;
use crate::agent::window::WindowState;
use crate::event::RunId;
use crate::message::CallId;
use crate::tool::{Approval, CallAnswer, Decision, RunApproval, can_be_pending};

/// A run that is paused until its pending calls are decided on or answered, as plain data.
///
/// [`StopReason::AwaitingApproval`](crate::StopReason::AwaitingApproval) holds it. Persist it for
/// as long as the decisions take, record them with [`decide`](Self::decide), record the answers to
/// [questions](PendingCall::question) with [`answer`](Self::answer), and pass it to
/// [`Agent::resume`](crate::Agent::resume), in this or in another process. A run of a session is
/// passed to [`Session::resume_with`](crate::agent::session::Session::resume_with).
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
/// If a [sub-agent](crate::agent::SubAgent) pauses, so does the run that called it. The pending
/// call of the outer run then holds the [nested run](Self::nested_run_mut), whose pending calls are
/// to be decided on, at any depth. Resuming the outer run resumes the nested run.
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
/// paused.decide_each(|pending| match pending.tool.as_str() {
///     "pay" => Approval::Once,
///     tool => Approval::Deny(format!("{tool} is not for today")),
/// }, "Grace");
/// assert_eq!(agent.resume(*paused).finish().await?.to_string(), "Done.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    pub(crate) run: RunId,
    pub(crate) turn: Turn,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) rejected_answers: u32,
    pub(crate) prompt_index: usize,
    pub(crate) window: WindowState,
    pub(crate) pending: Vec<PendingCall>,
    pub(crate) decisions: Vec<Decision>,
    /// The tools that are approved for the rest of the run, by their full names.
    pub(crate) approved: BTreeMap<String, RunApproval>,
    /// The tools that ran and may have had effects.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) mutating_tools: BTreeSet<String>,
    /// The keys of the messages that the run has received.
    #[serde(default, skip_serializing_if = "DeliveredKeys::is_empty")]
    pub(crate) delivered: DeliveredKeys,
    /// The session to which the run belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

impl Paused {
    /// Returns the id of the run.
    pub fn run_id(&self) -> RunId {
        self.run
    }

    /// Returns the name of the [session](crate::agent::session::Session) to which the run belongs.
    /// That session [resumes](crate::agent::session::Session::resume_with) it.
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

    /// Returns the pending calls of this run and of all runs nested in it that await a decision or
    /// an answer, each with the id of its run. A call that waits for its nested run is left out,
    /// and a call that is decided or answered is not.
    ///
    /// Call ids are unique within a run only. [`decide_at`](Self::decide_at) and
    /// [`answer_at`](Self::answer_at) take both.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, AskLater};
    /// use tool_runtime::{
    ///     Agent, ChatReply, Policy, ScriptedModel, StopReason, Tools, tool, tools,
    /// };
    ///
    /// /// Deletes a file.
    /// #[tool(permission = "ask")]
    /// async fn delete(path: String) -> String {
    ///     format!("{path} is deleted")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let delete_call = ChatReply::default().call("delete", r#"{"path": "old.txt"}"#);
    /// let model = ScriptedModel::new([delete_call, ChatReply::text("It is gone.")]);
    /// let cleaner = Agent::new(model, tools![delete])
    ///     .policy(Policy::new().approver(AskLater))
    ///     .into_tool("cleaner", "Cleans up.");
    /// let clean = ChatReply::default().call("cleaner", r#"{"task": "Clean up."}"#);
    /// let model = ScriptedModel::new([clean, ChatReply::text("Done.")]);
    /// let agent = Agent::new(model, Tools::new().with(cleaner));
    /// let stopped = agent.run("Clean up.").await.unwrap_err();
    /// let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    ///
    /// // What a form needs: the ids, and what is to be decided.
    /// let waiting: Vec<_> = paused.pending_all().into_iter().map(|(run, pending)| {
    ///     (run, pending.call.id.clone(), pending.tool.clone())
    /// }).collect();
    /// let [(run, call, tool)] = &waiting[..] else { panic!() };
    /// assert_eq!(tool, "delete");
    /// paused.decide_at(*run, call, Approval::Once, "Ada")?;
    /// assert_eq!(agent.resume(*paused).finish().await?.text, "Done.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn pending_all(&self) -> Vec<(RunId, &PendingCall)> {
        let each = self.pending.iter().flat_map(|pending| match pending.nested_run() {
            Some(nested) => nested.pending_all(),
            None => vec![(self.run, pending)],
        });
        each.collect()
    }

    /// Decides on a pending call of this run, or of a run nested in it, as [`decide`](Self::decide)
    /// does.
    ///
    /// # Errors
    /// Returns the errors of [`decide`](Self::decide), and [`PendingCallError::UnknownRun`] if
    /// neither this run nor one nested in it has this id.
    pub fn decide_at(
        &mut self,
        run: RunId,
        call: impl Into<CallId>,
        approval: Approval,
        by: impl Into<String>,
    ) -> Result<(), PendingCallError> {
        self.run_at(run).ok_or(PendingCallError::UnknownRun(run))?.decide(call, approval, by)
    }

    /// Answers the question of a pending call of this run, or of a run nested in it, as
    /// [`answer`](Self::answer) does.
    ///
    /// # Errors
    /// Returns the errors of [`answer`](Self::answer), and [`PendingCallError::UnknownRun`] if
    /// neither this run nor one nested in it has this id.
    pub fn answer_at(
        &mut self,
        run: RunId,
        call: impl Into<CallId>,
        value: impl Into<Value>,
        by: impl Into<String>,
    ) -> Result<(), PendingCallError> {
        self.run_at(run).ok_or(PendingCallError::UnknownRun(run))?.answer(call, value, by)
    }

    fn run_at(&mut self, run: RunId) -> Option<&mut Self> {
        if self.run == run {
            return Some(self);
        }
        self.pending.iter_mut().find_map(|pending| match &mut pending.state {
            Some(ToolState::Run(nested)) => nested.run_at(run),
            _ => None,
        })
    }

    /// Returns the tools of all calls that await an answer if `with_question`, otherwise of those
    /// that await a decision. Each has the sub-agents in which its call is nested.
    pub(crate) fn awaited(&self, with_question: bool) -> Vec<String> {
        let each = self.pending.iter().flat_map(|pending| match pending.nested_run() {
            None if pending.question.is_some() == with_question => vec![pending.tool.clone()],
            None => Vec::new(),
            Some(run) => {
                let agent = &pending.tool;
                let calls = run.awaited(with_question).into_iter();
                calls.map(|call| format!("{call} within {agent}")).collect()
            }
        });
        each.collect()
    }

    /// Returns why earlier decisions do not apply to the pending calls of this run and of nested
    /// runs.
    pub(crate) fn void_decisions(&self) -> Vec<&str> {
        let each = self.pending.iter().flat_map(|pending| {
            let nested = pending.nested_run().map(Self::void_decisions).unwrap_or_default();
            pending.void_decision.as_deref().into_iter().chain(nested)
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
    /// - [`PendingCallError::Unknown`]: no pending call has this id.
    /// - [`PendingCallError::HasNestedRun`]: the calls of its [nested run](Self::nested_run_mut)
    ///   are pending instead.
    /// - [`PendingCallError::AwaitsAnswer`]: the call asks a [question](PendingCall::question).
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
        call: impl Into<CallId>,
        approval: Approval,
        by: impl Into<String>,
    ) -> Result<(), PendingCallError> {
        let call = call.into();
        let Some(pending) = self.pending.iter().find(|pending| pending.call.id == call) else {
            return Err(PendingCallError::Unknown(call));
        };
        if pending.question.is_some() {
            return Err(PendingCallError::AwaitsAnswer(call));
        }
        if pending.state.is_some() {
            return Err(PendingCallError::HasNestedRun(call));
        }
        let decision = pending.decision(approval, by);
        self.decisions.retain(|decision| decision.call != call);
        self.decisions.push(decision);
        Ok(())
    }

    /// Records decisions on several pending calls, such as those of a form, with the name of the
    /// approver. Calls without a decision stay pending.
    ///
    /// When the run resumes, the approver receives them again, without another
    /// [`ApprovalRequested`](crate::event::ToolEvent::ApprovalRequested) event.
    ///
    /// # Errors
    /// Returns the error of [`decide`](Self::decide) for the first call that can't be decided on,
    /// and records no decision.
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
    /// # let pay = |to: &str| format!(r#"{{"to": "{to}"}}"#);
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("pay", pay("Ada")).call("pay", pay("Grace")),
    /// #     ChatReply::text("Only Ada is paid."),
    /// # ]);
    /// let agent = Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater));
    /// let reason = agent.run("Pay Ada and Grace.").await.unwrap_err().reason;
    /// let StopReason::AwaitingApproval(mut paused) = reason else { panic!() };
    ///
    /// // The decisions of a person, from a form.
    /// let form = [("call_1", Approval::Once), ("call_2", Approval::Deny("not today".into()))];
    /// paused.decide_calls(form, "Linus")?;
    /// assert_eq!(agent.resume(*paused).finish().await?.text, "Only Ada is paid.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn decide_calls<I: Into<CallId>>(
        &mut self,
        decisions: impl IntoIterator<Item = (I, Approval)>,
        by: &str,
    ) -> Result<(), PendingCallError> {
        let before = self.decisions.clone();
        for (call, approval) in decisions {
            if let Err(error) = self.decide(call, approval, by) {
                self.decisions = before;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Records the answer to the [question](PendingCall::question) of a pending call, and the name
    /// of the person or program that answered. The last answer counts.
    ///
    /// The resumed run passes the answer to the tool unchanged. A call without an answer stays
    /// pending. The name becomes [`ToolExecution::answered_by`](crate::ToolExecution::answered_by).
    /// To answer a call of a nested run, call this method on the [nested
    /// run](Self::nested_run_mut).
    ///
    /// [`ToolContext::resumed`](crate::ToolContext::resumed) has an example.
    ///
    /// # Errors
    /// - [`PendingCallError::Unknown`]: no pending call has this id.
    /// - [`PendingCallError::NoQuestion`]: the call awaits a decision.
    /// - [`PendingCallError::HasNestedRun`]: the calls of its nested run are pending instead.
    /// - [`PendingCallError::AnswerTooDeep`]: the answer is nested more than 96 levels deep.
    pub fn answer(
        &mut self,
        call: impl Into<CallId>,
        value: impl Into<Value>,
        by: impl Into<String>,
    ) -> Result<(), PendingCallError> {
        let call = call.into();
        let Some(pending) = self.pending.iter_mut().find(|pending| pending.call.id == call) else {
            return Err(PendingCallError::Unknown(call));
        };
        let answer = CallAnswer::new(value, by);
        match (&pending.question, &pending.state) {
            (None, Some(ToolState::Run(_))) => Err(PendingCallError::HasNestedRun(call)),
            (None, _) => Err(PendingCallError::NoQuestion(call)),
            _ if !can_be_pending(&answer.value) => Err(PendingCallError::AnswerTooDeep(call)),
            _ => {
                pending.answer = Some(answer);
                Ok(())
            }
        }
    }

    /// Records a decision on every pending call, including those of nested runs, with the name of
    /// the approver. Calls for which `decide` returns [`Defer`](Approval::Defer) stay pending, and
    /// so do calls that ask a [question](PendingCall::question).
    pub fn decide_each(&mut self, mut decide: impl FnMut(&PendingCall) -> Approval, by: &str) {
        self.decide_all(&mut decide, by);
    }

    fn decide_all(&mut self, decide: &mut dyn FnMut(&PendingCall) -> Approval, by: &str) {
        self.decisions.clear();
        for pending in &mut self.pending {
            match &mut pending.state {
                Some(ToolState::Run(nested)) => nested.decide_all(decide, by),
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
    pub(crate) fn approved(&self) -> BTreeMap<String, RunApproval> {
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
