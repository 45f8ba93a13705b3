//! What those who watch are told of a run as a whole.

use super::Run;
use crate::agent::StopReason;
use crate::event::{EventKind, Origin, RunEvent, micros};
use crate::guard::{let_go, text};

impl Run {
    /// It begins, or goes on.
    pub(super) fn tell_start(&self) {
        let agent = self.agent.name.clone();
        // One that was to go on beside its session belongs to it all the same.
        let session = || self.session().or_else(|| self.state.session.clone());
        self.tell(|| RunEvent::Started { within: self.outer, agent, session: session() });
    }

    /// What came into the conversation since the last time.
    pub(super) fn tell_said(&mut self) {
        self.hear();
        std::mem::take(&mut self.heard).into_iter().for_each(|said| self.tell(|| said));
    }

    /// What came in just now, by somebody who is known better than from the conversation. What came before it was
    /// [heard](Self::hear).
    pub(in crate::agent) fn tell_said_as(&mut self, said: impl IntoIterator<Item = RunEvent>) {
        self.state.turn.mark_reported();
        if self.dispatcher.is_watched() {
            self.heard.extend(said);
        }
        if self.started.is_some() {
            self.tell_said();
        }
    }

    /// Takes note of what came into the conversation: to be told once the run has begun.
    pub(in crate::agent) fn hear(&mut self) {
        if self.dispatcher.is_watched() {
            self.heard.extend(self.state.turn.unreported_messages());
        }
        self.state.turn.mark_reported();
    }

    /// It is over, or waits.
    pub(in crate::agent) fn tell_end(&mut self, why: Option<&StopReason>) {
        self.is_over = true;
        self.tell_ended(|| why.map(|why| (why.code(), text(why))));
    }

    fn tell_ended(&self, why: impl FnOnce() -> Option<(&'static str, String)>) {
        // One that was over before it began was not told of.
        let Some(started) = self.started else { return };
        let (turn, took) = (&self.state.turn, micros::in_full(started.elapsed()));
        self.tell(|| {
            let (code, error) = why().map(|(code, error)| (code.to_owned(), error)).unzip();
            RunEvent::Finished { code, error, usage: turn.usage(), cost: turn.cost(), took }
        });
    }

    pub(in crate::agent) fn tell<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        self.dispatcher.tell(&self.origin(), kind);
    }

    pub(super) fn origin(&self) -> Origin {
        Origin { turn: self.state.turn.iterations(), ..self.root.clone() }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let_go(self.tools.take());
        if !self.is_over {
            let why = || Some(("DROPPED", "nobody goes on with it".to_owned()));
            self.tell_ended(why);
        }
    }
}
