//! A run between two steps.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::window::WindowState;
use super::{Limits, Outcome, Paused, PendingCall, Step, Turn};
use crate::event::RunId;
use crate::message::{Message, ToolCall, ToolResult};
use crate::tool::{Decision, ToolErrorKind};

/// A run between two steps, as plain data: what [`Run::state`](super::Run::state) gives, and
/// [`Agent::resume`](crate::Agent::resume) goes on with, in this process or in another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunState {
    /// Which run.
    pub run: RunId,
    /// How far it is.
    pub turn: Turn,
    /// Where in the conversation it began.
    #[serde(default)]
    pub(super) began: usize,
    /// What was shown of the conversation.
    #[serde(default)]
    pub(super) window: WindowState,
    /// The full names of the tools that may run for the rest of the run, and who said so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) approved: BTreeMap<String, String>,
    /// The tools that ran and may have changed the world.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) acted: BTreeSet<String>,
    /// What was decided on calls that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) decisions: Vec<Decision>,
    /// The calls that have begun and wait for what lies within them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) suspended: Vec<PendingCall>,
    /// The session that it belongs to, where it was taken out of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// Whether those who watch were told of its end: not where its process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_stopped: bool,
}

impl RunState {
    /// A run that has not begun.
    pub(super) fn new(turn: Turn) -> Self {
        let began = turn.transcript().len().saturating_sub(1);
        Self {
            run: RunId::random(),
            turn,
            began,
            window: WindowState::default(),
            approved: BTreeMap::new(),
            acted: BTreeSet::new(),
            decisions: Vec::new(),
            suspended: Vec::new(),
            session: None,
            has_stopped: false,
        }
    }

    /// Whether it waits at the very place where this one was paused.
    pub(super) fn waits_as(&self, paused: &Paused) -> bool {
        self.run == paused.run && self.turn == paused.turn
    }

    /// Whether there are calls in it that wait, or waited.
    pub(super) fn waits(&self) -> bool {
        !self.suspended.is_empty() || !self.decisions.is_empty()
    }

    /// As a run under these limits goes on with it. Whoever kept it may have lost or changed anything: what a
    /// provider would refuse is mended.
    pub(super) fn resumed(self, limits: &Limits) -> Self {
        Self { turn: self.turn.resume_with_limits(limits), ..self }
    }

    /// Without what was said: a store keeps that apart.
    pub(super) fn without_transcript(&self) -> Self {
        Self { turn: self.turn.without_transcript(), session: None, ..self.clone() }
    }

    /// Nobody goes on with it: calls that are open are answered, and no value is asked for. Calls that have begun may
    /// have had effects.
    pub(super) fn give_up(&mut self) -> Vec<(ToolCall, ToolResult)> {
        self.withdraw_question();
        let text = "The run was given up before this call had ended; it may have had effects.";
        let mut settled = self.turn.fail_calls(ToolErrorKind::Indeterminate, text, |call| {
            self.suspended.iter().any(|it| it.call.id == call.id)
        });
        settled.extend(self.turn.abandon());
        settled
    }

    /// Whether there is more to be asked or called, or a value that it owes.
    pub(super) fn is_unfinished(&self) -> bool {
        self.goes_on() || self.owes_value()
    }

    /// Whether there is more to be asked or called.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.turn.next(), Step::RequestModel | Step::RunCalls(_))
    }

    /// Whether the model has answered, and not given the value that it was to give.
    pub(super) fn owes_value(&self) -> bool {
        self.turn.extraction_phase().is_some() && self.turn.next() == Step::Done(Outcome::Answered)
    }

    /// With what was said, as it was kept apart.
    pub(super) fn with_transcript(mut self, transcript: Vec<Message>) -> Self {
        self.turn = self.turn.with_transcript(transcript);
        self
    }

    /// What was shown of the conversation before.
    pub(super) fn with_window(mut self, window: WindowState) -> Self {
        self.window = window;
        self
    }
}

impl From<Paused> for RunState {
    fn from(paused: Paused) -> Self {
        let (approved, suspended) = (paused.approved(), paused.suspended());
        let Paused { run, turn, began, window, acted, decisions, session, .. } = paused;
        Self {
            run,
            turn,
            began,
            window,
            approved,
            acted,
            decisions,
            suspended,
            session,
            has_stopped: false,
        }
    }
}
