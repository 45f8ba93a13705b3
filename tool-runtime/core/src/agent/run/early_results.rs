//! Saves the result of a call while other calls of the same reply are in flight.
//!
//! If the process ends then, only calls without a result are in doubt. The last result is saved
//! with the step, and so are results that the store refused before.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Run;
use super::calls::results;
use crate::agent::PendingCall;
use crate::agent::TransitionError;
use crate::agent::effects::{apply_effects, apply_metadata, metered_usage, mutating_tools};
use crate::dispatch::Batch;
use crate::event::ToolExecution;
use crate::message::CallId;
use crate::registry::Snapshot;

impl Run {
    /// Runs the batch. Returns the executions, in the order of the calls, and the calls whose
    /// result was recorded early.
    pub(super) async fn dispatch_and_save_early(
        &mut self,
        tools: &Snapshot,
        mut batch: Batch,
    ) -> (Vec<ToolExecution>, HashSet<CallId>) {
        let (sender, finished) = unbounded_channel();
        batch.completed = Some(sender);
        let mut dispatching = pin!(self.dispatcher.dispatch_on(tools, batch));
        let mut recording = pin!(self.record_early(tools, finished));
        let (mut executions, mut recorded) = (None, None);
        // A write in progress when the last call ends is awaited: if it were dropped, it would be
        // unknown whether it was done.
        poll_fn(|cx| {
            if executions.is_none()
                && let Poll::Ready(finished) = dispatching.as_mut().poll(cx)
            {
                executions = Some(finished);
            }
            if recorded.is_none()
                && let Poll::Ready(calls) = recording.as_mut().poll(cx)
            {
                recorded = Some(calls);
            }
            match (&mut executions, &mut recorded) {
                (Some(executions), Some(recorded)) => {
                    Poll::Ready((std::mem::take(executions), std::mem::take(recorded)))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Records and saves executions as they finish, until all calls have ended or the store refuses
    /// a write. Executions that finish during a write go with the next.
    async fn record_early(
        &mut self,
        tools: &Snapshot,
        mut finished: UnboundedReceiver<ToolExecution>,
    ) -> HashSet<CallId> {
        let mut recorded = HashSet::new();
        while let Some(first) = finished.recv().await {
            let mut ready = vec![first];
            while let Ok(more) = finished.try_recv() {
                ready.push(more);
            }
            // After the last call, the step ends and saves all results.
            if finished.is_closed() {
                break;
            }
            let ready: Vec<_> = ready.iter().collect();
            if self.record(&ready, tools).is_err() {
                break;
            }
            recorded.extend(ready.iter().map(|execution| execution.call.id.clone()));
            if self.save().await.is_err() {
                break;
            }
        }
        recorded
    }

    /// Records executions in the state: results, usage, effects and calls that are pending.
    pub(super) fn record(
        &mut self,
        executions: &[&ToolExecution],
        tools: &Snapshot,
    ) -> Result<(), TransitionError> {
        let (pending, finished): (Vec<_>, Vec<_>) =
            executions.iter().copied().partition(|execution| execution.is_pending());
        let turn = &mut self.state.turn;
        for cached in finished.iter().filter(|execution| execution.cached) {
            turn.discount_repeat(&cached.call.id);
        }
        turn.on_partial_results(results(finished))?;
        let usage = metered_usage(executions.iter().copied());
        self.meter.subtract(&usage);
        turn.add_metered(usage);
        self.state.mutating_tools.extend(mutating_tools(executions.iter().copied(), tools));
        apply_effects(turn, executions.iter().copied(), tools);
        apply_metadata(&mut self.state.metadata, executions.iter().copied());
        let replaced: HashSet<_> = pending.iter().map(|execution| &execution.call.id).collect();
        self.state.pending.retain(|pending| !replaced.contains(&pending.call.id));
        for execution in pending {
            turn.mark_not_started(&execution.call.id);
            if execution.suspended_state().is_some() {
                self.state.pending.push(PendingCall::of(execution, tools, &self.dispatcher));
            }
        }
        Ok(())
    }
}
