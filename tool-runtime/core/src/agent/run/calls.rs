//! Runs the calls of a reply and records their executions.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::Run;
use crate::agent::StopReason;
use crate::agent::effects::{apply_effects, apply_metadata};
use crate::agent::{Paused, PendingCall};
use crate::dispatch::{Approval, Batch};
use crate::event::ToolExecution;
use crate::message::{ToolCall, ToolResult};
use crate::registry::{Entry, Snapshot};
use crate::tool::definition::full_name::callable_names;

impl Run {
    /// Runs the calls. Stops the run if the policy requires it, and pauses it if calls are pending.
    pub(super) async fn run_calls(
        &mut self,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolExecution>, StopReason> {
        let tools = match &self.requests.offered {
            Some(tools) => tools.clone(),
            None => self.dispatcher.registry().snapshot(),
        };
        let mut batch = self.batch(calls.clone());
        batch.removed_tools = self.removed_tools(&calls, &tools);
        let earlier = self.state.turn.started_marks();
        self.state.turn.begin_calls(self.dispatcher.now());
        if let Err(reason) = self.save().await {
            // No call was started here.
            self.state.turn.restore_started(earlier);
            return Err(reason);
        }
        let agent = Arc::clone(&self.agent);
        let (executions, recorded) = match &agent.remote {
            // What has ended by the time the step is dropped keeps its result.
            None if calls.len() > 1 => Box::pin(self.dispatch_and_save_early(&tools, batch)).await,
            None => (self.dispatcher.dispatch_on(&tools, batch).await, HashSet::new()),
            Some(remote) => {
                let executions =
                    self.dispatch_remotely(remote.as_ref(), &tools, calls, batch).await;
                (executions, HashSet::new())
            }
        };
        let is_new = |execution: &&ToolExecution| !recorded.contains(&execution.call.id);
        let new: Vec<_> = executions.iter().filter(is_new).collect();
        self.record(&new, &tools)?;
        // The executions report their usage. What is left was used by calls whose execution was
        // lost.
        self.state.turn.add_metered(self.meter.take());
        self.state.decisions.clear();
        self.state.has_saved_decisions = false;
        self.state.pending.clear();
        let turn = &mut self.state.turn;
        turn.clear_started();
        // Applied again in the order of the calls, whatever the order in which they ended.
        apply_effects(turn, &executions, &tools);
        apply_metadata(&mut self.state.metadata, &executions);
        let aborting = self.dispatcher.aborted_at(&executions);
        let aborting = aborting.and_then(|index| executions.get(index)).cloned();
        let mut pending: Vec<_> = executions.iter().filter(|it| it.is_pending()).collect();
        if let Some(request) = turn.stop_request().cloned() {
            // The run stops, so no call waits for a decision. Suspended calls have run in part
            // and are not answered as if they had not.
            pending.retain(|execution| execution.suspended_state().is_some());
            turn.on_partial_results(results(pending.drain(..)))?;
            turn.stop_with(request);
        }
        let paused =
            if pending.is_empty() { None } else { Some(self.pause(&pending, &tools).await?) };
        match (aborting, paused) {
            (Some(execution), _) => {
                // If the run was cancelled, so were its calls. That is no failure of theirs.
                self.check_cancelled()?;
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
        batch.run_info = Some(self.run_info());
        batch.transcript = Some(state.turn.shared_transcript());
        batch.cancellation = self.cancellation().cloned();
        batch.permit = self.session.lease().map(|lease| lease.permit().clone());
        if let Some(steering) = &self.agent.steering {
            let session = self.session.name();
            let steering = steering.for_tools(state.run, session.as_deref());
            batch.extensions = std::mem::take(&mut batch.extensions).with(steering);
        }
        batch.timeout = self.deadline().remaining();
        batch.is_run_deadline = batch.timeout.is_some();
        self.meter.set_allowance(state.turn.allowance());
        batch.usage_meter = Some(self.meter.clone());
        batch.caller.clone_from(&self.caller);
        batch.started = state.turn.started_calls().map(|(call, _)| call.clone()).collect();
        // Cloned, not moved: until the calls have ended, a resumed run needs them to make the calls
        // again.
        batch.decisions.clone_from(&state.decisions);
        let undecided = state.pending.iter().filter(|it| it.awaits_decision());
        batch.deferred = undecided.map(|it| it.decision(Approval::Defer, "")).collect();
        batch.suspended = state.pending.iter().filter_map(PendingCall::to_suspended).collect();
        batch
    }

    /// Returns the called names of tools that were offered before and have been removed since,
    /// sorted.
    fn removed_tools(&self, calls: &[ToolCall], tools: &Snapshot) -> Vec<String> {
        let names = calls.iter().map(|call| call.name.as_str());
        let unknown: HashSet<_> = names.filter(|name| tools.entry(name).is_none()).collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        let all = self.dispatcher.registry().snapshot();
        let present: HashSet<_> = all.entries().map(Entry::full_name).collect();
        let (mut removed, mut registered) = (BTreeSet::new(), BTreeSet::new());
        for full in self.state.turn.offered_tools().names() {
            let names = callable_names(full).filter(|name| unknown.contains(name));
            let is_present = present.contains(full.as_str());
            names.for_each(|name| {
                _ = if is_present { &mut registered } else { &mut removed }.insert(name)
            });
        }
        removed.difference(&registered).map(|name| (*name).to_owned()).collect()
    }

    /// Pauses the run for the pending calls, and saves it as paused.
    async fn pause(
        &mut self,
        pending: &[&ToolExecution],
        tools: &Snapshot,
    ) -> Result<Box<Paused>, StopReason> {
        self.record_active_time();
        let results = results(pending.iter().copied());
        let pending =
            pending.iter().map(|it| PendingCall::of(it, tools, &self.dispatcher)).collect();
        let paused = Box::new(Paused {
            run: self.state.run,
            turn: self.state.turn.clone(),
            metadata: self.state.metadata.clone(),
            rejected_answers: self.state.rejected_answers,
            prompt_index: self.state.prompt_index,
            window: self.state.window.clone(),
            pending,
            decisions: Vec::new(),
            approved: self.dispatcher.approved_tools(self.state.run),
            mutating_tools: self.state.mutating_tools.clone(),
            delivered: self.state.delivered.clone(),
            session: self.session.name(),
        });
        self.state.pending.clone_from(&paused.pending);
        self.save().await?;
        // The transcript of the stopped run answers every call, so that it can be continued without
        // resuming the run.
        self.state.pending.clear();
        self.state.turn.on_partial_results(results)?;
        Ok(paused)
    }
}

pub(super) fn results<'e>(
    executions: impl IntoIterator<Item = &'e ToolExecution>,
) -> Vec<ToolResult> {
    executions.into_iter().map(|execution| execution.result.clone()).collect()
}
