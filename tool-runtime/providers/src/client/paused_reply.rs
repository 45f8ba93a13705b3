//! Replies that a provider pauses: it sends the rest when the client asks for it.

use tool_core::{AssistantPart, ChatReply, FinishReason};

use crate::shared::shifted;

/// Returns whether a reply can be continued. Calls come first: their results continue the turn.
pub(crate) fn is_paused(reply: &ChatReply) -> bool {
    let has_calls = reply.calls().next().is_some();
    reply.finish_reason == FinishReason::Paused && !has_calls && !reply.parts.is_empty()
}

/// Returns the length of the text of paused replies, after which the text of the next one comes.
pub(crate) fn text_len(replies: &[ChatReply]) -> usize {
    replies.iter().map(|reply| reply.to_text().len()).sum()
}

/// Joins the replies of one turn. The finish reason and the id are the last ones, and each request
/// has its own usage.
pub(crate) fn joined(replies: Vec<ChatReply>) -> ChatReply {
    let join = |mut whole: ChatReply, next: ChatReply| {
        let distance = whole.to_text().len();
        whole.parts.extend(next.parts.into_iter().map(|part| match part {
            AssistantPart::Source(source) => AssistantPart::Source(shifted(&source, distance)),
            part => part,
        }));
        whole.finish_reason = next.finish_reason;
        whole.id = next.id.or(whole.id);
        whole.model = next.model.or(whole.model);
        if let Some(usage) = next.usage {
            *whole.usage.get_or_insert_default() += usage;
        }
        whole
    };
    replies.into_iter().reduce(join).unwrap_or_default()
}
