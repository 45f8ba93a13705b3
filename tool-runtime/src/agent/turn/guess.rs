//! Tokens that nobody counted.

use crate::message::{AssistantPart, Message, Usage};

/// What a provider that doesn't count may have counted: four bytes for a token.
pub(in crate::agent) fn guessed(asked: &[Message], said: &[AssistantPart]) -> Usage {
    let bytes = |length: usize| u64::try_from(length / 4).unwrap_or(u64::MAX);
    Usage::new(bytes(asked.iter().map(length).sum()), bytes(parts_length(said)))
}

/// How many bytes the model reads of it.
fn length(message: &Message) -> usize {
    match message {
        Message::System { text } => text.len(),
        Message::User { .. } => message.text().len(),
        Message::Assistant { parts } => parts_length(parts),
        Message::Tool { results } => results.iter().map(|result| result.text.len()).sum(),
    }
}

fn parts_length(parts: &[AssistantPart]) -> usize {
    let length = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => text.len(),
        AssistantPart::Reasoning(thought) => thought.text.len(),
        AssistantPart::Call(call) => call.name.len() + call.arguments.to_text().len(),
    };
    parts.iter().map(length).sum()
}
