//! The ids of messages. A reply has the id of the run and the turn, so that it is known before the
//! reply arrives. Other messages have their own, or the id of the run and a number.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Turn;
use crate::event::RunId;
use crate::message::{Message, MessageId};

/// Gives ids to the messages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageIds {
    run: RunId,
    count: u32,
}

impl MessageIds {
    fn next(&mut self) -> MessageId {
        self.count = self.count.saturating_add(1);
        format!("{}-m{}", self.run, self.count).into()
    }

    fn of_reply(self, turn: u32) -> MessageId {
        format!("{}-{turn}", self.run).into()
    }
}

impl Turn {
    /// Gives ids to the messages that have none, and to all messages that follow.
    pub(in crate::agent) fn identify_messages(&mut self, run: RunId) {
        self.message_ids = Some(MessageIds { run, count: 0 });
        self.identify_from(0);
    }

    /// Returns the id of the reply that is requested. A repeated request has the same.
    pub(in crate::agent) fn next_reply_id(&self) -> Option<MessageId> {
        self.message_ids.map(|ids| ids.of_reply(self.iterations.saturating_add(1)))
    }

    pub(super) fn identify_last(&mut self) {
        self.identify_from(self.transcript.len().saturating_sub(1));
    }

    pub(super) fn identify_from(&mut self, index: usize) {
        let Some(ids) = &mut self.message_ids else { return };
        let messages = self.transcript.get(index..).unwrap_or_default();
        let lacks_id = |message: &Message| match message {
            Message::User { id, .. } | Message::Assistant { id, .. } => id.is_none(),
            _ => false,
        };
        if !messages.iter().any(lacks_id) {
            return;
        }
        let messages = Arc::make_mut(&mut self.transcript).iter_mut().skip(index);
        for id in messages.filter_map(Message::id_mut) {
            id.get_or_insert_with(|| ids.next());
        }
    }
}
