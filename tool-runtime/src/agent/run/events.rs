//! Emits the events of a run as a whole: started, message added, finished.

use super::Run;
use crate::agent::StopReason;
use crate::event::{EventKind, Origin, RunEvent, micros};
use crate::guard::{drop_guarded, error_text};

impl Run {
    /// Emits that the run starts or resumes.
    pub(super) fn emit_started(&self) {
        let agent = self.agent.name.clone();
        // A run that was to be resumed outside of its session belongs to the session all the same.
        let session = || self.session().or_else(|| self.state.session.clone());
        self.emit(|| RunEvent::Started { parent_run: self.parent, agent, session: session() });
    }

    /// Emits the messages that were added since the last time.
    pub(super) fn emit_added_messages(&mut self) {
        self.collect_added_messages();
        std::mem::take(&mut self.unemitted).into_iter().for_each(|added| self.emit(|| added));
    }

    /// Emits these events for the messages that were added just now, of which the caller knows more
    /// than the transcript does. Messages added before that have to be
    /// [collected](Self::collect_added_messages) already.
    pub(in crate::agent) fn emit_added_as(&mut self, added: impl IntoIterator<Item = RunEvent>) {
        self.state.turn.mark_reported();
        if self.dispatcher.has_observers() {
            self.unemitted.extend(added);
        }
        if self.started.is_some() {
            self.emit_added_messages();
        }
    }

    /// Collects the messages that were added, to be emitted once the run has started.
    pub(in crate::agent) fn collect_added_messages(&mut self) {
        if self.dispatcher.has_observers() {
            self.unemitted.extend(self.state.turn.unreported_messages());
        }
        self.state.turn.mark_reported();
    }

    /// Emits that the run ended, or paused.
    pub(in crate::agent) fn emit_finished(&mut self, reason: Option<&StopReason>) {
        self.is_finish_emitted = true;
        self.emit_finished_with(|| reason.map(|reason| (reason.code(), error_text(reason))));
    }

    fn emit_finished_with(&self, reason: impl FnOnce() -> Option<(&'static str, String)>) {
        // The start of a run that ended before its first step was not emitted either.
        let Some(started) = self.started else { return };
        let (turn, duration) = (&self.state.turn, micros::truncate(started.elapsed()));
        self.emit(|| {
            let (code, error) = reason().map(|(code, error)| (code.to_owned(), error)).unzip();
            RunEvent::Finished { code, error, usage: turn.usage(), cost: turn.cost(), duration }
        });
    }

    /// Emits an event of this run. The event is built only if an observer receives it.
    pub(in crate::agent) fn emit<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        self.dispatcher.emit(&self.origin(), kind);
    }

    /// Returns the origin of events in the current turn.
    pub(super) fn origin(&self) -> Origin {
        Origin { turn: self.state.turn.iterations(), ..self.root.clone() }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        drop_guarded(self.offered.take());
        if !self.is_finish_emitted {
            let reason = || Some(("DROPPED", "the run was dropped before it ended".to_owned()));
            self.emit_finished_with(reason);
        }
    }
}
