//! Passes the pieces of a reply on to the observers, or the whole of a reply that was held back.

use super::Run;
use crate::agent::config::AgentConfig;
use crate::agent::request::exchange::ReplySink;
use crate::agent::{Outcome, Step, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{ModelEvent, Origin};
use crate::message::{Delta, Message, emit_reply};
use crate::secret::{DeltaRedaction, Redactor};

/// Passes the pieces of one reply on without secrets, and keeps their text.
pub(super) struct ReplyDeltas<'r> {
    dispatcher: &'r Dispatcher,
    origin: &'r Origin,
    redaction: Option<(Redactor, DeltaRedaction)>,
    text: String,
}

/// A reply without calls that waits for the validators of the answer.
pub(super) struct HeldBackReply {
    pub(super) origin: Origin,
    /// The message of the reply in the transcript.
    pub(super) index: usize,
    pub(super) event: ModelEvent,
}

impl<'r> ReplyDeltas<'r> {
    pub(super) fn new(dispatcher: &'r Dispatcher, origin: &'r Origin) -> Self {
        let redactor = dispatcher.redactor().cloned();
        let redaction = redactor.map(|redactor| (redactor, DeltaRedaction::default()));
        Self { dispatcher, origin, redaction, text: String::new() }
    }

    /// Passes on the rest of a reply that is complete or whose request has failed. Returns the text
    /// that the observers have received.
    pub(super) fn finish(&mut self) -> String {
        let Self { dispatcher, origin, redaction, text } = self;
        if let Some((redactor, redaction)) = redaction {
            redaction.finish(redactor, &mut emit_into(dispatcher, origin, text));
        }
        std::mem::take(text)
    }

    fn push_delta(&mut self, delta: Delta<'_>) {
        let Self { dispatcher, origin, redaction, text } = self;
        let mut emit = emit_into(dispatcher, origin, text);
        match redaction {
            Some((redactor, redaction)) => redaction.push(redactor, delta, &mut emit),
            None => emit(delta),
        }
    }

    /// Passes on the pieces of a complete reply.
    pub(super) fn emit_message(mut self, message: &Message) {
        if let Message::Assistant { parts, .. } = message {
            emit_reply(parts, &mut |delta| self.push_delta(delta));
            self.finish();
        }
    }
}

impl ReplySink for ReplyDeltas<'_> {
    fn push(&mut self, delta: Delta<'_>) {
        self.push_delta(delta);
    }

    fn restart(&mut self) {
        self.finish();
    }
}

/// Drops the pieces of replies that are held back.
pub(super) struct HoldsBack;

impl ReplySink for HoldsBack {
    fn push(&mut self, _: Delta<'_>) {}

    fn restart(&mut self) {}
}

fn emit_into<'a>(
    dispatcher: &'a Dispatcher,
    origin: &'a Origin,
    text: &'a mut String,
) -> impl for<'d> FnMut(Delta<'d>) + Send + 'a {
    move |delta| {
        if let Delta::Text(piece) = delta {
            text.push_str(piece);
        }
        dispatcher.emit_delta(origin, delta);
    }
}

/// Whether the last reply is an answer that the validators have to accept.
pub(super) fn awaits_validation(agent: &AgentConfig, turn: &Turn) -> bool {
    turn.next() == Step::Done(Outcome::Answered)
        && !agent.answer_validators.is_empty()
        && turn.extraction_phase().is_none()
}

impl Run {
    /// Emits a reply that was held back: its pieces, unless it was rejected, and its event.
    pub(super) fn emit_held_back(&mut self, is_accepted: bool) {
        let Some(HeldBackReply { origin, index, event }) = self.requests.held_back.take() else {
            return;
        };
        if let Some(message) = self.state.turn.transcript().get(index).filter(|_| is_accepted) {
            ReplyDeltas::new(&self.dispatcher, &origin).emit_message(message);
        }
        self.dispatcher.emit(&origin, || event);
    }
}
