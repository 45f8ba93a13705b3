//! The places of system messages in a conversation.

use serde::{Deserialize, Serialize};

use crate::message::Message;

/// The places of the system messages in a stored conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SystemMessages {
    /// The number of system messages with which the conversation begins.
    pub(super) leading: usize,
    /// The index of the first one after another message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<usize>,
}

impl SystemMessages {
    /// Returns the places after the messages from this index on were replaced.
    pub(super) fn after_write(self, from: usize, messages: &[Message]) -> Self {
        let mut leading = self.leading.min(from);
        let mut next = self.next.filter(|next| *next < from);
        for (index, message) in (from..).zip(messages) {
            match message {
                Message::System { .. } if index == leading => leading += 1,
                Message::System { .. } if next.is_none() => next = Some(index),
                _ => {}
            }
        }
        Self { leading, next }
    }
}

#[cfg(test)]
mod tests {
    use super::SystemMessages;
    use crate::message::Message;

    #[test]
    fn places_after_a_write_are_those_of_the_conversation() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut all, mut places) = (Vec::new(), SystemMessages::default());
            for _ in 0..6 {
                let from = rng.usize(..=all.len());
                let new = (0..rng.usize(..4)).map(|_| {
                    if rng.bool() { Message::system("Be brief.") } else { Message::user("Hello") }
                });
                let new: Vec<_> = new.collect();
                places = places.after_write(from, &new);
                all.truncate(from);
                all.extend(new);
                let is_system = |message: &Message| matches!(message, Message::System { .. });
                let leading = all.iter().take_while(|message| is_system(message)).count();
                let next = (leading..all.len()).find(|index| is_system(&all[*index]));
                assert_eq!(places, SystemMessages { leading, next }, "seed {seed}");
            }
        }
    }
}
