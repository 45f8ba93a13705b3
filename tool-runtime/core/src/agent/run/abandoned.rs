//! Emits the end of interrupted calls and abandoned runs.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Run;
use crate::agent::StopReason;
use crate::agent::config::AgentConfig;
use crate::agent::state::RunState;
use crate::event::{Origin, RunEvent};
use crate::message::{ToolCall, ToolResult, Usage};
use crate::registry::Registry;

/// An unfinished run of a session that another prompt has replaced.
pub(in crate::agent) struct AbandonedRun {
    origin: Origin,
    metadata: Map<String, Value>,
    answered_calls: Vec<(ToolCall, ToolResult)>,
    usage: Usage,
    cost: Option<f64>,
}

impl AbandonedRun {
    /// Abandons the run and records results for its open calls. Returns `None` if the end of the
    /// run was emitted before.
    pub(in crate::agent) fn take_from(state: &mut RunState, agent: &AgentConfig) -> Option<Self> {
        let is_open = state.is_unfinished() && !state.is_end_emitted;
        let tools = agent.registry.as_ref().map(Registry::snapshot).unwrap_or_default();
        let answered_calls = state.abandon(|call| tools.is_retry_safe(&call.name));
        let turn = &state.turn;
        is_open.then(|| Self {
            origin: Origin::new(state.run, turn.iterations()),
            metadata: std::mem::take(&mut state.metadata),
            answered_calls,
            usage: turn.usage(),
            cost: turn.cost(),
        })
    }
}

impl Run {
    /// Saves that the run ended with an answer in words, so that a run whose extraction is
    /// unfinished does not count as abandoned.
    pub(super) async fn save_end(&mut self) -> Result<(), StopReason> {
        if !self.state.owes_value() {
            return Ok(());
        }
        self.state.is_end_emitted = true;
        self.save().await
    }

    /// Emits start and end of the run that this one replaces, if any.
    pub(super) fn emit_abandoned(&mut self) {
        let Some(abandoned) = self.session.take_abandoned() else { return };
        let AbandonedRun { origin, metadata, answered_calls, usage, cost } = abandoned;
        let agent = self.agent.name.clone();
        let session = self.session.name();
        self.dispatcher.emit(&origin, || RunEvent::Started {
            parent_run: None,
            agent,
            session,
            metadata,
        });
        self.emit_answered(&origin, answered_calls);
        self.dispatcher.emit(&origin, || RunEvent::Finished {
            code: Some("ABANDONED".to_owned()),
            error: Some("another prompt replaced the run before it ended".to_owned()),
            usage,
            cost,
            duration: Duration::ZERO,
        });
        self.dispatcher.release_ends(origin.run);
    }

    /// Emits the end of calls that got a result without being run, unless it was emitted before.
    pub(super) fn emit_answered(&self, origin: &Origin, calls: Vec<(ToolCall, ToolResult)>) {
        for (call, result) in calls {
            self.dispatcher.emit_answered(origin, call, result);
        }
    }
}
