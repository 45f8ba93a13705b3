//! Repairs a transcript so that every provider accepts it.
//!
//! Providers require that each call has exactly one result, that the results directly follow their
//! calls, and that no two calls have the same id. A transcript from outside, or one whose run was
//! interrupted, may violate these rules.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::message::{
    AssistantPart, CallId, ContentPart, Message, MessageId, ToolCall, ToolResult,
};
use crate::tool::ToolErrorKind;

/// Repairs a transcript. A valid transcript is returned unchanged.
///
/// - An id that is empty or was used before is replaced, in the call and in its result.
/// - A result belongs to the last open call with its id. It is moved directly behind that call and
///   takes the name that was called.
/// - A call without a result gets a result with the code `TOOL_INDETERMINATE`. The exception are
///   calls in the last message: they were never run and stay open.
/// - A result without a call is dropped, and so is a second result of the same call.
/// - An empty assistant message is dropped. The user messages before and after it become one.
pub(crate) fn repaired(transcript: Vec<Message>) -> Vec<Message> {
    let ends_with_calls = transcript.last().is_some_and(|last| last.calls().next().is_some());
    let mut repaired = answer_calls(transcript);
    if ends_with_calls {
        repaired.pop();
    }
    repaired
}

/// Repairs a transcript as [`repaired`] does and adds a result for every call.
pub(crate) fn with_all_results(messages: &[Message]) -> Cow<'_, [Message]> {
    if is_valid(messages) {
        Cow::Borrowed(messages)
    } else {
        Cow::Owned(answer_calls(messages.to_vec()))
    }
}

/// Returns the messages of a transcript in a form that every provider accepts.
///
/// A valid transcript is returned as it is. Otherwise, each call gets exactly one result, directly
/// after it, and a unique id; a call whose result is unknown gets one with the code
/// `TOOL_INDETERMINATE`. Results without a call and empty replies are dropped, and adjacent user
/// messages, which windows and hooks can cause, are merged.
///
/// [`Agent`](crate::Agent) does this before each request. Call it if a program requests replies
/// from a [`ChatModel`](super::ChatModel) itself, with a transcript from outside.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::models::repaired_messages;
///
/// let messages = [Message::user("Hello"), Message::user("Is anyone there?")];
/// assert_eq!(repaired_messages(&messages).len(), 1);
/// ```
pub fn repaired_messages(messages: &[Message]) -> Cow<'_, [Message]> {
    let messages = with_all_results(messages);
    let is_user = |message: &Message| matches!(message, Message::User { .. });
    if !messages.windows(2).any(|pair| pair.iter().all(is_user)) {
        return messages;
    }
    let mut merged = Vec::with_capacity(messages.len());
    for message in messages.into_owned() {
        match message {
            Message::User { id, parts } => push_user(&mut merged, id, parts),
            message => merged.push(message),
        }
    }
    Cow::Owned(merged)
}

/// Whether there is nothing to repair and every call has its result.
fn is_valid<'m>(messages: &'m [Message]) -> bool {
    let mut used = HashSet::with_hasher(RandomState::default());
    let mut is_new = |call: &'m ToolCall| !call.id.as_str().is_empty() && used.insert(&call.id);
    let previous = std::iter::once(None).chain(messages.iter().map(Some));
    let following = messages.iter().skip(1).map(Some).chain([None]);
    previous.zip(messages).zip(following).all(|((previous, message), next)| match message {
        Message::Assistant { parts, .. } => {
            let mut calls = message.calls().peekable();
            if calls.peek().is_none() {
                return !is_empty_reply(parts);
            }
            let results = match next {
                Some(Message::Tool { results }) => results.as_slice(),
                _ => &[],
            };
            message.calls().all(&mut is_new)
                && calls
                    .map(|call| (&call.id, &call.name))
                    .eq(results.iter().map(|result| (&result.call, &result.tool)))
        }
        Message::Tool { .. } => previous.is_some_and(|it| it.calls().next().is_some()),
        _ => true,
    })
}

fn answer_calls(transcript: Vec<Message>) -> Vec<Message> {
    let mut ids = CallIds::default();
    let mut repaired = Vec::with_capacity(transcript.len());
    let mut open = UnresolvedCalls::default();
    let mut is_previous_dropped = false;
    for message in transcript {
        let was_previous_dropped = std::mem::replace(&mut is_previous_dropped, false);
        match message {
            Message::Assistant { parts, .. } if is_empty_reply(&parts) => {
                is_previous_dropped = true
            }
            Message::Assistant { id, mut parts } => {
                let original_ids = ids.make_unique(&mut parts);
                let reply = Message::Assistant { id, parts };
                let results: Vec<_> = reply.calls().map(lost_result).collect();
                repaired.push(reply);
                if !results.is_empty() {
                    open.add(original_ids, repaired.len());
                    repaired.push(Message::Tool { results });
                }
            }
            Message::Tool { results } => {
                for result in results {
                    if let Some(slot) = open.take_slot(&result.call, &mut repaired) {
                        let ToolResult { call, tool, .. } = slot.clone();
                        *slot = ToolResult { call, tool, ..result };
                    }
                }
                is_previous_dropped = true;
            }
            Message::User { id, parts } if was_previous_dropped => {
                push_user(&mut repaired, id, parts);
            }
            message => repaired.push(message),
        }
    }
    repaired
}

/// Adds a user message, or appends its parts to the last message if that is a user message too,
/// which keeps its id.
///
/// Many chat templates reject two user messages in a row.
pub(crate) fn push_user(
    messages: &mut Vec<Message>,
    id: Option<MessageId>,
    mut new: Vec<ContentPart>,
) {
    let Some(Message::User { parts, .. }) = messages.last_mut() else {
        return messages.push(Message::User { id, parts: new });
    };
    if let (Some(ContentPart::Text { .. }), Some(ContentPart::Text { text })) =
        (parts.last(), new.first_mut())
    {
        text.insert_str(0, "\n\n");
    }
    parts.append(&mut new);
}

/// Whether a reply has neither text nor calls, nor an action of the provider.
pub(crate) fn is_empty_reply(parts: &[AssistantPart]) -> bool {
    parts.iter().all(|part| match part {
        AssistantPart::Text { text } => text.trim().is_empty(),
        AssistantPart::Reasoning(reasoning) => !reasoning.is_provider_action,
        AssistantPart::Call(_) | AssistantPart::File(_) => false,
        AssistantPart::Source(_) => true,
    })
}

/// Replaces the ids of a reply's calls that are empty or used in the transcript.
pub(crate) fn with_unique_ids(
    transcript: &[Message],
    mut parts: Vec<AssistantPart>,
) -> Vec<AssistantPart> {
    CallIds::of(transcript).make_unique(&mut parts);
    parts
}

/// Makes the ids of calls unique without changing those in the last message: earlier calls are
/// renamed, with their results. Returns the index of the first message that was changed.
///
/// The ids of the last calls have to stay: their state is stored by id.
pub(crate) fn keep_last_ids(messages: &mut [Message]) -> Option<usize> {
    let mut ids = CallIds::of(messages);
    let last_calls = messages.last().into_iter().flat_map(Message::calls);
    let mut known: HashSet<CallId> = last_calls.map(|call| call.id.clone()).collect();
    // A last message without calls holds the results of the calls before it.
    let end = if known.is_empty() { messages.len() } else { messages.len() - 1 };
    let mut first = None;
    let mut renamed: HashMap<CallId, CallId> = HashMap::new();
    for (index, message) in messages.iter_mut().enumerate().take(end) {
        match message {
            Message::Assistant { parts, .. } => {
                renamed.clear();
                for part in parts {
                    let AssistantPart::Call(call) = part else { continue };
                    if !known.insert(call.id.clone()) {
                        let old = std::mem::replace(&mut call.id, ids.unused());
                        renamed.entry(old).or_insert_with(|| call.id.clone());
                        first = first.or(Some(index));
                    }
                }
            }
            Message::Tool { results } => {
                for result in results {
                    if let Some(new) = renamed.get(&result.call) {
                        result.call = new.clone();
                    }
                }
            }
            _ => {}
        }
    }
    first
}

fn lost_result(call: &ToolCall) -> ToolResult {
    let text = "The result of this call was lost; it may have had effects.";
    ToolResult::failure(call, ToolErrorKind::Indeterminate.code(), text)
}

/// The calls that may still get a result, by their ids in the original transcript. Of the calls
/// with one id, the last entry gets the next result.
#[derive(Default)]
struct UnresolvedCalls(HashMap<CallId, Vec<ResultSlot>>);

/// The place for the result of a call: the index of the message and that in its results.
struct ResultSlot {
    message: usize,
    index: usize,
}

impl UnresolvedCalls {
    /// Adds the calls of a message, whose results are in the message at `message`.
    fn add(&mut self, original_ids: Vec<CallId>, message: usize) {
        // Reversed, so that the first of several calls of a message with one id is the last entry.
        for (index, id) in original_ids.into_iter().enumerate().rev() {
            self.0.entry(id).or_default().push(ResultSlot { message, index });
        }
    }

    /// Returns the place for a result of the last open call with this id, which is no longer open.
    fn take_slot<'r>(
        &mut self,
        id: &CallId,
        repaired: &'r mut [Message],
    ) -> Option<&'r mut ToolResult> {
        let ResultSlot { message, index } = self.0.get_mut(id)?.pop()?;
        match repaired.get_mut(message)? {
            Message::Tool { results } => results.get_mut(index),
            _ => None,
        }
    }
}

/// The ids of the calls so far.
#[derive(Default)]
pub(crate) struct CallIds {
    ids: HashSet<CallId, RandomState>,
    /// The number of the last new id. All lower numbers from the count of ids on are used.
    last_number: usize,
}

impl CallIds {
    /// Returns the ids of all calls in a transcript.
    pub(crate) fn of(messages: &[Message]) -> Self {
        let used = messages.iter().flat_map(Message::calls).map(|call| call.id.clone());
        Self { ids: used.collect(), last_number: 0 }
    }

    /// Returns the id of the next call: the one that the model has sent, or a new one if that is
    /// empty or used.
    pub(crate) fn assign(&mut self, original: CallId) -> CallId {
        let is_new = !original.as_str().is_empty() && self.ids.insert(original.clone());
        if is_new { original } else { self.unused() }
    }

    /// Replaces ids that are empty or used; returns the original ids of the calls.
    fn make_unique(&mut self, parts: &mut [AssistantPart]) -> Vec<CallId> {
        let mut original_ids = Vec::new();
        for part in parts {
            let AssistantPart::Call(call) = part else { continue };
            original_ids.push(call.id.clone());
            call.id = self.assign(call.id.clone());
        }
        original_ids
    }

    /// Returns an id that was not used before.
    fn unused(&mut self) -> CallId {
        let mut number = self.last_number.max(self.ids.len());
        loop {
            number += 1;
            let id = CallId::from(format!("call_{number}"));
            if self.ids.insert(id.clone()) {
                self.last_number = number;
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{answer_calls, is_valid, keep_last_ids, with_all_results};
    use crate::message::{AssistantPart, Message, ToolCall, ToolResult};

    fn assistant(calls: &[&str]) -> Message {
        let calls = calls.iter().map(|id| AssistantPart::Call(ToolCall::new(*id, "t", "{}")));
        Message::Assistant { id: None, parts: calls.collect() }
    }

    fn results(calls: &[&str]) -> Message {
        let result = |id: &&str| ToolResult::success(&ToolCall::new(*id, "t", "{}"), "done");
        Message::Tool { results: calls.iter().map(result).collect() }
    }

    #[test]
    fn results_are_moved_behind_the_calls_of_earlier_messages() {
        let [a, b] = ["a", "b"].map(|id| [assistant(&[id]), results(&[id])]);
        let together = [assistant(&["a"]), assistant(&["b"]), results(&["a", "b"])];
        assert_eq!(*with_all_results(&together), [a.clone(), b].concat());
        // The last call with the id comes first.
        let twice = [assistant(&["a"]), assistant(&["a"]), results(&["a"])];
        let [_, lost, _, found] = with_all_results(&twice).into_owned().try_into().unwrap();
        assert_ne!(lost, a[1]);
        assert!(matches!(found, Message::Tool { results } if results[0].text == "done"));
    }

    /// The texts of all results.
    fn texts(messages: &[Message]) -> Vec<&str> {
        let results = messages.iter().filter_map(|message| match message {
            Message::Tool { results } => Some(results),
            _ => None,
        });
        results.flatten().map(|result| result.text.as_str()).collect()
    }

    #[test]
    fn earlier_calls_are_renamed_with_their_results() {
        let messages = [("a", "1"), ("b", "2"), ("a", "3")].map(|(id, text)| {
            let call = ToolCall::new(id, "t", "{}");
            let results = vec![ToolResult::success(&call, text)];
            [assistant(&[id]), Message::Tool { results }]
        });
        let messages = messages.concat();
        // Open calls keep their ids; the first call with an id keeps it otherwise.
        for (count, changed) in [(6, Some(4)), (5, Some(0)), (4, None), (1, None), (0, None)] {
            let messages = &messages[..count];
            let mut renamed = messages.to_vec();
            assert_eq!(keep_last_ids(&mut renamed), changed, "of {count}");
            let answered = with_all_results(&renamed);
            assert_eq!(*answered.get(..count).unwrap(), *renamed, "of {count}");
            assert_eq!(texts(&renamed), texts(messages), "of {count}");
            if count % 2 == 1 {
                assert_eq!(renamed.last(), messages.last());
            }
        }
    }

    #[test]
    fn valid_transcript_is_not_copied() {
        let misnamed = ToolResult::success(&ToolCall::new("a", "another", "{}"), "done");
        let (user, yes) = (Message::user("Go"), Message::assistant("Yes."));
        for (messages, is_ok) in [
            (vec![], true),
            (vec![user.clone()], true),
            (vec![user.clone(), yes.clone()], true),
            (vec![assistant(&["a", "b"]), results(&["a", "b"]), user.clone()], true),
            (vec![assistant(&["a", "b"]), results(&["b", "a"])], false),
            (vec![assistant(&["a", "b"]), results(&["a"])], false),
            (vec![assistant(&["a"]), results(&["a", "b"])], false),
            (vec![assistant(&["a"]), user.clone(), results(&["a"])], false),
            (vec![assistant(&["a"])], false),
            (vec![assistant(&[""]), results(&[""])], false),
            (vec![assistant(&["a"]), results(&["a"]), assistant(&["a"]), results(&["a"])], false),
            (vec![assistant(&["a"]), results(&["a"]), results(&["a"])], false),
            (vec![results(&["a"])], false),
            (vec![assistant(&["a"]), Message::Tool { results: vec![misnamed] }], false),
            (vec![yes, results(&[])], false),
            (vec![assistant(&[])], false),
            (vec![Message::assistant(" ")], false),
        ] {
            assert_eq!(is_valid(&messages), is_ok, "{messages:?}");
            let repaired = with_all_results(&messages);
            assert!(is_valid(&repaired), "{messages:?}");
            assert_eq!(repaired == messages, is_ok, "{messages:?}");
            assert_eq!(answer_calls(repaired.to_vec()), *repaired);
        }
    }
}
