//! Where a conversation is cut.

use std::borrow::Cow;

use super::shown::{self, Cut, Shown};
use super::state::Within;
use super::{Fallen, Window, WindowState};
use crate::message::Message;
use crate::models::history::answered;

/// What goes out to the model, and what falls out of its sight by that.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan<'m> {
    /// What goes out; the conversation itself, where all of it does.
    pub messages: Cow<'m, [Message]>,
    /// What the window knows now: what the next plan starts from.
    pub state: WindowState,
    /// What has just fallen out and is to be summed up, where the window has a
    /// [`Summarizer`](super::Summarizer): tell [`Window::summed_up`], and plan again.
    pub fallen: Option<Fallen>,
}

impl Window {
    /// What goes out of this conversation, in which the current run began with the message at the place
    /// `run`: the same for the same conversation and state, and again for the state that it gives.
    ///
    /// Where that message is not the user's, the run is taken to begin with the last one before it
    /// that is. A conversation that isn't in order, in which calls have no results or results no calls,
    /// is put in order first.
    pub fn plan<'m>(&self, messages: &'m [Message], run: usize, state: &WindowState) -> Plan<'m> {
        let in_order = answered(messages);
        let run = match &in_order {
            Cow::Borrowed(_) => run,
            Cow::Owned(_) => answered(messages.get(..run).unwrap_or(messages)).len(),
        };
        let run = run_start(&in_order, run);
        let state = of_this(&in_order, run, state);
        let before = Cut::of(&state, run);
        let cut = self.cut(&in_order, before, state.summary(), &state);
        let within = (cut.within > run).then_some(Within { run, to: cut.within });
        let state = WindowState { from: cut.from, within, ..state };
        let shown = Shown { messages: &in_order, cut, traces: self.traces };
        let fallen = (cut.from > before.from && self.summarizer.is_some()).then(|| Fallen {
            earlier: state.summary.clone(),
            messages: shown.fallen(state.summarized),
            most_tokens: self.most.unwrap_or(u64::MAX) / 4,
        });
        let fallen = fallen.filter(|fallen| !fallen.messages.is_empty());
        let chosen = shown.chosen(state.summary());
        Plan { messages: chosen.map_or(in_order, Cow::Owned), state, fallen }
    }

    /// What fell out by the plan that gave this state is summed up so; blank where nothing of it is
    /// worth knowing. It is cut where it is longer than a quarter of what the window shows.
    #[must_use]
    pub fn summed_up(&self, state: &WindowState, summary: impl Into<String>) -> WindowState {
        let mut summary = summary.into();
        if let Some(most) = self.most {
            let most = state.estimated(most) / 4;
            while self.count(&shown::summary(&summary)) > most && !summary.is_empty() {
                let shorter = summary.len() / 8 * 7;
                let end = (0..=shorter).rfind(|end| summary.is_char_boundary(*end));
                summary.truncate(end.unwrap_or_default());
            }
        }
        let summary = Some(summary).filter(|summary| !summary.trim().is_empty());
        WindowState { summary, summarized: state.from, ..state.clone() }
    }

    /// Where the conversation is cut now: further on than before, where it has come to be too long.
    fn cut(
        &self,
        messages: &[Message],
        mut cut: Cut,
        summary: Option<&str>,
        state: &WindowState,
    ) -> Cut {
        let Some(most) = self.most.map(|most| u128::from(state.estimated(most))) else {
            return cut;
        };
        let count = |message: &Message| u128::from(self.count(message));
        let shown = Shown { messages, cut, traces: self.traces };
        let cost = |place| shown.at(place).map_or(0, |message| count(&message));
        let costs: Vec<_> = (0..messages.len()).map(cost).collect();
        let note = count(&shown::note());
        let noted = if cut.within > cut.run { note } else { 0 };
        let summary = summary.map_or(0, |summary| count(&shown::summary(summary)));
        let mut total = costs.iter().sum::<u128>() + noted + summary;
        // What goes when a cut moves from one place to another.
        let of = |from: usize, to: usize, cut: Cut| -> u128 {
            let places = from..to;
            places
                .filter(|place| !cut.keeps(messages, *place))
                .filter_map(|place| costs.get(place))
                .sum()
        };

        if total > most {
            for end in exchanges(messages, cut) {
                if total <= most / 2 {
                    break;
                }
                total -= of(cut.from, end, cut);
                cut.from = end;
            }
        }
        if total > most {
            for end in replies(messages, cut) {
                if total <= most / 2 {
                    break;
                }
                total -= of(cut.within, end, cut);
                if cut.within == cut.run {
                    total += note;
                }
                cut.within = end;
            }
        }
        cut
    }
}

/// Where earlier runs may be cut: the user speaks there.
fn exchanges(messages: &[Message], Cut { run, from, .. }: Cut) -> impl Iterator<Item = usize> {
    let inner = (from + 1..run).filter(|place| is_users(messages, *place));
    inner.chain((from < run).then_some(run))
}

/// Where the current run may be cut: before a reply that isn't its first, and so never behind its last.
fn replies(messages: &[Message], Cut { within, .. }: Cut) -> impl Iterator<Item = usize> {
    (within..messages.len()).filter(|place| is_reply(messages, *place)).skip(1)
}

/// Where the run begins that is said to begin at `run`.
fn run_start(messages: &[Message], run: usize) -> usize {
    (0..messages.len())
        .take(run.saturating_add(1))
        .rfind(|place| is_users(messages, *place))
        .unwrap_or(0)
}

/// The state, if it is one of this conversation; a fresh one where more was left out than there is.
fn of_this(messages: &[Message], run: usize, state: &WindowState) -> WindowState {
    if state.from > run {
        return WindowState { measured: state.measured, ..WindowState::default() };
    }
    let may_begin = |place: &usize| *place == 0 || *place == run || is_users(messages, *place);
    let from = (state.from..run).find(may_begin).unwrap_or(run);
    let is_of_run =
        |within: &Within| within.run == run && within.to >= run && is_reply(messages, within.to);
    let within = state.within.filter(is_of_run);
    WindowState { from, within, ..state.clone() }
}

fn is_users(messages: &[Message], place: usize) -> bool {
    matches!(messages.get(place), Some(Message::User { .. }))
}

fn is_reply(messages: &[Message], place: usize) -> bool {
    matches!(messages.get(place), Some(Message::Assistant { .. }))
}
