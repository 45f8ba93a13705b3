//! What is left of a conversation when it is cut.

use std::borrow::Cow;

use super::{Traces, WindowState};
use crate::message::{AssistantPart, Message};
use crate::models::history::is_silent;

/// Where a conversation is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Where the current run begins.
    pub(super) run: usize,
    /// Where what is shown of earlier runs begins: `run` at most.
    pub(super) from: usize,
    /// Where the replies that are shown of the current run begin: `run` at least.
    pub(super) within: usize,
}

impl Cut {
    pub(super) fn of(state: &WindowState, run: usize) -> Self {
        let within = state.within.map_or(run, |within| within.to);
        Self { run, from: state.from, within }
    }

    /// Whether what stands there is shown whatever is cut.
    pub(super) fn keeps(self, messages: &[Message], place: usize) -> bool {
        match messages.get(place) {
            Some(Message::System { .. }) => true,
            Some(Message::User { .. }) => place >= self.run,
            _ => false,
        }
    }

    fn leaves_out(self, messages: &[Message], place: usize) -> bool {
        let begins = if place < self.run { self.from } else { self.within };
        place < begins && !self.keeps(messages, place)
    }
}

/// A conversation as the model is shown it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'m> {
    pub(super) messages: &'m [Message],
    pub(super) cut: Cut,
    pub(super) traces: Traces,
}

impl<'m> Shown<'m> {
    /// What is shown of the message at a place.
    pub(super) fn at(self, place: usize) -> Option<Cow<'m, Message>> {
        if self.cut.leaves_out(self.messages, place) { None } else { self.uncut(place) }
    }

    /// All that is shown; nothing where that is the conversation itself.
    pub(super) fn chosen(self, earlier: Option<&str>) -> Option<Vec<Message>> {
        let places = 0..self.messages.len();
        let is_whole = |place| matches!(self.at(place), Some(Cow::Borrowed(_)));
        if earlier.is_none() && places.clone().all(is_whole) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut earlier = earlier.map(summary);
        let mut noted = (self.cut.within > self.cut.run).then(note);
        for place in places {
            if place == self.cut.from {
                chosen.extend(earlier.take());
            }
            match self.at(place) {
                Some(message) => chosen.push(message.into_owned()),
                None if place >= self.cut.run => chosen.extend(noted.take()),
                None => {}
            }
        }
        Some(chosen)
    }

    /// What was shown behind the place up to which there is a summary, and is no more.
    pub(super) fn fallen(self, summarized: usize) -> Vec<Message> {
        let fell = |place: &usize| self.cut.leaves_out(self.messages, *place);
        let fallen = (summarized..self.cut.from).filter(fell);
        fallen.filter_map(|place| self.uncut(place)).map(Cow::into_owned).collect()
    }

    /// What would be shown of it if nothing were cut.
    fn uncut(self, place: usize) -> Option<Cow<'m, Message>> {
        let message = self.messages.get(place)?;
        if place >= self.cut.run || self.traces == Traces::OfAllRuns {
            return Some(Cow::Borrowed(message));
        }
        match message {
            Message::Tool { .. } => None,
            Message::Assistant { parts } if message.calls().next().is_some() => {
                // What it thought belongs to the calls, and so does what its provider did for it.
                let is_text = |part: &&AssistantPart| matches!(part, AssistantPart::Text { .. });
                let parts: Vec<_> = parts.iter().filter(is_text).cloned().collect();
                (!is_silent(&parts)).then_some(Cow::Owned(Message::Assistant { parts }))
            }
            message => Some(Cow::Borrowed(message)),
        }
    }
}

/// A summary as the model is shown it. It is made of what anybody may have said, so it bears no orders.
pub(super) fn summary(text: &str) -> Message {
    Message::user(format!("[Summary of the earlier conversation, which is left out here]\n{text}"))
}

/// What stands where calls of the current run stood.
pub(super) fn note() -> Message {
    Message::user(
        "[To save room, earlier calls of this run and their results are left out here. They did run: \
         repeat one only if its result is needed again.]",
    )
}
