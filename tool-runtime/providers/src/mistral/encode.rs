//! `ChatRequest` → body of a chat completion request.
//!
//! The shapes follow Mistral's API reference, "Chat completion", and its Python SDK. The order
//! follows the validators of the package `mistral-common` and the errors of the API:
//!
//! - System messages come first.
//! - A user message comes before any model message.
//! - After a result, a model message comes before the next user message.
//! - A final model message that is to be continued is marked as a prefix.

use serde_json::{Value, json};

use super::decode::REASONING_OF;
use crate::chat::{
    encode_call, encode_content, encode_image, media_message, push_message, result_text,
    set_options,
};
use crate::codec::{IdRules, WireIds};
use crate::shared::{OPENING, only_system, set, text_with_notes};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{AssistantPart, ChatRequest, Message, ToolResult};

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Value {
    let messages = conversation(request.messages, names);
    let mut body = json!({ "model": model, "messages": messages });
    // As old as the API itself; the value `required` was added later.
    set_options(&mut body, request, names, "any");
    if let Some(max_tokens) = request.options.max_tokens {
        set(&mut body, "max_tokens", max_tokens);
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    body
}

fn conversation(messages: &[Message], names: &WireNames) -> Vec<Value> {
    let ids = WireIds::new(messages, IdRules::Alphanumeric9);
    let system: Vec<_> = messages.iter().filter_map(system_text).collect();
    let mut encoded = Vec::new();
    if !system.is_empty() {
        encoded.push(json!({ "role": "system", "content": system.join("\n\n") }));
    }
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { parts, .. } => {
                let content = encode_content(parts, media);
                push(&mut encoded, json!({ "role": "user", "content": content }));
            }
            Message::Assistant { parts, .. } => {
                if let Some(next) = assistant(message, parts, names, &ids) {
                    push(&mut encoded, next);
                }
            }
            Message::Tool { results } => {
                encoded.extend(results.iter().map(|result| tool_result(result, names, &ids)));
                // Most of its models accept only text as a result.
                if let Some(attached) = media_message(results, &ids, media) {
                    push(&mut encoded, attached);
                }
            }
            _ => {} // `check` has refused the request.
        }
    }
    if only_system(&encoded) {
        push(&mut encoded, json!({ "role": "user", "content": OPENING }));
    }
    if let Some(last) = encoded.last_mut()
        && role(last) == "assistant"
    {
        set(last, "prefix", true);
    }
    encoded
}

/// Adds a message, and before it the message that the API requires between it and the last one.
fn push(encoded: &mut Vec<Value>, next: Value) {
    match (encoded.last().map_or("system", role), role(&next)) {
        ("system", "assistant") => encoded.push(json!({ "role": "user", "content": OPENING })),
        ("tool", "user") => encoded.push(json!({ "role": "assistant", "content": "OK." })),
        _ => {}
    }
    push_message(encoded, next);
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn system_text(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// Encodes a model message; returns `None` if nothing is left of it, because what another
/// provider's own tools did is not sent.
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
        AssistantPart::File(file) => Some(json!({ "type": "text", "text": file.note() })),
        AssistantPart::Reasoning(reasoning) => {
            (reasoning.provider == REASONING_OF).then(|| reasoning.sealed.clone())
        }
        // Calls are another member, and `check` has refused a request with other parts.
        _ => None,
    };
    let chunks: Vec<_> = parts.iter().filter_map(chunk).collect();
    if chunks.is_empty() && message.calls().next().is_none() {
        return None;
    }
    let content: Value = if chunks.iter().any(|chunk| chunk.get("text").is_none()) {
        chunks.into()
    } else {
        text_with_notes(parts).into()
    };
    let mut encoded = json!({ "role": "assistant", "content": content });
    let calls = message.calls().map(|call| encode_call(call, &ids.wire(&call.id), names));
    let calls: Vec<_> = calls.collect();
    if !calls.is_empty() {
        set(&mut encoded, "tool_calls", calls);
    }
    Some(encoded)
}

fn tool_result(result: &ToolResult, names: &WireNames, ids: &WireIds<'_>) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": ids.wire(&result.call),
        "name": names.wire_name(&result.tool),
        "content": result_text(result, media),
    })
}

/// Encodes an image, audio or a PDF document; the API refuses other data.
fn media(media: Media<'_>) -> Option<Value> {
    match media.media_type {
        "application/pdf" => {
            let mut part = json!({ "type": "document_url", "document_url": media.data_url() });
            if let Some(name) = media.name {
                set(&mut part, "document_name", name);
            }
            Some(part)
        }
        "audio/mpeg" | "audio/mp3" | "audio/wav" | "audio/x-wav" | "audio/wave" => {
            Some(json!({ "type": "input_audio", "input_audio": media.base64 }))
        }
        _ => encode_image(media),
    }
}
