//! Tokens that nobody counted.

use crate::agent::window;
use crate::message::{AssistantPart, Message, Usage};
use crate::models::ChatRequest;

/// What a provider that doesn't count may have counted: four bytes for a token.
pub(in crate::agent) fn guessed(asked: ChatRequest<'_>, said: &[AssistantPart]) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes / 4).unwrap_or(u64::MAX);
    let messages: usize = asked.messages.iter().map(length).sum();
    let tools: usize = asked.tools.iter().map(|tool| window::length(tool)).sum();
    Usage::new(tokens(messages + tools), tokens(parts_length(said)))
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
