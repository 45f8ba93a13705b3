//! Keeps what came of a call while others of the same reply are still under way.
//!
//! Where the process ends then, only what has no result yet is in doubt. The last result is kept with the step; so
//! are those that a store would not take before.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Run;
use super::calls::results;
use crate::agent::InvalidTransition;
use crate::agent::effects::{acted, heed, spent};
use crate::agent::paused::PendingCall;
use crate::dispatch::Batch;
use crate::event::ToolExecution;
use crate::message::CallId;
use crate::registry::Snapshot;

impl Run {
    /// What came of each call, in their order, and which of them were taken meanwhile.
    pub(super) async fn keeping_each(
        &mut self,
        tools: &Snapshot,
        mut batch: Batch,
    ) -> (Vec<ToolExecution>, HashSet<CallId>) {
        let (sender, came) = unbounded_channel();
        batch.came = Some(sender);
        let mut running = pin!(self.dispatcher.dispatch_on(tools, batch));
        let mut taking = pin!(self.take_early(tools, came));
        let (mut done, mut taken) = (None, None);
        // A write that is under way when the last call ends is waited for: dropped, it may have been done or not.
        poll_fn(|cx| {
            if done.is_none()
                && let Poll::Ready(executions) = running.as_mut().poll(cx)
            {
                done = Some(executions);
            }
            if taken.is_none()
                && let Poll::Ready(calls) = taking.as_mut().poll(cx)
            {
                taken = Some(calls);
            }
            match (&mut done, &mut taken) {
                (Some(done), Some(taken)) => {
                    Poll::Ready((std::mem::take(done), std::mem::take(taken)))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Takes what came, and keeps it, until all calls have ended or the store takes no more. What comes while it
    /// is being kept goes with the next.
    async fn take_early(
        &mut self,
        tools: &Snapshot,
        mut came: UnboundedReceiver<ToolExecution>,
    ) -> HashSet<CallId> {
        let mut taken = HashSet::new();
        while let Some(first) = came.recv().await {
            let mut some = vec![first];
            while let Ok(more) = came.try_recv() {
                some.push(more);
            }
            // With the last one, the step is over and keeps them all.
            if came.is_closed() {
                break;
            }
            let some: Vec<_> = some.iter().collect();
            if self.take(&some, tools).is_err() {
                break;
            }
            taken.extend(some.iter().map(|execution| execution.call.id.clone()));
            if self.keep().await.is_err() {
                break;
            }
        }
        taken
    }

    /// Takes what came of calls.
    pub(super) fn take(
        &mut self,
        came: &[&ToolExecution],
        tools: &Snapshot,
    ) -> Result<(), InvalidTransition> {
        let (waits, done): (Vec<_>, Vec<_>) = came.iter().copied().partition(|it| it.is_pending());
        let turn = &mut self.state.turn;
        turn.on_partial_results(results(done))?;
        let took = spent(came.iter().copied());
        self.spent.settle(took);
        turn.add_metered(took);
        self.state.acted.extend(acted(came.iter().copied(), tools));
        heed(turn, came.iter().copied(), tools);
        for execution in waits {
            turn.mark_not_started(&execution.call.id);
            self.state.suspended.retain(|begun| begun.call.id != execution.call.id);
            if execution.suspended.is_some() {
                self.state.suspended.push(PendingCall::of(execution, tools, &self.dispatcher));
            }
        }
        Ok(())
    }
}
