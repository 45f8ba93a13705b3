//! Rewrites a transcript of calls and results as decisions and observations.

use super::decision::{answer_text, call_text};
use super::prompt::observation;
use crate::message::{AssistantPart, ContentPart, Message, ToolCall, ToolResult};

/// Returns the conversation with `instructions` appended to its system message. Without
/// instructions, calls are written as plain text, for a model that is not asked to decide.
pub(super) fn messages(transcript: &[Message], instructions: Option<&str>) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = transcript;
    if let Some(instructions) = instructions {
        let instructions = match transcript.split_first() {
            Some((Message::System { text }, after)) => {
                rest = after;
                format!("{text}\n\n{instructions}")
            }
            _ => instructions.to_owned(),
        };
        messages.push(Message::system(instructions));
    }
    for (index, message) in rest.iter().enumerate() {
        match message {
            Message::System { .. } | Message::User { .. } => push(&mut messages, message.clone()),
            Message::Assistant { parts, .. } => {
                let results = match rest.get(index + 1) {
                    Some(Message::Tool { results }) => results.as_slice(),
                    _ => &[],
                };
                push_decisions(&mut messages, parts, results, instructions.is_some());
            }
            // Each result is written after its call.
            Message::Tool { .. } => {}
        }
    }
    messages
}

/// Appends a message and merges it with the last one if both have the same role: many chat
/// templates refuse two messages of one role in a row.
pub(super) fn push(messages: &mut Vec<Message>, message: Message) {
    match (messages.last_mut(), message) {
        (Some(Message::User { parts, .. }), Message::User { parts: more, .. }) => {
            parts.push(ContentPart::Text { text: "\n\n".to_owned() });
            parts.extend(more);
        }
        (Some(Message::Assistant { parts, .. }), Message::Assistant { parts: more, .. }) => {
            parts.push(AssistantPart::Text { text: "\n\n".to_owned() });
            parts.extend(more);
        }
        (_, message) => messages.push(message),
    }
}

fn push_decisions(
    messages: &mut Vec<Message>,
    parts: &[AssistantPart],
    results: &[ToolResult],
    are_json: bool,
) {
    let mut thought = String::new();
    let mut text_so_far = String::new();
    let mut has_calls = false;
    for part in parts {
        match part {
            AssistantPart::Reasoning(reasoning) => thought.push_str(&reasoning.text),
            AssistantPart::Text { text } => text_so_far.push_str(text),
            AssistantPart::File(file) => text_so_far.push_str(&file.note()),
            AssistantPart::Source(_) => {}
            AssistantPart::Call(call) => {
                has_calls = true;
                let reason =
                    format!("{}{}", std::mem::take(&mut thought), std::mem::take(&mut text_so_far));
                let args = call.arguments.to_text();
                let text = if are_json {
                    call_text(&reason, &call.name, &args)
                } else {
                    format!("{reason}\n\nUsed {}: {args}", call.name).trim_start().to_owned()
                };
                push(messages, Message::assistant(text));
                push_observation(messages, call, results);
            }
        }
    }
    if !has_calls || !text_so_far.trim().is_empty() {
        let text = if are_json { answer_text(&thought, &text_so_far) } else { text_so_far };
        push(messages, Message::assistant(text));
    }
}

fn push_observation(messages: &mut Vec<Message>, call: &ToolCall, results: &[ToolResult]) {
    let Some(result) = results.iter().find(|result| result.call == call.id) else { return };
    let has_media = |part: &ContentPart| part.media().is_some();
    let text = result.text_without(has_media);
    let text = observation(&call.name, result.error.as_deref(), &text);
    let media = result.parts.iter().filter(|part| has_media(part)).cloned();
    let parts = std::iter::once(ContentPart::Text { text }).chain(media).collect();
    push(messages, Message::User { id: None, parts });
}
