//! What one question takes while it is asked again and again.

use super::ending::spent;
use super::turn::guessed;
use super::{Limits, StopReason, Turn};
use crate::message::{Message, Usage};
use crate::models::ChatReply;
use crate::tool::Bill;

/// What the replies to one question took, and what is left for another.
pub(super) struct Budget {
    limits: Limits,
    before: Bill,
    counted: Option<Usage>,
    /// Of replies in vain that nobody counted.
    guessed: Usage,
}

impl Budget {
    /// Nothing was said yet.
    pub(super) fn of(turn: &Turn) -> Self {
        let (limits, before) = (turn.limits().clone(), turn.bill());
        Self { limits, before, counted: None, guessed: Usage::default() }
    }

    /// This was said.
    pub(super) fn count(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            *self.counted.get_or_insert_default() += usage;
        }
    }

    /// It was said in vain, and is to be asked again.
    pub(super) fn in_vain(
        &mut self,
        asked: &[Message],
        said: &ChatReply,
    ) -> Result<(), StopReason> {
        self.guessed += self.uncounted(asked, said);
        let bill = self.bill();
        if self.limits.is_spent(&bill) { Err(spent(&self.limits, bill)) } else { Ok(()) }
    }

    /// Whether something is left for another question behind this reply.
    pub(super) fn allows_more(&self, asked: &[Message], said: &ChatReply) -> bool {
        let mut bill = self.bill();
        bill += self.uncounted(asked, said).into();
        !self.limits.is_spent(&bill)
    }

    /// What a reply took, where nobody says.
    fn uncounted(&self, asked: &[Message], said: &ChatReply) -> Usage {
        match said.usage {
            None if self.limits.has_budget() => guessed(asked, &said.parts),
            _ => Usage::default(),
        }
    }

    fn bill(&self) -> Bill {
        let mut bill = self.before;
        bill += self.spent().into();
        bill
    }

    /// What its provider counted.
    pub(super) fn counted(&self) -> Option<Usage> {
        self.counted
    }

    /// What of it nobody counted.
    pub(super) fn guessed(&self) -> Usage {
        self.guessed
    }

    /// All of it.
    pub(super) fn spent(&self) -> Usage {
        let mut spent = self.counted.unwrap_or_default();
        spent += self.guessed;
        spent
    }
}
