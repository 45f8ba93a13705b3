//! Emits the events of a run as a whole: started, message added, finished.

use super::Run;
use crate::agent::config::AgentConfig;
use crate::agent::spans::RunSpan;
use crate::agent::{StopReason, Turn};
use crate::event::{EventKind, Origin, RunEvent, RunId, micros};
use crate::guard::{drop_guarded, error_text};
use crate::message::{CallId, Message};

/// The events of a run as a whole: where they belong, and which are not emitted yet.
pub(super) struct RunEvents {
    /// The origin of the run's own events.
    root: Origin,
    /// The run in which this one is nested.
    parent: Option<RunId>,
    /// The span of the run, in which its steps run.
    pub(super) span: RunSpan,
    /// Events of added messages that are not emitted yet.
    unemitted: Vec<RunEvent>,
    is_finish_emitted: bool,
}

impl RunEvents {
    pub(super) fn new(run: RunId, agent: &AgentConfig) -> Self {
        Self {
            root: Origin::new(run, 0),
            parent: None,
            span: RunSpan::new(agent),
            unemitted: Vec::new(),
            is_finish_emitted: false,
        }
    }

    /// Nests the run in a call of another.
    pub(super) fn nest(&mut self, outer: &Origin, call: &CallId) {
        self.root = Origin { run: self.root.run, turn: 0, ..outer.nested(call) };
        self.parent = Some(outer.run);
    }

    /// Returns the origin of events in this turn.
    pub(super) fn origin(&self, turn: u32) -> Origin {
        Origin { turn, ..self.root.clone() }
    }

    /// Collects the messages that were added, to be emitted once the run has started.
    fn collect_added(&mut self, turn: &mut Turn) {
        self.unemitted.extend(turn.unreported_messages());
        turn.mark_reported();
    }
}

impl Run {
    /// Records on the span of the run what is known before its first step.
    pub(super) fn record_start(&mut self) {
        let session = || self.session.name().or_else(|| self.state.session.clone());
        let turn = &self.state.turn;
        self.events.span.record_start(&self.agent, &self.dispatcher, turn, session);
    }

    /// Emits that the run starts or resumes.
    pub(super) fn emit_started(&self) {
        let agent = self.agent.name.clone();
        // A run that was to be resumed outside of its session belongs to the session all the same.
        let session = || self.session.name().or_else(|| self.state.session.clone());
        self.emit(|| RunEvent::Started {
            parent_run: self.events.parent,
            agent,
            session: session(),
            metadata: self.state.metadata.clone(),
        });
    }

    /// Emits the messages that were added since the last time.
    pub(super) fn emit_added_messages(&mut self) {
        self.collect_added_messages();
        std::mem::take(&mut self.events.unemitted)
            .into_iter()
            .for_each(|added| self.emit(|| added));
    }

    /// Emits these events for the messages that were added just now, of which the caller knows more
    /// than the transcript does. Messages added before that have to be
    /// [collected](Self::collect_added_messages) already.
    pub(in crate::agent) fn emit_added_as(&mut self, added: impl IntoIterator<Item = RunEvent>) {
        self.state.turn.mark_reported();
        if self.dispatcher.has_observers() {
            let last = self.state.turn.transcript().last().and_then(Message::id);
            let identified = added.into_iter().map(|mut event| {
                if let RunEvent::MessageAdded { message, .. } = &mut event {
                    *message = last.cloned();
                }
                event
            });
            self.events.unemitted.extend(identified);
        }
        if self.started.is_some() {
            self.emit_added_messages();
        }
    }

    /// Collects the messages that were added, to be emitted once the run has started.
    pub(in crate::agent) fn collect_added_messages(&mut self) {
        if self.dispatcher.has_observers() {
            self.events.collect_added(&mut self.state.turn);
        } else {
            self.state.turn.mark_reported();
        }
    }

    /// Emits that the run ended, or paused.
    pub(in crate::agent) fn emit_finished(&mut self, reason: Option<&StopReason>) {
        self.events.is_finish_emitted = true;
        self.emit_held_back(false);
        self.emit_finished_with(|| reason.map(|reason| (reason.code(), error_text(reason))));
    }

    fn emit_finished_with(&self, reason: impl FnOnce() -> Option<(&'static str, String)>) {
        // The start of a run that ended before its first step was not emitted either.
        let Some(started) = self.started else { return };
        let (turn, duration) = (&self.state.turn, micros::truncate(started.elapsed()));
        self.events.span.record_end(&self.dispatcher, turn);
        self.emit(|| {
            let (code, error) = reason().map(|(code, error)| (code.to_owned(), error)).unzip();
            RunEvent::Finished {
                code,
                error,
                usage: turn.usage(),
                usage_by_model: turn.usage_by_model(),
                cost: turn.cost(),
                duration,
            }
        });
    }

    /// Emits an event of this run. The event is built only if an observer receives it.
    pub(in crate::agent) fn emit<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        self.dispatcher.emit(&self.origin(), kind);
    }

    /// Returns the origin of events in the current turn.
    pub(super) fn origin(&self) -> Origin {
        self.events.origin(self.state.turn.iterations())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        drop_guarded(self.requests.offered.take());
        if !self.events.is_finish_emitted {
            self.emit_held_back(false);
            let reason = || Some(("DROPPED", "the run was dropped before it ended".to_owned()));
            self.emit_finished_with(reason);
        }
    }
}
