//! The session that a run belongs to, if any: the place where its steps are saved.

use std::sync::Arc;

use super::abandoned::AbandonedRun;
use crate::agent::StopReason;
use crate::agent::persist::SessionWriter;
use crate::agent::session::{HeldLease, SessionHold};
use crate::agent::state::RunState;

/// The session of a run. By default, the run belongs to none, and nothing is saved.
#[derive(Default)]
pub(in crate::agent) struct RunSession {
    writer: Option<SessionWriter>,
    /// The unfinished run that this one replaces.
    abandoned: Option<AbandonedRun>,
    /// Keeps other runs of the session waiting until this one has ended.
    hold: Option<SessionHold>,
}

impl RunSession {
    pub(in crate::agent) fn new(
        writer: SessionWriter,
        abandoned: Option<AbandonedRun>,
        hold: SessionHold,
    ) -> Self {
        let writer = writer.with_epoch(hold.epoch());
        Self { writer: Some(writer), abandoned, hold: Some(hold) }
    }

    /// Lets the next run of the session begin.
    pub(in crate::agent) async fn release(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.release().await;
        }
    }

    /// Returns the lease of the session, until it is released.
    pub(super) fn lease(&self) -> Option<&Arc<HeldLease>> {
        self.hold.as_ref()?.lease()
    }

    /// Returns whether the run belongs to a session.
    pub(super) fn is_set(&self) -> bool {
        self.writer.is_some()
    }

    /// Returns the name of the session.
    pub(in crate::agent) fn name(&self) -> Option<String> {
        self.writer.as_ref().map(|writer| writer.session().to_owned())
    }

    /// Returns whether the transcript has messages that are not saved.
    pub(super) fn is_behind(&self, state: &RunState) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_behind(state))
    }

    /// Marks the messages from this index on as changed, so that the next write replaces them.
    pub(in crate::agent) fn rewrite_from(&mut self, index: usize) {
        if let Some(writer) = &mut self.writer {
            writer.rewrite_from(index);
        }
    }

    /// Saves the state, unless another process may have acquired the session.
    pub(super) async fn save(&mut self, state: &RunState) -> Result<(), StopReason> {
        if let Some(lease) = self.lease() {
            lease.check()?;
        }
        match &mut self.writer {
            Some(writer) => Ok(writer.save(state).await?),
            None => Ok(()),
        }
    }

    /// Returns the run that this one replaces, until its end is emitted.
    pub(super) fn abandoned(&mut self) -> Option<&mut AbandonedRun> {
        self.abandoned.as_mut()
    }

    /// Takes the run whose end is emitted once the first step of this one is saved.
    pub(super) fn take_abandoned(&mut self) -> Option<AbandonedRun> {
        self.abandoned.take()
    }
}
