//! Our turn → the body of a request.
//!
//! The shapes are those of Mistral's API reference, "Chat completion", and of its Python SDK; the rules of
//! order those of the validators in its package `mistral-common`, and of what the API answers to users:
//! orders stand in front, a user speaks first, after a result the model speaks before the user does, and
//! what the model is to go on from is marked as such.

use serde_json::{Value, json};

use super::decode::REASONING_OF;
use crate::message::{AssistantPart, Message, ToolResult};
use crate::models::{ChatRequest, WireNames};
use crate::providers::chat::{add, call, content, set_options, shown};
use crate::providers::codec::{EARLIER, IdRules, WireIds, nobody_spoke, set};

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
            Message::Assistant { parts } => {
                if let Some(next) = assistant(message, parts, names, &ids) {
                    say(&mut said, next);
                }
            }
            Message::Tool { results } => {
                said.extend(results.iter().map(|told| result(told, names, &ids)));
                // Most of its models take text alone for a result.
                if let Some(shown) = shown(results, &ids) {
                    say(&mut said, shown);
                }
            }
        }
    }
    if nobody_spoke(&said) {
        say(&mut said, json!({ "role": "user", "content": EARLIER }));
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
    add(said, next);
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

/// None where nothing is left of it: what another provider's own tools did isn't told.
fn assistant(
    message: &Message,
    parts: &[AssistantPart],
    names: &WireNames,
    ids: &WireIds<'_>,
) -> Option<Value> {
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
    if chunks.is_empty() && message.calls().next().is_none() {
        return None;
    }
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
    Some(said)
}

fn result(told: &ToolResult, names: &WireNames, ids: &WireIds<'_>) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": ids.wire(&told.call),
        "name": names.wire(&told.tool),
        "content": told.text,
    })
}
