//! The state of a run between two steps.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session::SessionStatus;
use super::steering::DeliveredKeys;
use super::window::WindowState;
use super::{Limits, Outcome, Paused, PendingCall, Step, Turn};
use crate::event::RunId;
use crate::message::{Message, ToolCall, ToolResult};
use crate::tool::{Decision, RunApproval, ToolErrorKind};

/// The state of a run between two steps, as plain data.
///
/// [`Run::state`](super::Run::state) returns it, and [`Agent::resume`](crate::Agent::resume)
/// continues from it, in this process or in another.
///
/// ```
/// use tool_runtime::agent::RunState;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
/// let saved = serde_json::to_string(&agent.start("Hello").state())?;
///
/// let state: RunState = serde_json::from_str(&saved)?;
/// assert_eq!(state.turn.transcript().len(), 1);
/// assert_eq!(agent.resume(state).finish().await?.to_string(), "Hi!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunState {
    /// The id of the run.
    pub run: RunId,
    /// The transcript, what comes next, and the usage so far.
    pub turn: Turn,
    /// The metadata of the prompt, with the changes of interceptors.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The number of answers in a row that a validator rejected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) rejected_answers: u32,
    /// The index of the message with which the run began.
    pub(super) prompt_index: usize,
    /// The part of the transcript that the window has evicted.
    pub(super) window: WindowState,
    /// The tools that are approved for the rest of the run, by their full names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) approved: BTreeMap<String, RunApproval>,
    /// The tools that ran and may have had effects.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) mutating_tools: BTreeSet<String>,
    /// The keys of the messages that the run, or an earlier one of its session, has received.
    #[serde(default, skip_serializing_if = "DeliveredKeys::is_empty")]
    pub(super) delivered: DeliveredKeys,
    /// The decisions on pending calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) decisions: Vec<Decision>,
    /// Whether the decisions and answers were saved for a paused run that was not resumed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_saved_decisions: bool,
    /// The pending calls of a paused run. While the run is in flight, those that started and
    /// continue from a saved state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending: Vec<PendingCall>,
    /// The session to which the run belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// Whether the end of the run was emitted. If the process ended first, it was not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_end_emitted: bool,
    /// The code with which the run stopped, unless it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
}

impl RunState {
    /// Creates the state of a run that has not started.
    pub(super) fn new(mut turn: Turn) -> Self {
        let prompt_index = turn.transcript().len().saturating_sub(1);
        let run = RunId::random();
        turn.identify_messages(run);
        Self {
            run,
            turn,
            metadata: Map::new(),
            rejected_answers: 0,
            prompt_index,
            window: WindowState::default(),
            approved: BTreeMap::new(),
            mutating_tools: BTreeSet::new(),
            delivered: DeliveredKeys::default(),
            decisions: Vec::new(),
            has_saved_decisions: false,
            pending: Vec::new(),
            session: None,
            is_end_emitted: false,
            failure: None,
        }
    }

    /// Returns whether the run waits exactly where this one was paused.
    pub(super) fn is_paused_at(&self, paused: &Paused) -> bool {
        self.run == paused.run && self.turn.is_at_step_of(&paused.turn)
    }

    /// Returns the state with the decisions of a paused run. The paused run may have loaded more or
    /// fewer of the messages, so its transcript and the indices into it are not used.
    pub(super) fn decided(self, paused: Paused) -> Self {
        let Self { turn, window, prompt_index, delivered, .. } = self;
        Self { turn, window, prompt_index, delivered, ..paused.into() }
    }

    /// Returns the state of the conversation up to its first `count` messages, without a run that
    /// could be abandoned.
    pub(super) fn truncated(self, count: usize) -> Self {
        let Self { turn, window, metadata, delivered, .. } = self;
        let (_, offered) = turn.into_parts();
        Self {
            metadata,
            prompt_index: count.saturating_sub(1),
            window: window.truncated(count),
            delivered,
            is_end_emitted: true,
            ..Self::new(Turn::new(Vec::new(), 0).with_offered_tools(offered))
        }
    }

    /// Converts the indices of messages.
    pub(super) fn map_indices(&mut self, map: impl Fn(usize) -> usize) {
        self.prompt_index = map(self.prompt_index);
        self.window.map_indices(&map);
        self.turn.map_reported(&map);
    }

    /// Returns whether the state has pending calls or decisions on them.
    pub(super) fn has_pending_calls(&self) -> bool {
        !self.pending.is_empty() || !self.decisions.is_empty()
    }

    /// Returns the state to resume under these limits. A state that was damaged in storage is
    /// repaired, so that a provider accepts its transcript.
    pub(super) fn resumed(self, limits: &Limits) -> Self {
        Self { turn: self.turn.resume_with_limits(limits), ..self }
    }

    /// Returns a copy without the transcript, which a store keeps apart.
    pub(super) fn without_transcript(&self) -> Self {
        Self { turn: self.turn.without_transcript(), session: None, ..self.clone() }
    }

    /// Returns the status of the session in which the run has this state.
    pub(super) fn status(&self) -> SessionStatus {
        match () {
            () if self.is_paused() => SessionStatus::Paused,
            () if self.failure.is_some() => SessionStatus::Failed,
            () if !self.is_unfinished() => SessionStatus::Idle,
            () if self.is_end_emitted => SessionStatus::Interrupted,
            () => SessionStatus::Running,
        }
    }

    /// Returns whether the run waits for decisions on its calls, and for nothing else.
    pub(super) fn is_paused(&self) -> bool {
        if self.has_saved_decisions {
            return self.clone().into_unresumed("").is_some_and(|paused| paused.is_waiting());
        }
        // Decisions that are stored already are applied when the run is resumed.
        let is_decided =
            !self.decisions.is_empty() || self.pending.iter().any(|it| it.is_answered());
        self.is_at_pause() && !is_decided
    }

    /// Returns whether no call has started since the run was paused.
    fn is_at_pause(&self) -> bool {
        let Step::RunCalls(open) = self.turn.next() else { return false };
        let is_pending = |call: &ToolCall| self.pending.iter().any(|it| it.call.id == call.id);
        !self.turn.has_started_calls() && open.iter().all(is_pending)
    }

    /// Returns the run as a paused one, or `None` if it waits for more than decisions.
    pub(super) fn into_paused(self, session: &str) -> Option<Paused> {
        if self.is_paused() { self.into_unresumed(session) } else { None }
    }

    /// Returns the run as a paused one, also if all decisions on its calls are saved. Returns
    /// `None` if it was resumed since.
    pub(super) fn into_unresumed(self, session: &str) -> Option<Paused> {
        let is_undecided = self.has_saved_decisions || self.is_paused();
        if !is_undecided || !self.is_at_pause() {
            return None;
        }
        let Step::RunCalls(open) = self.turn.next() else { return None };
        let is_open = |pending: &PendingCall| open.iter().any(|call| call.id == pending.call.id);
        let pending: Vec<_> = self.pending.into_iter().filter(is_open).collect();
        Some(Paused {
            run: self.run,
            turn: self.turn,
            metadata: self.metadata,
            rejected_answers: self.rejected_answers,
            prompt_index: self.prompt_index,
            window: self.window,
            pending,
            decisions: self.decisions,
            approved: self.approved,
            mutating_tools: self.mutating_tools,
            delivered: self.delivered,
            session: Some(session.to_owned()),
        })
    }

    /// Returns the transcript, with the results so far of its last calls. Calls that wait for a
    /// decision have a result that says so.
    pub(super) fn into_messages(self, session: &str) -> Vec<Message> {
        let mut turn = self.turn.clone();
        if let Some(paused) = self.into_paused(session) {
            let is_pending = |call: &ToolCall, asks: bool| {
                let mut pending = paused.pending.iter().filter(|it| it.call.id == call.id);
                pending.any(|it| it.question().is_some() == asks)
            };
            let text = "Not run yet: it awaits approval.";
            turn.fail_calls(ToolErrorKind::AwaitingApproval, text, |call| is_pending(call, false));
            let text = "The call has not ended: it awaits an answer.";
            turn.fail_calls(ToolErrorKind::AwaitingApproval, text, |call| is_pending(call, true));
        }
        turn.into_messages()
    }

    /// Abandons the run: records a result for each open call, and withdraws the request for a
    /// value. The result of a call that has started states that it may have had effects, unless
    /// `is_retry_safe`.
    pub(super) fn abandon(
        &mut self,
        is_retry_safe: impl Fn(&ToolCall) -> bool,
    ) -> Vec<(ToolCall, ToolResult)> {
        self.withdraw_output_request();
        let text = "The run was abandoned before this call ended; it may have had effects.";
        let mut answered = self.turn.fail_calls(ToolErrorKind::Indeterminate, text, |call| {
            self.pending.iter().any(|pending| pending.call.id == call.id && pending.is_suspended())
        });
        answered.extend(self.turn.abandon(is_retry_safe));
        answered
    }

    /// Returns whether a step remains, or a value that the run owes.
    pub(super) fn is_unfinished(&self) -> bool {
        self.has_next_step() || self.owes_value()
    }

    /// Returns whether a request or a call remains.
    fn has_next_step(&self) -> bool {
        match self.turn.next() {
            Step::RequestModel => !self.turn.has_no_input(),
            Step::RunCalls(_) => true,
            Step::Done(_) => false,
        }
    }

    /// Returns whether the model has answered, but has not given the value that is to be extracted.
    pub(super) fn owes_value(&self) -> bool {
        self.turn.extraction_phase().is_some() && self.turn.next() == Step::Done(Outcome::Answered)
    }

    /// Returns the state with its transcript, which a store keeps apart.
    pub(super) fn with_transcript(mut self, transcript: Vec<Message>) -> Self {
        self.turn = self.turn.with_transcript(transcript);
        self
    }

    /// Returns the state with the metadata of its prompt.
    pub(super) fn with_metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Returns the state with the keys of the messages that the session has received.
    pub(super) fn with_delivered(mut self, delivered: DeliveredKeys) -> Self {
        self.delivered = delivered;
        self
    }

    /// Returns the state with the window of the run before it.
    pub(super) fn with_window(mut self, window: WindowState) -> Self {
        self.window = window;
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl From<Paused> for RunState {
    fn from(paused: Paused) -> Self {
        let approved = paused.approved();
        let Paused {
            run,
            turn,
            metadata,
            rejected_answers,
            prompt_index,
            window,
            pending,
            decisions,
            mutating_tools,
            delivered,
            session,
            approved: _,
        } = paused;
        Self {
            run,
            turn,
            metadata,
            rejected_answers,
            prompt_index,
            window,
            approved,
            mutating_tools,
            delivered,
            decisions,
            has_saved_decisions: false,
            pending,
            session,
            is_end_emitted: false,
            failure: None,
        }
    }
}
