//! A run between two steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::window::WindowState;
use super::{Limits, Paused, Turn};
use crate::event::RunId;
use crate::message::Message;
use crate::tool::Decision;

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
    /// What was decided on calls that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) decisions: Vec<Decision>,
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
            decisions: Vec::new(),
        }
    }

    /// Whether it waits at the very place where this one was paused.
    pub(super) fn waits_as(&self, paused: &Paused) -> bool {
        self.run == paused.run && self.turn == paused.turn
    }

    /// As a run under these limits goes on with it. Whoever kept it may have lost or changed anything: what a
    /// provider would refuse is mended.
    pub(super) fn resumed(self, limits: &Limits) -> Self {
        Self { turn: self.turn.resumed(limits), ..self }
    }

    /// Without what was said: a store keeps that apart.
    pub(super) fn without_transcript(&self) -> Self {
        let Self { run, turn, began, window, approved, decisions } = self;
        Self {
            run: *run,
            turn: turn.without_transcript(),
            began: *began,
            window: window.clone(),
            approved: approved.clone(),
            decisions: decisions.clone(),
        }
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
        let approved = paused.approved();
        let Paused { run, turn, began, window, decisions, .. } = paused;
        Self { run, turn, began, window, approved, decisions }
    }
}
