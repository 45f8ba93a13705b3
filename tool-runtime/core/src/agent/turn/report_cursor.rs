//! Cursor over the transcript: which messages observers have received, and which are new.
//!
//! Replies and results have their own events. The cursor covers system and user messages. Each of
//! them is emitted once, even if the run is stored and resumed or its transcript is edited.

use serde::{Deserialize, Serialize};

use super::Turn;
use crate::event::{Attachment, MessageSource, RunEvent};
use crate::message::{ContentPart, Message};

/// The number of reported messages and, if the last one is a user message, of its reported parts.
///
/// Parts are counted because a user message can grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReportCursor {
    messages: usize,
    parts: usize,
}

impl ReportCursor {
    /// Returns the cursor behind the last message.
    fn end_of(messages: &[Message]) -> Self {
        let parts = match messages.last() {
            Some(Message::User { parts, .. }) => parts.len(),
            _ => 1,
        };
        Self { messages: messages.len(), parts }
    }

    /// Returns the cursor for the transcript `after`, which replaces `before`.
    ///
    /// If the last reported message still exists, everything up to it counts as reported.
    /// Otherwise the new part begins at the first changed message.
    pub(super) fn after_edit(self, before: &[Message], after: &[Message]) -> Self {
        let reported = before.get(..self.messages).unwrap_or(before);
        let Some((last, others)) = reported.split_last() else { return self };
        let is_last = |message: &Message| match (last, message) {
            (Message::User { parts: old, .. }, Message::User { parts, .. }) => {
                parts.starts_with(old)
            }
            _ => last == message,
        };
        let same = others.iter().zip(after).take_while(|(old, new)| old == new).count();
        if same == others.len() && after.get(same).is_some_and(is_last) {
            return self;
        }
        match after.iter().rposition(is_last) {
            Some(index) => Self { messages: index + 1, ..self },
            None => Self::end_of(after.get(..same).unwrap_or_default()),
        }
    }
}

impl Turn {
    /// Returns events for the system and user messages that have not been reported.
    ///
    /// For a conversation that was never reported, these are the system message and the messages
    /// after the last reply, so that a long history is not emitted again.
    pub(in crate::agent) fn unreported_messages(&self) -> Vec<RunEvent> {
        let messages = self.transcript.as_slice();
        let ReportCursor { messages: reported, parts } = self.reported;
        if reported == 0 {
            let is_input = |message: &&Message| {
                matches!(message, Message::System { .. } | Message::User { .. })
            };
            let count = messages.iter().rev().take_while(is_input).count();
            let (history, new) = messages.split_at(messages.len().saturating_sub(count));
            let system = history.first().filter(|first| matches!(first, Message::System { .. }));
            return system
                .into_iter()
                .chain(new)
                .filter_map(|message| message_event(message, 0))
                .collect();
        }
        let last_reported = reported.checked_sub(1).and_then(|last| messages.get(last));
        let last_reported = last_reported.and_then(|last| message_event(last, parts));
        let new = messages.get(reported..).unwrap_or_default();
        last_reported
            .into_iter()
            .chain(new.iter().filter_map(|message| message_event(message, 0)))
            .collect()
    }

    /// Converts the index behind the last reported message.
    pub(in crate::agent) fn map_reported(&mut self, map: impl Fn(usize) -> usize) {
        if self.reported.messages > 0 {
            self.reported.messages = map(self.reported.messages);
        }
    }

    /// Marks all messages as reported.
    pub(in crate::agent) fn mark_reported(&mut self) {
        self.reported = ReportCursor::end_of(&self.transcript);
    }
}

/// Returns the event for a system or user message, without its first `reported_parts` parts.
fn message_event(message: &Message, reported_parts: usize) -> Option<RunEvent> {
    let (source, text, attachments) = match message {
        Message::System { text } if reported_parts == 0 => {
            (MessageSource::System, text.clone(), Vec::new())
        }
        Message::User { parts, .. } => {
            let new = parts.get(reported_parts..)?;
            let text: String = new.iter().filter_map(ContentPart::as_text).collect();
            let attachments: Vec<_> = new.iter().filter_map(Attachment::of).collect();
            (MessageSource::User, text.trim_start_matches('\n').to_owned(), attachments)
        }
        _ => return None,
    };
    (!text.is_empty() || !attachments.is_empty()).then_some(RunEvent::MessageAdded {
        source,
        source_name: None,
        message: message.id().cloned(),
        text,
        attachments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Image;
    use crate::models::ChatReply;

    fn report(turn: &mut Turn) -> Vec<(MessageSource, String, usize)> {
        let events = turn.unreported_messages().into_iter().map(|event| match event {
            RunEvent::MessageAdded { source, text, attachments, .. } => {
                (source, text, attachments.len())
            }
            event => panic!("{event:?}"),
        });
        let events = events.collect();
        turn.mark_reported();
        assert_eq!(turn.unreported_messages(), [], "a message is reported twice");
        events
    }

    fn text(text: &str) -> ContentPart {
        ContentPart::Text { text: text.into() }
    }

    #[test]
    fn each_message_is_reported_once() {
        let user = |text: &str| (MessageSource::User, text.to_owned(), 0);
        let mut turn = Turn::new(vec![Message::system("Be brief."), Message::user("Hello")], 20);
        assert_eq!(
            report(&mut turn),
            [(MessageSource::System, "Be brief.".into(), 0), user("Hello")]
        );
        // The last user message grows.
        turn.add_user_parts(vec![text("Are you there?")]).unwrap();
        assert_eq!(report(&mut turn), [user("Are you there?")]);
        turn.on_reply(ChatReply::text("Yes.")).unwrap();
        assert_eq!(report(&mut turn), []);
        let png = Image { media_type: "image/png".into(), base64: String::new() };
        turn.add_user_parts(vec![text("What is this?"), ContentPart::Image(png)]).unwrap();
        assert_eq!(report(&mut turn), [(MessageSource::User, "What is this?".into(), 1)]);
        // The cursor survives storage.
        let stored = serde_json::to_string(&turn).unwrap();
        let mut turn: Turn = serde_json::from_str(&stored).unwrap();
        assert_eq!(report(&mut turn), []);
        // Reported messages are removed, and a new one is added.
        turn.edit(|messages| messages.truncate(1));
        assert_eq!(report(&mut turn), []);
        turn.edit(|messages| messages.push(Message::user("Anew")));
        assert_eq!(report(&mut turn), [user("Anew")]);
    }

    #[test]
    fn edits_report_new_messages_and_no_message_twice() {
        type TranscriptEdit = fn(&mut Vec<Message>);
        let changes: [(TranscriptEdit, &[&str]); 8] = [
            (|_| (), &[]),
            (|messages| messages.push(Message::user("New")), &["New"]),
            // A shorter text replaces reported messages.
            (
                |messages| {
                    messages
                        .splice(1.., [Message::user("In short"), Message::user("New")])
                        .for_each(drop)
                },
                &["In short", "New"],
            ),
            // A shorter text replaces an earlier part.
            (|messages| messages.splice(..2, [Message::user("In short")]).for_each(drop), &[]),
            (|messages| messages.insert(3, Message::user("Before")), &[]),
            (|messages| messages.truncate(1), &[]),
            // Each user message grows; only the last one is after the cursor.
            (
                |messages| {
                    messages.iter_mut().for_each(|message| {
                        if let Message::User { parts, .. } = message {
                            parts.push(text("New"))
                        }
                    })
                },
                &["New"],
            ),
            (|messages| messages.splice(3.., [Message::user("New")]).for_each(drop), &["New"]),
        ];
        for (index, (change, expected)) in changes.into_iter().enumerate() {
            let before = ["Hello", "Well?"].map(Message::user);
            let [hello, well] = before;
            let messages =
                vec![Message::system("Be brief."), hello, Message::assistant("Hi!"), well];
            let mut turn = Turn::new(messages, 20);
            turn.mark_reported();
            turn.edit(change);
            let new: Vec<_> = report(&mut turn).into_iter().map(|(_, text, _)| text).collect();
            assert_eq!(new, expected, "{index}");
        }
    }

    #[test]
    fn history_of_an_imported_conversation_is_not_reported() {
        let after_history = |rest: &[Message]| {
            let mut messages = vec![Message::system("Be brief.")];
            for _ in 0..5_000 {
                messages.extend([Message::user("Hello"), Message::assistant("Hi!")]);
            }
            messages.extend_from_slice(rest);
            Turn::new(messages, 20)
        };
        let system = (MessageSource::System, "Be brief.".to_owned(), 0);
        let new = (MessageSource::User, "And now?".to_owned(), 0);
        let mut turn = after_history(&[Message::user("And now?")]);
        assert_eq!(report(&mut turn), [system.clone(), new]);
        assert_eq!(report(&mut after_history(&[])), [system]);
        assert_eq!(report(&mut Turn::new(Vec::new(), 20)), []);
    }
}
