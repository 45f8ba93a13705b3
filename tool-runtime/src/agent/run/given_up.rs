//! What those who watch are told of calls that nobody saw end, and of a run that nobody goes on with.

use std::time::Duration;

use super::Run;
use crate::agent::StopReason;
use crate::agent::state::RunState;
use crate::event::{Origin, RunEvent, ToolEvent};
use crate::message::{ToolCall, ToolResult, Usage};

/// A run in a session in whose place something else was said.
pub(in crate::agent) struct GivenUp {
    origin: Origin,
    settled: Vec<(ToolCall, ToolResult)>,
    usage: Usage,
    cost: Option<f64>,
}

impl GivenUp {
    /// Answers the calls that are open. None where those who watch were told of the run's end before.
    pub(in crate::agent) fn of(state: &mut RunState) -> Option<Self> {
        let is_under_way = state.is_unfinished() && !state.has_stopped;
        let settled = state.give_up();
        let turn = &state.turn;
        is_under_way.then(|| Self {
            origin: Origin::new(state.run, turn.iterations()),
            settled,
            usage: turn.usage(),
            cost: turn.cost(),
        })
    }
}

impl Run {
    /// It ends in words. Where it owes a value, it is not one that was given up for that.
    pub(super) async fn keep_end(&mut self) -> Result<(), StopReason> {
        if !self.state.owes_value() {
            return Ok(());
        }
        self.state.has_stopped = true;
        self.keep().await
    }

    pub(super) fn tell_given_up(&mut self) {
        let Some(GivenUp { origin, settled, usage, cost }) = self.gave_up.take() else { return };
        let agent = self.agent.name.clone();
        let session = self.session();
        self.dispatcher.tell(&origin, || RunEvent::Started { within: None, agent, session });
        self.tell_settled(&origin, settled);
        self.dispatcher.tell(&origin, || RunEvent::Finished {
            code: Some("GIVEN_UP".to_owned()),
            error: Some("something else was said before it had ended".to_owned()),
            usage,
            cost,
            took: Duration::ZERO,
        });
    }

    /// These have their result now, and were not run for it.
    pub(super) fn tell_settled(&self, origin: &Origin, settled: Vec<(ToolCall, ToolResult)>) {
        for (call, result) in settled {
            let unrun = || self.dispatcher.unrun(call, result);
            self.dispatcher.tell(origin, || ToolEvent::Finished(unrun()));
        }
    }
}
