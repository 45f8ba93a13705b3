//! A run between two steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Paused, Turn};
use crate::event::RunId;
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
        Self { run: RunId::random(), turn, approved: BTreeMap::new(), decisions: Vec::new() }
    }
}

impl From<Paused> for RunState {
    fn from(paused: Paused) -> Self {
        let approved = paused.approved();
        let Paused { run, turn, decisions, .. } = paused;
        Self { run, turn, approved, decisions }
    }
}
