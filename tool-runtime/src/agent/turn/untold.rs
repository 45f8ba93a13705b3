//! What was said to the model that those who watch have yet to be told of.

use serde::{Deserialize, Serialize};

use super::Turn;
use crate::event::{RunEvent, Speaker};
use crate::message::{Message, UserPart};

/// How much of a conversation was told of: so many messages, and of a last one of the user's so many parts, for it may
/// grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    messages: usize,
    parts: usize,
}

impl Told {
    /// All of this.
    fn all(messages: &[Message]) -> Self {
        let parts = match messages.last() {
            Some(Message::User { parts }) => parts.len(),
            // It is one.
            _ => 1,
        };
        Self { messages: messages.len(), parts }
    }

    /// The same of what was `before` and is `after` now. Where what was told of last still stands, so does all that is
    /// before it; else what is new begins where something was changed.
    pub(super) fn edited(self, before: &[Message], after: &[Message]) -> Self {
        let told = before.get(..self.messages).unwrap_or(before);
        let Some((last, others)) = told.split_last() else { return self };
        let stands = |is: &Message| match (last, is) {
            (Message::User { parts: were }, Message::User { parts }) => parts.starts_with(were),
            _ => last == is,
        };
        let same = others.iter().zip(after).take_while(|(was, is)| was == is).count();
        if same == others.len() && after.get(same).is_some_and(stands) {
            return self;
        }
        match after.iter().rposition(stands) {
            Some(place) => Self { messages: place + 1, ..self },
            None => Self::all(after.get(..same).unwrap_or_default()),
        }
    }
}

impl Turn {
    /// What came in since all was told of, by neither a reply nor a call. Of a conversation that is new here, that is
    /// the orders that it stands under and what was said behind the last reply: a long one is not gone through.
    pub(in crate::agent) fn untold(&self) -> Vec<RunEvent> {
        let messages = self.transcript.as_slice();
        let Told { messages: told, parts } = self.told;
        if told == 0 {
            let is_said =
                |said: &&Message| matches!(said, Message::System { .. } | Message::User { .. });
            let last = messages.iter().rev().take_while(is_said).count();
            let (before, behind) = messages.split_at(messages.len().saturating_sub(last));
            let orders = before.first().filter(|first| matches!(first, Message::System { .. }));
            return orders.into_iter().chain(behind).filter_map(|said| event(said, 0)).collect();
        }
        let grown = told.checked_sub(1).and_then(|last| messages.get(last));
        let grown = grown.and_then(|last| event(last, parts));
        let new = messages.get(told..).unwrap_or_default();
        grown.into_iter().chain(new.iter().filter_map(|said| event(said, 0))).collect()
    }

    /// All that was said is told of.
    pub(in crate::agent) fn all_is_told(&mut self) {
        self.told = Told::all(&self.transcript);
    }
}

/// What was said here, but for so many parts of it.
fn event(said: &Message, parts_told: usize) -> Option<RunEvent> {
    let (by, text, images) = match said {
        Message::System { text } if parts_told == 0 => (Speaker::System, text.clone(), 0),
        Message::User { parts } => {
            let new = parts.get(parts_told..)?;
            let text = new.iter().filter_map(|part| match part {
                UserPart::Text { text } => Some(text.as_str()),
                UserPart::Image(_) => None,
            });
            let text: String = text.collect();
            let images = new.iter().filter(|part| matches!(part, UserPart::Image(_))).count();
            (Speaker::User, text.trim_start_matches('\n').to_owned(), images)
        }
        _ => return None,
    };
    (!text.is_empty() || images > 0).then_some(RunEvent::Said { by, source: None, text, images })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Image;
    use crate::models::ChatReply;

    fn told(turn: &mut Turn) -> Vec<(Speaker, String, usize)> {
        let told = turn.untold().into_iter().map(|event| match event {
            RunEvent::Said { by, text, images, .. } => (by, text, images),
            event => panic!("{event:?}"),
        });
        let told = told.collect();
        turn.all_is_told();
        assert_eq!(turn.untold(), [], "it is told twice");
        told
    }

    fn text(text: &str) -> UserPart {
        UserPart::Text { text: text.into() }
    }

    #[test]
    fn each_is_told_once_as_it_comes() {
        let user = |text: &str| (Speaker::User, text.to_owned(), 0);
        let mut turn = Turn::new(vec![Message::system("Be brief."), Message::user("Hello")], 20);
        assert_eq!(told(&mut turn), [(Speaker::System, "Be brief.".into(), 0), user("Hello")]);
        // Behind what the user said last, within one message.
        turn.add(vec![text("Are you there?")]).unwrap();
        assert_eq!(told(&mut turn), [user("Are you there?")]);
        turn.on_reply(ChatReply::text("Yes.")).unwrap();
        assert_eq!(told(&mut turn), []);
        let png = Image { media_type: "image/png".into(), base64: String::new() };
        turn.add(vec![text("What is this?"), UserPart::Image(png)]).unwrap();
        assert_eq!(told(&mut turn), [(Speaker::User, "What is this?".into(), 1)]);
        // Kept, and gone on with.
        let kept = serde_json::to_string(&turn).unwrap();
        let mut turn: Turn = serde_json::from_str(&kept).unwrap();
        assert_eq!(told(&mut turn), []);
        // What was told of goes, and something else comes.
        turn.edit(|messages| messages.truncate(1));
        assert_eq!(told(&mut turn), []);
        turn.edit(|messages| messages.push(Message::user("Anew")));
        assert_eq!(told(&mut turn), [user("Anew")]);
    }

    #[test]
    fn however_a_conversation_is_changed_what_is_new_is_told_and_nothing_twice() {
        type Change = fn(&mut Vec<Message>);
        let changes: [(Change, &[&str]); 8] = [
            (|_| (), &[]),
            (|said| said.push(Message::user("New")), &["New"]),
            // In place of what was said, and shorter.
            (
                |said| {
                    said.splice(1.., [Message::user("In short"), Message::user("New")])
                        .for_each(drop)
                },
                &["In short", "New"],
            ),
            // An earlier part of it.
            (|said| said.splice(..2, [Message::user("In short")]).for_each(drop), &[]),
            (|said| said.insert(3, Message::user("Before")), &[]),
            (|said| said.truncate(1), &[]),
            // The last one grows, and is another.
            (
                |said| {
                    said.iter_mut().for_each(|it| {
                        if let Message::User { parts } = it {
                            parts.push(text("New"))
                        }
                    })
                },
                &["New"],
            ),
            (|said| said.splice(3.., [Message::user("New")]).for_each(drop), &["New"]),
        ];
        for (at, (change, expected)) in changes.into_iter().enumerate() {
            let before = ["Hello", "Well?"].map(Message::user);
            let [hello, well] = before;
            let said = vec![Message::system("Be brief."), hello, Message::assistant("Hi!"), well];
            let mut turn = Turn::new(said, 20);
            turn.all_is_told();
            turn.edit(change);
            let new: Vec<_> = told(&mut turn).into_iter().map(|(_, text, _)| text).collect();
            assert_eq!(new, expected, "{at}");
        }
    }

    #[test]
    fn of_a_conversation_that_was_had_before_what_is_new_is_told() {
        let before = |rest: &[Message]| {
            let mut messages = vec![Message::system("Be brief.")];
            for _ in 0..5_000 {
                messages.extend([Message::user("Hello"), Message::assistant("Hi!")]);
            }
            messages.extend_from_slice(rest);
            Turn::new(messages, 20)
        };
        let orders = (Speaker::System, "Be brief.".to_owned(), 0);
        let now = (Speaker::User, "And now?".to_owned(), 0);
        assert_eq!(told(&mut before(&[Message::user("And now?")])), [orders.clone(), now]);
        assert_eq!(told(&mut before(&[])), [orders]);
        assert_eq!(told(&mut Turn::new(Vec::new(), 20)), []);
    }
}
