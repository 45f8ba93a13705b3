//! Our turn → the body of a request.
//!
//! The shapes are those of Mistral's API reference, "Chat completion", and of its Python SDK; the rules of
//! order those of the validators in its package `mistral-common`, and of what the API answers to users:
//! orders stand in front, a user speaks first, after a result the model speaks before the user does, and
//! what the model is to go on from is marked as such.

use serde_json::{Value, json};

use super::decode::REASONING_OF;
use crate::message::{AssistantPart, Message, ToolResult, UserPart};
use crate::models::{ChatRequest, WireNames};
use crate::providers::chat::{call, content, set_options};
use crate::providers::codec::{EARLIER, IdRules, WireIds, set};

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Value {
    let messages = conversation(request.messages, names);
    let mut body = json!({ "model": model, "messages": messages });
    // As old as the API itself; `required` came later.
    set_options(&mut body, request, names, "any");
    if let Some(most) = request.options.max_tokens {
        set(&mut body, "max_tokens", most);
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    body
}

fn conversation(messages: &[Message], names: &WireNames) -> Vec<Value> {
    let ids = WireIds::new(messages, IdRules::Nine);
    let orders: Vec<_> = messages.iter().filter_map(order).collect();
    let mut said = Vec::new();
    if !orders.is_empty() {
        said.push(json!({ "role": "system", "content": orders.join("\n\n") }));
    }
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { parts } => {
                let content = content(parts);
                say(&mut said, json!({ "role": "user", "content": content }));
            }
            Message::Assistant { parts } => say(&mut said, assistant(message, parts, names, &ids)),
            Message::Tool { results } => {
                said.extend(results.iter().map(|told| result(told, names, &ids)));
                if let Some(shown) = shown(results, &ids) {
                    say(&mut said, shown);
                }
            }
        }
    }
    if let Some(last) = said.last_mut()
        && role(last) == "assistant"
    {
        set(last, "prefix", true);
    }
    said
}

/// Adds a message, and before it what has to stand between it and the last.
fn say(said: &mut Vec<Value>, next: Value) {
    match (said.last().map_or("system", role), role(&next)) {
        ("system", "assistant") => said.push(json!({ "role": "user", "content": EARLIER })),
        ("tool", "user") => said.push(json!({ "role": "assistant", "content": "OK." })),
        _ => {}
    }
    said.push(next);
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn order(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn assistant(
    message: &Message,
    parts: &[AssistantPart],
    names: &WireNames,
    ids: &WireIds<'_>,
) -> Value {
    let chunk = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => {
            (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
        }
        AssistantPart::Reasoning(thought) => {
            (thought.provider == REASONING_OF).then(|| thought.sealed.clone())
        }
        AssistantPart::Call(_) => None,
    };
    let chunks: Vec<_> = parts.iter().filter_map(chunk).collect();
    let content: Value = match chunks.iter().any(|chunk| chunk.get("text").is_none()) {
        true => chunks.into(),
        false => message.text().into(),
    };
    let mut said = json!({ "role": "assistant", "content": content });
    let calls = message.calls().map(|made| call(made, &ids.wire(&made.id), names));
    let calls: Vec<_> = calls.collect();
    if !calls.is_empty() {
        set(&mut said, "tool_calls", calls);
    }
    said
}

fn result(told: &ToolResult, names: &WireNames, ids: &WireIds<'_>) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": ids.wire(&told.call),
        "name": names.wire(&told.tool),
        "content": told.text,
    })
}

/// Most of its models take text alone for a result: the user shows the pictures.
fn shown(results: &[ToolResult], ids: &WireIds<'_>) -> Option<Value> {
    let of_result = |told: &ToolResult| {
        let text = format!("What call {} shows:", ids.wire(&told.call));
        let pictures = told.images.iter().cloned().map(UserPart::Image).collect::<Vec<_>>();
        [UserPart::Text { text }].into_iter().chain(pictures)
    };
    let with_pictures = results.iter().filter(|told| !told.images.is_empty());
    let parts: Vec<_> = with_pictures.flat_map(of_result).collect();
    (!parts.is_empty()).then(|| json!({ "role": "user", "content": content(&parts) }))
}
