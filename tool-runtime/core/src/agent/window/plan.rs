//! Decides where a conversation is cut.

use std::borrow::Cow;

use super::state::EvictedReplies;
use super::visible::{self, VisibleMessages, WindowBounds};
use super::{EvictedMessages, Window, WindowState};
use crate::message::{Message, keep_head};
use crate::models::history::with_all_results;

/// Messages selected for a request, and the messages that were evicted for them.
///
/// Returned by [`Window::plan`].
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowPlan<'m> {
    /// The messages to send; borrowed if they are the whole conversation.
    pub messages: Cow<'m, [Message]>,
    /// The state from which the next plan starts.
    pub state: WindowState,
    /// The messages that this plan evicted, if the window has a [`Summarizer`](super::Summarizer).
    ///
    /// Summarize them, pass the summary to [`Window::apply_summary`], and plan again.
    pub evicted: Option<EvictedMessages>,
}

// Hidden: an agent plans the window of its runs.
#[doc(hidden)]
impl Window {
    /// Selects the messages of a conversation to send, without I/O.
    ///
    /// `run` is the index in `messages` of the message with which the current run began. If that
    /// message is not a user message, the plan uses the last user message before it. The same
    /// conversation and state give the same plan, and so does the state that the plan returns.
    ///
    /// If calls lack results or results lack calls, the conversation is normalized first.
    pub fn plan<'m>(
        &self,
        messages: &'m [Message],
        run: usize,
        state: &WindowState,
    ) -> WindowPlan<'m> {
        let messages_in_order = with_all_results(messages);
        let run = match &messages_in_order {
            Cow::Borrowed(_) => run,
            Cow::Owned(_) => with_all_results(messages.get(..run).unwrap_or(messages)).len(),
        };
        let run_start = find_run_start(&messages_in_order, run);
        let state = validate_state(&messages_in_order, run_start, state);
        let before = WindowBounds::new(&state, run_start);
        let cut = self.cut(&messages_in_order, before, state.summary(), &state);
        let evicted_replies = (cut.replies_start > run_start)
            .then_some(EvictedReplies { run_start, end: cut.replies_start });
        let state = WindowState { history_start: cut.history_start, evicted_replies, ..state };
        let visible = VisibleMessages {
            messages: &messages_in_order,
            bounds: cut,
            tool_calls: self.tool_calls,
        };
        let has_evicted = cut.history_start > before.history_start && self.summarizer.is_some();
        let evicted = has_evicted.then(|| EvictedMessages {
            earlier_summary: state.summary.clone(),
            messages: visible.evicted(state.summary_end),
            max_tokens: self.max_tokens.unwrap_or(u64::MAX) / 4,
        });
        let evicted = evicted.filter(|evicted| !evicted.messages.is_empty());
        let selected = visible.select(state.summary());
        WindowPlan { messages: selected.map_or(messages_in_order, Cow::Owned), state, evicted }
    }

    /// Adds a summary of evicted messages to the state that their plan returned.
    ///
    /// The summary replaces the earlier one. It is truncated to a quarter of the window's
    /// [`max_tokens`](Self::max_tokens). A blank summary removes the earlier one.
    #[must_use]
    pub fn apply_summary(&self, state: &WindowState, summary: impl Into<String>) -> WindowState {
        let mut summary = summary.into();
        if let Some(limit) = self.max_tokens {
            let limit = state.to_counter_tokens(limit) / 4;
            let mut end = summary.len();
            let count = |head: &str| self.count(&visible::summary_message(head));
            while end > 0 && count(&keep_head(&summary, end)) > limit {
                let shorter = end / 8 * 7;
                end = (0..=shorter).rfind(|end| summary.is_char_boundary(*end)).unwrap_or_default();
            }
            summary = keep_head(&summary, end).into_owned();
        }
        let summary = Some(summary).filter(|summary| !summary.trim().is_empty());
        WindowState { summary, summary_end: state.history_start, ..state.clone() }
    }

    /// Moves the cut forward if the conversation exceeds the limit.
    fn cut(
        &self,
        messages: &[Message],
        mut cut: WindowBounds,
        summary: Option<&str>,
        state: &WindowState,
    ) -> WindowBounds {
        let limit = self.max_tokens.map(|limit| u128::from(state.to_counter_tokens(limit)));
        let Some(limit) = limit else {
            return cut;
        };
        let count = |message: &Message| u128::from(self.count(message));
        let visible = VisibleMessages { messages, bounds: cut, tool_calls: self.tool_calls };
        let tokens_at = |index| visible.at(index).map_or(0, |message| count(&message));
        let tokens: Vec<_> = (0..messages.len()).map(tokens_at).collect();
        let note = count(&visible::eviction_note());
        let noted = if cut.replies_start > cut.run_start { note } else { 0 };
        let summary = summary.map_or(0, |summary| count(&visible::summary_message(summary)));
        let mut total = tokens.iter().sum::<u128>() + noted + summary;
        // The tokens that moving a cut from one index to another evicts.
        let evicted_tokens = |from: usize, to: usize, cut: WindowBounds| -> u128 {
            let indices = from..to;
            indices
                .filter(|index| !cut.always_keeps(messages, *index))
                .filter_map(|index| tokens.get(index))
                .sum()
        };

        if total > limit {
            for end in exchange_ends(messages, cut) {
                if total <= limit / 2 {
                    break;
                }
                total -= evicted_tokens(cut.history_start, end, cut);
                cut.history_start = end;
            }
        }
        if total > limit {
            for end in reply_starts(messages, cut) {
                if total <= limit / 2 {
                    break;
                }
                total -= evicted_tokens(cut.replies_start, end, cut);
                if cut.replies_start == cut.run_start {
                    total += note;
                }
                cut.replies_start = end;
            }
        }
        cut
    }
}

/// Returns the indices at which earlier runs can be cut: those of user messages.
fn exchange_ends(
    messages: &[Message],
    WindowBounds { run_start, history_start, .. }: WindowBounds,
) -> impl Iterator<Item = usize> {
    let inner = (history_start + 1..run_start).filter(|index| is_user(messages, *index));
    inner.chain((history_start < run_start).then_some(run_start))
}

/// Returns the indices at which the current run can be cut: those of all replies but the first, so
/// that its last reply always stays.
fn reply_starts(
    messages: &[Message],
    WindowBounds { replies_start, .. }: WindowBounds,
) -> impl Iterator<Item = usize> {
    (replies_start..messages.len()).filter(|index| is_reply(messages, *index)).skip(1)
}

/// Returns the index of the last user message at or before `run`.
fn find_run_start(messages: &[Message], run: usize) -> usize {
    (0..messages.len())
        .take(run.saturating_add(1))
        .rfind(|index| is_user(messages, *index))
        .unwrap_or(0)
}

/// Returns the state adapted to this conversation, or a fresh one if it belongs to a longer one.
fn validate_state(messages: &[Message], run_start: usize, state: &WindowState) -> WindowState {
    if state.history_start > run_start {
        return WindowState { calibration: state.calibration, ..WindowState::default() };
    }
    let is_boundary =
        |index: &usize| *index == 0 || *index == run_start || is_user(messages, *index);
    let history_start = (state.history_start..run_start).find(is_boundary).unwrap_or(run_start);
    let is_of_run = |evicted: &EvictedReplies| {
        evicted.run_start == run_start
            && evicted.end >= run_start
            && is_reply(messages, evicted.end)
    };
    let evicted_replies = state.evicted_replies.filter(is_of_run);
    WindowState { history_start, evicted_replies, ..state.clone() }
}

fn is_user(messages: &[Message], index: usize) -> bool {
    matches!(messages.get(index), Some(Message::User { .. }))
}

fn is_reply(messages: &[Message], index: usize) -> bool {
    matches!(messages.get(index), Some(Message::Assistant { .. }))
}
