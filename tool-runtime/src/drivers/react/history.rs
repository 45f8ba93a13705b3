//! A conversation of calls and results, as one of decisions and observations.

use super::decision::{answer_text, call_text};
use super::prompt::observation;
use crate::message::{AssistantPart, Message, ToolCall, ToolResult, UserPart};

/// The conversation under the user's orders and these; as plain speech where there are none, for a model that
/// is not asked to decide.
pub(super) fn told(messages: &[Message], orders: Option<&str>) -> Vec<Message> {
    let mut told = Vec::new();
    let mut rest = messages;
    if let Some(orders) = orders {
        let own = match messages.split_first() {
            Some((Message::System { text }, behind)) => {
                rest = behind;
                format!("{text}\n\n{orders}")
            }
            _ => orders.to_owned(),
        };
        told.push(Message::system(own));
    }
    for (place, message) in rest.iter().enumerate() {
        match message {
            Message::System { .. } | Message::User { .. } => say(&mut told, message.clone()),
            Message::Assistant { parts } => {
                let results = match rest.get(place + 1) {
                    Some(Message::Tool { results }) => results.as_slice(),
                    _ => &[],
                };
                decisions(&mut told, parts, results, orders.is_some());
            }
            // Told behind its call.
            Message::Tool { .. } => {}
        }
    }
    told
}

/// One side speaks once at a time: many chat templates refuse it otherwise.
pub(super) fn say(told: &mut Vec<Message>, message: Message) {
    match (told.last_mut(), message) {
        (Some(Message::User { parts }), Message::User { parts: more }) => {
            parts.push(UserPart::Text { text: "\n\n".to_owned() });
            parts.extend(more);
        }
        (Some(Message::Assistant { parts }), Message::Assistant { parts: more }) => {
            parts.push(AssistantPart::Text { text: "\n\n".to_owned() });
            parts.extend(more);
        }
        (_, message) => told.push(message),
    }
}

fn decisions(
    told: &mut Vec<Message>,
    parts: &[AssistantPart],
    results: &[ToolResult],
    are_json: bool,
) {
    let mut thought = String::new();
    let mut said = String::new();
    let mut has_calls = false;
    for part in parts {
        match part {
            AssistantPart::Reasoning(reasoning) => thought.push_str(&reasoning.text),
            AssistantPart::Text { text } => said.push_str(text),
            AssistantPart::Call(call) => {
                has_calls = true;
                let why = format!("{}{}", std::mem::take(&mut thought), std::mem::take(&mut said));
                let args = call.arguments.to_text();
                let text = match are_json {
                    true => call_text(&why, &call.name, &args),
                    false => format!("{why}\n\nUsed {}: {args}", call.name).trim_start().to_owned(),
                };
                say(told, Message::assistant(text));
                observed(told, call, results);
            }
        }
    }
    if !has_calls || !said.trim().is_empty() {
        let text = if are_json { answer_text(&thought, &said) } else { said };
        say(told, Message::assistant(text));
    }
}

fn observed(told: &mut Vec<Message>, call: &ToolCall, results: &[ToolResult]) {
    let Some(result) = results.iter().find(|result| result.call == call.id) else { return };
    let text = observation(&call.name, result.error.as_deref(), &result.text);
    let images = result.images.iter().cloned().map(UserPart::Image);
    let parts = std::iter::once(UserPart::Text { text }).chain(images).collect();
    say(told, Message::User { parts });
}
