//! Token estimate for providers that report no usage.

use crate::agent::window;
use crate::message::{AssistantPart, Message, ToolResult, Usage};
use crate::models::ChatRequest;

/// Estimates the usage of a request and its reply: four bytes are one token.
pub(in crate::agent) fn estimate_usage(request: ChatRequest<'_>, reply: &[AssistantPart]) -> Usage {
    estimate_partial_usage(request, parts_bytes(reply))
}

/// Estimates the usage of a request and of a reply of which this many bytes have arrived.
pub(in crate::agent) fn estimate_partial_usage(
    request: ChatRequest<'_>,
    reply_bytes: usize,
) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes / 4).unwrap_or(u64::MAX);
    let messages: usize = request.messages.iter().map(message_bytes).sum();
    let tools: usize = request.tools.iter().map(|tool| window::definition_bytes(tool)).sum();
    let (input, output) = (tokens(messages + tools), tokens(reply_bytes));
    Usage { estimated_tokens: input.saturating_add(output), ..Usage::new(input, output) }
}

/// Counts the bytes of a message that the model reads.
fn message_bytes(message: &Message) -> usize {
    match message {
        Message::System { text } => text.len(),
        Message::User { .. } => message.text().len(),
        Message::Assistant { parts, .. } => parts_bytes(parts),
        Message::Tool { results } => results.iter().map(result_bytes).sum(),
    }
}

fn result_bytes(result: &ToolResult) -> usize {
    let texts = result.parts.iter().filter(|part| part.media().is_none());
    result.text.len() + texts.map(|part| part.plain_text().len()).sum::<usize>()
}

fn parts_bytes(parts: &[AssistantPart]) -> usize {
    let part_bytes = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => text.len(),
        AssistantPart::Reasoning(reasoning) => reasoning.text.len(),
        AssistantPart::Source(_) | AssistantPart::File(_) => 0,
        AssistantPart::Call(call) => call.name.len() + call.arguments.to_text().len(),
    };
    parts.iter().map(part_bytes).sum()
}
