//! A turn whose conversation was changed, or that comes from outside.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Halt, Limits, Turn};
use crate::message::{Message, ToolCall};
use crate::models::Finish;
use crate::models::history::{answered, is_silent, mended};

impl Turn {
    /// Changes what was said. What a provider would refuse is mended afterwards, as [`Turn::new`] does; and what is
    /// last by then, where it is something else, is not cut off, however the reply before it was.
    pub fn edit(&mut self, change: impl FnOnce(&mut Vec<Message>)) {
        let before = self.shared_transcript();
        let mut transcript = Arc::unwrap_or_clone(std::mem::take(&mut self.transcript));
        change(&mut transcript);
        self.transcript = Arc::new(transcript);
        self.mend();
        if self.transcript.last() != before.last() {
            // How the model's reply ended says nothing of what stands in its place.
            self.finish = Finish::default();
        }
        self.told = self.told.edited(&before, &self.transcript);
    }

    /// Goes on under these limits, whatever was done to it where it was kept. What it took so far counts.
    pub(in crate::agent) fn resumed(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self.halt = self.halt.take().filter(|halt| match halt {
            Halt::Spent => limits.is_spent(&self.bill),
            Halt::Repeated => limits.repeats.is_some_and(|most| self.repeats.beyond(most)),
            Halt::Requested(_) => true,
        });
        self.mend();
        self
    }

    /// What a provider would refuse is mended, and what is known of open calls is of those that are there.
    fn mend(&mut self) {
        let mut transcript = Arc::unwrap_or_clone(std::mem::take(&mut self.transcript));
        let is_known = !self.early.is_empty() || !self.begun.is_empty();
        if is_known && !ends_with_calls(&transcript) {
            // What came early moves up to its calls; nobody can tell what became of the others.
            transcript.push(Message::Tool { results: std::mem::take(&mut self.early) });
        }
        // What was said last says how the run ended, also where that is nothing.
        let says_nothing = |message: &mut Message| matches!(message, Message::Assistant { parts } if is_silent(parts));
        let transcript = match transcript.pop_if(says_nothing) {
            None => mended(transcript),
            Some(last) => {
                let mut before = answered(&transcript).into_owned();
                before.push(last);
                before
            }
        };
        self.transcript = Arc::new(transcript);
        self.keep_what_is_open();
    }

    /// What came early, or was begun, is of calls that are open: one of each.
    fn keep_what_is_open(&mut self) {
        let last = self.transcript.last();
        let calls: Vec<_> = last.iter().flat_map(|said| said.calls()).cloned().collect();
        let came = std::mem::take(&mut self.early);
        let of = |call: &ToolCall| came.iter().find(|result| result.call == call.id).cloned();
        self.early = calls.iter().filter_map(of).collect();
        self.begun.retain(|begun| calls.iter().any(|call| call.id == *begun));
        if !self.early.is_empty() {
            self.take(Vec::new());
        }
    }
}

/// Whether there are calls at its end that can be told from all others.
fn ends_with_calls(transcript: &[Message]) -> bool {
    let mut ids = HashSet::new();
    transcript.last().is_some_and(|last| last.calls().next().is_some())
        && transcript
            .iter()
            .flat_map(Message::calls)
            .all(|call| !call.id.as_str().is_empty() && ids.insert(&call.id))
}
