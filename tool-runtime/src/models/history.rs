//! Makes a conversation from outside one that a provider takes: each call answered exactly once,
//! right behind it, and no two calls of one id.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::message::{AssistantPart, CallId, Message, ToolCall, ToolResult, UserPart};
use crate::tool::ToolErrorKind;

/// The conversation with what is amiss in it put right; one that is in order stays as it is.
///
/// - An empty id, and one that was used before, is replaced; the results follow.
/// - Results belong to the last open calls of their ids before them; they move up to stand right behind, and bear
///   the name that was called.
/// - A call without a result gets one that says so, unless it stands at the very end: then it was
///   never run.
/// - A result without a call is dropped, and so is a second one of the same call.
/// - What the model said is dropped where it is nothing at all. What the user said before and behind it is one
///   message then.
pub(crate) fn mended(transcript: Vec<Message>) -> Vec<Message> {
    let never_run = transcript.last().is_some_and(|last| last.calls().next().is_some());
    let mut mended = answered_in(transcript);
    if never_run {
        mended.pop();
    }
    mended
}

/// The same, with a result for every call.
pub(crate) fn answered(messages: &[Message]) -> Cow<'_, [Message]> {
    match is_in_order(messages) {
        true => Cow::Borrowed(messages),
        false => Cow::Owned(answered_in(messages.to_vec())),
    }
}

/// The same, and the user never speaks twice in a row: what was shown or added on the way, such as a summary or what a
/// hook says, is one message with what stands next to it.
#[cfg(feature = "providers")]
pub(crate) fn sent(messages: &[Message]) -> Cow<'_, [Message]> {
    let answered = answered(messages);
    let is_users = |message: &Message| matches!(message, Message::User { .. });
    if !answered.windows(2).any(|pair| pair.iter().all(is_users)) {
        return answered;
    }
    let mut sent = Vec::with_capacity(answered.len());
    for message in answered.into_owned() {
        match message {
            Message::User { parts } => say(&mut sent, parts),
            message => sent.push(message),
        }
    }
    Cow::Owned(sent)
}

/// Whether there is nothing to mend and every call is answered.
fn is_in_order(messages: &[Message]) -> bool {
    let mut used = HashSet::new();
    let mut is_new = |call: &ToolCall| !call.id.as_str().is_empty() && used.insert(call.id.clone());
    let before = std::iter::once(None).chain(messages.iter().map(Some));
    let behind = messages.iter().skip(1).map(Some).chain([None]);
    before.zip(messages).zip(behind).all(|((before, message), behind)| match message {
        Message::Assistant { parts } => {
            let mut calls = message.calls().peekable();
            if calls.peek().is_none() {
                return !is_silent(parts);
            }
            let results = match behind {
                Some(Message::Tool { results }) => results.as_slice(),
                _ => &[],
            };
            message.calls().all(&mut is_new)
                && calls
                    .map(|call| (&call.id, &call.name))
                    .eq(results.iter().map(|result| (&result.call, &result.tool)))
        }
        Message::Tool { .. } => before.is_some_and(|before| before.calls().next().is_some()),
        _ => true,
    })
}

fn answered_in(transcript: Vec<Message>) -> Vec<Message> {
    let mut ids = Ids::default();
    let mut mended = Vec::with_capacity(transcript.len());
    let mut open: Vec<Open> = Vec::new();
    // Whether what stood before the message is dropped.
    let mut closed_up = false;
    for message in transcript {
        let was_closed_up = std::mem::replace(&mut closed_up, false);
        match message {
            Message::Assistant { parts } if is_silent(&parts) => closed_up = true,
            Message::Assistant { mut parts } => {
                let asked = ids.make_unique(&mut parts);
                let said = Message::Assistant { parts };
                if asked.is_empty() {
                    mended.push(said);
                } else {
                    let results = said.calls().map(lost).collect();
                    mended.push(said);
                    open.push(Open { place: mended.len(), asked });
                    mended.push(Message::Tool { results });
                }
            }
            Message::Tool { results } => {
                for result in results {
                    // The last first; each of the others may have it if those before it don't.
                    _ = open
                        .iter_mut()
                        .rev()
                        .try_fold(result, |result, open| open.answer(result, &mut mended));
                }
                open.retain(|open| open.asked.iter().any(Option::is_some));
                closed_up = true;
            }
            Message::User { parts } if was_closed_up => say(&mut mended, parts),
            message => mended.push(message),
        }
    }
    mended
}

/// The user says this next: in one message with what was said last, if that was the user's as well. Many chat
/// templates refuse two in a row.
pub(crate) fn say(messages: &mut Vec<Message>, mut more: Vec<UserPart>) {
    let Some(Message::User { parts }) = messages.last_mut() else {
        return messages.push(Message::User { parts: more });
    };
    if let (Some(UserPart::Text { .. }), Some(UserPart::Text { text })) =
        (parts.last(), more.first_mut())
    {
        text.insert_str(0, "\n\n");
    }
    parts.append(&mut more);
}

/// Whether a model said nothing and called nothing.
pub(crate) fn is_silent(parts: &[AssistantPart]) -> bool {
    parts.iter().all(|part| match part {
        AssistantPart::Text { text } => text.trim().is_empty(),
        AssistantPart::Reasoning(thought) => !thought.acts,
        AssistantPart::Call(_) => false,
    })
}

/// Gives the calls of a reply ids that no call of the conversation has.
pub(crate) fn with_unique_ids(
    transcript: &[Message],
    mut parts: Vec<AssistantPart>,
) -> Vec<AssistantPart> {
    let earlier = transcript.iter().flat_map(Message::calls);
    Ids(earlier.map(|call| call.id.clone()).collect()).make_unique(&mut parts);
    parts
}

fn lost(call: &ToolCall) -> ToolResult {
    let text = "The result of this call was lost; it may have had effects.";
    ToolResult::failure(call, ToolErrorKind::Indeterminate.code(), text)
}

/// The calls that results belong to.
struct Open {
    /// Where the results go.
    place: usize,
    /// The ids that the calls came with; none once answered.
    asked: Vec<Option<CallId>>,
}

impl Open {
    /// Takes a result of one of its calls; gives back any other.
    fn answer(&mut self, result: ToolResult, mended: &mut [Message]) -> Option<ToolResult> {
        let Some(Message::Tool { results }) = mended.get_mut(self.place) else {
            return Some(result);
        };
        let mut slots = self.asked.iter_mut().zip(results.iter_mut());
        let Some((asked, slot)) = slots.find(|(asked, _)| asked.as_ref() == Some(&result.call))
        else {
            return Some(result);
        };
        *asked = None;
        let ToolResult { call, tool, .. } = slot.clone();
        *slot = ToolResult { call, tool, ..result };
        None
    }
}

/// The ids that calls have.
#[derive(Default)]
struct Ids(HashSet<CallId>);

impl Ids {
    /// Replaces ids that are empty or taken; gives back those that the calls came with.
    fn make_unique(&mut self, parts: &mut [AssistantPart]) -> Vec<Option<CallId>> {
        let Self(used) = self;
        let mut came = Vec::new();
        for part in parts {
            let AssistantPart::Call(call) = part else { continue };
            came.push(Some(call.id.clone()));
            let mut number = used.len() + 1;
            while call.id.as_str().is_empty() || used.contains(&call.id) {
                call.id = CallId::from(format!("call_{number}"));
                number += 1;
            }
            used.insert(call.id.clone());
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::{answered, answered_in, is_in_order};
    use crate::message::{AssistantPart, Message, ToolCall, ToolResult};

    fn said(calls: &[&str]) -> Message {
        let calls = calls.iter().map(|id| AssistantPart::Call(ToolCall::new(*id, "t", "{}")));
        Message::Assistant { parts: calls.collect() }
    }

    fn results(calls: &[&str]) -> Message {
        let result = |id: &&str| ToolResult::success(&ToolCall::new(*id, "t", "{}"), "done");
        Message::Tool { results: calls.iter().map(result).collect() }
    }

    #[test]
    fn results_find_the_calls_of_earlier_messages() {
        let [a, b] = ["a", "b"].map(|id| [said(&[id]), results(&[id])]);
        let together = [said(&["a"]), said(&["b"]), results(&["a", "b"])];
        assert_eq!(*answered(&together), [a.clone(), b].concat());
        // The last call of an id first.
        let twice = [said(&["a"]), said(&["a"]), results(&["a"])];
        let [_, lost, _, found] = answered(&twice).into_owned().try_into().unwrap();
        assert_ne!(lost, a[1]);
        assert!(matches!(found, Message::Tool { results } if results[0].text == "done"));
    }

    #[test]
    fn what_is_in_order_is_not_copied() {
        let misnamed = ToolResult::success(&ToolCall::new("a", "another", "{}"), "done");
        let (user, yes) = (Message::user("Go"), Message::assistant("Yes."));
        for (messages, in_order) in [
            (vec![], true),
            (vec![user.clone()], true),
            (vec![user.clone(), yes.clone()], true),
            (vec![said(&["a", "b"]), results(&["a", "b"]), user.clone()], true),
            (vec![said(&["a", "b"]), results(&["b", "a"])], false),
            (vec![said(&["a", "b"]), results(&["a"])], false),
            (vec![said(&["a"]), results(&["a", "b"])], false),
            (vec![said(&["a"]), user.clone(), results(&["a"])], false),
            (vec![said(&["a"])], false),
            (vec![said(&[""]), results(&[""])], false),
            (vec![said(&["a"]), results(&["a"]), said(&["a"]), results(&["a"])], false),
            (vec![said(&["a"]), results(&["a"]), results(&["a"])], false),
            (vec![results(&["a"])], false),
            (vec![said(&["a"]), Message::Tool { results: vec![misnamed] }], false),
            (vec![yes, results(&[])], false),
            (vec![said(&[])], false),
            (vec![Message::assistant(" ")], false),
        ] {
            assert_eq!(is_in_order(&messages), in_order, "{messages:?}");
            let mended = answered(&messages);
            assert!(is_in_order(&mended), "{messages:?}");
            assert_eq!(mended == messages, in_order, "{messages:?}");
            assert_eq!(answered_in(mended.to_vec()), *mended);
        }
    }
}
