//! What one question takes while it is asked again and again.

use super::ending::spent;
use super::turn::guessed;
use super::{Limits, StopReason, Turn};
use crate::message::Usage;
use crate::models::{ChatReply, ChatRequest};
use crate::tool::Bill;

/// What the replies to one question took, and what is left for another.
pub(super) struct Budget {
    limits: Limits,
    before: Bill,
    counted: Option<Usage>,
    /// Of replies that nobody counted.
    guessed: Usage,
    /// What the first took alone, once there is one, where that was counted.
    first: Option<Option<Usage>>,
}

impl Budget {
    /// Nothing was said yet.
    pub(super) fn of(turn: &Turn) -> Self {
        Self {
            limits: turn.limits().clone(),
            before: turn.bill(),
            counted: None,
            guessed: Usage::default(),
            first: None,
        }
    }

    /// This was said when that was asked.
    pub(super) fn count(&mut self, asked: ChatRequest<'_>, said: &ChatReply) {
        self.first.get_or_insert(said.usage);
        match said.usage {
            Some(usage) => *self.counted.get_or_insert_default() += usage,
            None if self.limits.has_budget() => self.guessed += guessed(asked, &said.parts),
            None => {}
        }
    }

    /// Whether something is left for another question.
    pub(super) fn check(&self) -> Result<(), StopReason> {
        let mut bill = self.before;
        bill += self.spent().into();
        if self.limits.is_spent(&bill) { Err(spent(&self.limits, bill)) } else { Ok(()) }
    }

    /// What the provider counted.
    pub(super) fn counted(&self) -> Option<Usage> {
        self.counted
    }

    /// What nobody counted.
    pub(super) fn guessed(&self) -> Usage {
        self.guessed
    }

    /// What the provider counted of the question as it was asked first.
    pub(super) fn first(&self) -> Option<Usage> {
        self.first.flatten()
    }

    /// All of it.
    pub(super) fn spent(&self) -> Usage {
        let mut spent = self.counted.unwrap_or_default();
        spent += self.guessed;
        spent
    }
}
