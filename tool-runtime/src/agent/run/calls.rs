//! Runs the calls of a reply, and takes what came of them.

use std::collections::HashSet;
use std::sync::Arc;

use super::Run;
use crate::agent::StopReason;
use crate::agent::effects::heed;
use crate::agent::paused::{Paused, PendingCall};
use crate::dispatch::Batch;
use crate::event::ToolExecution;
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::full_name::is_named;

impl Run {
    pub(super) async fn call(
        &mut self,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolExecution>, StopReason> {
        let tools = match &self.tools {
            Some(tools) => tools.clone(),
            None => self.dispatcher.registry().snapshot(),
        };
        let mut batch = self.batch(calls.clone());
        batch.gone = self.gone(&calls, &tools);
        self.state.turn.begin_calls();
        if let Err(why) = self.keep().await {
            // They didn't.
            self.state.turn.clear_started();
            return Err(why);
        }
        let agent = Arc::clone(&self.agent);
        let (executions, taken) = match &agent.elsewhere {
            None if self.keeper.is_some() && calls.len() > 1 => {
                Box::pin(self.keeping_each(&tools, batch)).await
            }
            None => (self.dispatcher.dispatch_on(&tools, batch).await, HashSet::new()),
            Some(elsewhere) => {
                let done = self.elsewhere(elsewhere.as_ref(), &tools, calls, batch).await;
                (done, HashSet::new())
            }
        };
        let is_new = |execution: &&ToolExecution| !taken.contains(&execution.call.id);
        let new: Vec<_> = executions.iter().filter(is_new).collect();
        self.take(&new, &tools)?;
        // What they took stands in what became of them, but where that was lost.
        self.state.turn.add_metered(self.spent.take());
        self.state.decisions.clear();
        self.state.suspended.clear();
        let turn = &mut self.state.turn;
        turn.clear_started();
        // In their order, however they ended.
        heed(turn, &executions, &tools);
        let halted = self.dispatcher.aborted_at(&executions);
        let halted = halted.and_then(|at| executions.get(at)).cloned();
        let mut pending: Vec<_> = executions.iter().filter(|it| it.is_pending()).collect();
        if let Some(request) = turn.stop_request().cloned() {
            // Nothing waits any more, and what has begun is not to be called unrun.
            pending.retain(|execution| execution.suspended.is_some());
            turn.on_partial_results(results(pending.drain(..)))?;
            turn.stop(request);
        }
        let paused = match pending.is_empty() {
            true => None,
            false => Some(self.pause(&pending, &tools).await?),
        };
        match (halted, paused) {
            (Some(execution), _) => {
                // Where the run was stopped, so were its calls, and that is no failure of theirs.
                self.may_go_on()?;
                Err(StopReason::BatchAborted(Box::new(execution)))
            }
            (None, Some(paused)) => Err(StopReason::AwaitingApproval(paused)),
            (None, None) => Ok(executions),
        }
    }

    fn batch(&self, calls: Vec<ToolCall>) -> Batch {
        let state = &self.state;
        let mut batch = Batch::from(calls);
        batch.origin = self.origin();
        batch.conversation = Some(state.turn.shared_transcript());
        batch.stop = self.agent.stop.clone();
        batch.deadline = self.until(&self.agent).remaining();
        batch.ends_run = batch.deadline.is_some();
        batch.spent = Some(self.spent.clone());
        // Kept until the calls have ended, for whoever has to make them again.
        batch.decisions.clone_from(&state.decisions);
        batch.resumed = state.suspended.iter().filter_map(PendingCall::suspended).collect();
        batch
    }

    /// What they call a tool by that was offered before, and was taken away.
    fn gone(&self, calls: &[ToolCall], tools: &Snapshot) -> Vec<String> {
        let unknown = calls.iter().filter(|call| tools.entry(&call.name).is_none());
        let is_gone = |call: &&ToolCall| {
            let all = self.dispatcher.registry().snapshot();
            let offered = self.state.turn.offered_tools().order().iter();
            let mut of_name = offered.filter(|full| is_named(full, &call.name)).peekable();
            let is_there = |full: &String| all.entries().any(|it| it.full_name() == full);
            of_name.peek().is_some() && !of_name.any(is_there)
        };
        unknown.filter(is_gone).map(|call| call.name.clone()).collect()
    }

    /// Keeps the run as it waits for these.
    async fn pause(
        &mut self,
        pending: &[&ToolExecution],
        tools: &Snapshot,
    ) -> Result<Box<Paused>, StopReason> {
        let results = results(pending.iter().copied());
        let pending =
            pending.iter().map(|it| PendingCall::of(it, tools, &self.dispatcher)).collect();
        let paused = Box::new(Paused {
            run: self.state.run,
            turn: self.state.turn.clone(),
            began: self.state.began,
            window: self.state.window.clone(),
            pending,
            decisions: Vec::new(),
            approved: self.dispatcher.approved_tools(self.state.run),
            acted: self.state.acted.clone(),
            session: self.session(),
        });
        self.state.suspended = paused.suspended();
        self.keep().await?;
        // Whoever doesn't resume the run has a conversation to go on with all the same.
        self.state.suspended.clear();
        self.state.turn.on_partial_results(results)?;
        Ok(paused)
    }
}

pub(super) fn results<'e>(
    executions: impl IntoIterator<Item = &'e ToolExecution>,
) -> Vec<ToolResult> {
    executions.into_iter().map(|execution| execution.result.clone()).collect()
}
