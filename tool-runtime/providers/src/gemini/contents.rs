//! Conversation → contents of a Gemini request.
//!
//! The rules follow Google's "Function calling" and "Thought signatures", and the errors of the
//! API:
//!
//! - There are as many responses as calls, in the content right after them.
//! - Calls come right after a user message or after responses.
//! - The conversation begins and ends with a user message.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::decode::{CONTINUATION_TOKEN, REASONING_OF, SIGNATURE};
use crate::codec::{arguments_object, encode_parts};
use crate::model_table::traits;
use crate::shared::{CONTINUATION, OPENING, set};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{AssistantPart, CallId, ContentPart, Message, ToolCall, ToolResult};

/// Google's own value for a call that no Gemini made; models that require a signature accept it as
/// one.
const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// Author of a content. Results have the role of the user too, but stay separate, because the API
/// counts them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContentRole {
    User,
    Model,
    Results,
}

pub(super) fn contents(messages: &[Message], model: &str, names: &WireNames) -> Vec<Value> {
    let calls = messages.iter().flat_map(Message::calls);
    let encoder = ContentsEncoder {
        names,
        tool_names: calls.map(|call| (&call.id, call.name.as_str())).collect(),
        signs_calls: traits(model).signs_calls,
    };
    let mut turns: Vec<(ContentRole, Vec<Value>)> = Vec::new();
    let mut push = |author, parts: Vec<Value>| match turns.last_mut() {
        _ if parts.is_empty() => {}
        Some((last, known)) if *last == author && author != ContentRole::Results => {
            known.extend(parts)
        }
        _ => turns.push((author, parts)),
    };
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { parts, .. } => {
                push(ContentRole::User, encode_parts(parts, visible_text, media))
            }
            Message::Assistant { parts, .. } => push(ContentRole::Model, encoder.assistant(parts)),
            Message::Tool { results } => {
                let answers = results.iter().map(|result| encoder.response(result)).collect();
                push(ContentRole::Results, answers);
                push(
                    ContentRole::User,
                    results.iter().flat_map(|result| encoder.media_parts(result)).collect(),
                );
            }
            _ => {} // `check` has refused the request.
        }
    }
    if turns.first().is_none_or(|(author, _)| *author != ContentRole::User) {
        turns.insert(0, (ContentRole::User, vec![text(OPENING)]));
    }
    if turns.last().is_some_and(|(author, _)| *author == ContentRole::Model) {
        turns.push((ContentRole::User, vec![text(CONTINUATION)]));
    }
    let content = |(author, mut parts): (ContentRole, Vec<Value>)| {
        let role = if author == ContentRole::Model { "model" } else { "user" };
        if encoder.signs_calls {
            sign(&mut parts);
        }
        json!({ "role": role, "parts": parts })
    };
    turns.into_iter().map(content).collect()
}

/// Signs the first call of a step, which has to have a signature.
fn sign(parts: &mut [Value]) {
    let call = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(call) = call.filter(|call| call.get(SIGNATURE).is_none()) {
        set(call, SIGNATURE, PLACEHOLDER_SIGNATURE);
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// Encodes a text. The API refuses empty parts.
fn visible_text(content: &str) -> Option<Value> {
    (!content.is_empty()).then(|| text(content))
}

/// The types of data that the API accepts, beside those of audio and videos.
const DATA: &[&str] =
    &["application/pdf", "image/heic", "image/heif", "image/jpeg", "image/png", "image/webp"];

/// Encodes an image, audio, a video or a PDF document; the API refuses other data.
fn media(media: Media<'_>) -> Option<Value> {
    let (kind, _) = media.media_type.split_once('/')?;
    let is_accepted = DATA.contains(&media.media_type) || kind == "audio" || kind == "video";
    is_accepted.then(|| inline_data(media))
}

fn inline_data(media: Media<'_>) -> Value {
    json!({ "inlineData": { "mimeType": media.media_type, "data": media.base64 } })
}

/// Encodes data that models of the third generation accept in a result.
fn result_media(data: Media<'_>) -> Option<Value> {
    let is_accepted =
        matches!(data.media_type, "application/pdf" | "image/jpeg" | "image/png" | "image/webp");
    media(data).filter(|_| is_accepted)
}

/// Encoder of calls and results.
struct ContentsEncoder<'a> {
    names: &'a WireNames,
    tool_names: HashMap<&'a CallId, &'a str>,
    /// Whether the model requires signatures of calls and reads images in results.
    signs_calls: bool,
}

impl ContentsEncoder<'_> {
    /// Encodes the parts of a model message. A signature is put onto the part after it; other
    /// sealed data is a part itself.
    fn assistant(&self, parts: &[AssistantPart]) -> Vec<Value> {
        let mut encoded_parts = Vec::new();
        let mut signature = None;
        for part in parts {
            let mut part = match part {
                AssistantPart::Text { text: content } if content.is_empty() => continue,
                AssistantPart::Text { text: content } => text(content),
                AssistantPart::Call(call) => self.call(call),
                AssistantPart::File(file) => match file.media() {
                    Some(media) if file.provider == REASONING_OF => inline_data(media),
                    _ => text(&file.note()),
                },
                AssistantPart::Reasoning(reasoning) if reasoning.provider != REASONING_OF => {
                    continue;
                }
                AssistantPart::Reasoning(reasoning) => {
                    match reasoning.sealed.as_object() {
                        Some(sealed) if sealed.len() == 1 && sealed.contains_key(SIGNATURE) => {
                            signature = sealed.get(SIGNATURE).cloned();
                        }
                        // It belongs to the request that it continued.
                        Some(sealed) if sealed.contains_key(CONTINUATION_TOKEN) => {}
                        Some(sealed) => encoded_parts.push(Value::from(sealed.clone())),
                        None => {}
                    }
                    continue;
                }
                _ => continue, // `check` has refused the request.
            };
            if let Some(signature) = signature.take() {
                set(&mut part, SIGNATURE, signature);
            }
            encoded_parts.push(part);
        }
        encoded_parts
    }

    fn call(&self, call: &ToolCall) -> Value {
        json!({ "functionCall": {
            "id": call.id,
            "name": self.names.wire_name(&call.name),
            "args": arguments_object(&call.arguments),
        } })
    }

    fn response(&self, result: &ToolResult) -> Value {
        let name = self.tool_name(result);
        let text = result.text_without(|part| part.media().and_then(media).is_some());
        let parts: Vec<_> =
            result.parts.iter().filter_map(|part| self.media_in_result(part)).collect();
        let outcome = if result.is_success() { "output" } else { "error" };
        let mut response = json!({
            "id": result.call,
            "name": self.names.wire_name(name),
            "response": { outcome: text },
        });
        if !parts.is_empty() {
            set(&mut response, "parts", parts);
        }
        json!({ "functionResponse": response })
    }

    fn media_in_result(&self, part: &ContentPart) -> Option<Value> {
        part.media().filter(|_| self.signs_calls).and_then(result_media)
    }

    /// Returns the data of a result as user parts that the model does not see in results.
    fn media_parts(&self, result: &ToolResult) -> Vec<Value> {
        let parts = result.parts.iter().filter(|part| self.media_in_result(part).is_none());
        let data: Vec<_> = parts.filter_map(|part| part.media().and_then(media)).collect();
        if data.is_empty() {
            return data;
        }
        let name = self.names.wire_name(self.tool_name(result));
        let heading = text(&format!("[What `{name}` ({}) showed:]", result.call));
        [heading].into_iter().chain(data).collect()
    }

    /// Returns the tool name of the call: a response has to have the name of its call.
    fn tool_name<'s>(&'s self, result: &'s ToolResult) -> &'s str {
        self.tool_names.get(&result.call).copied().unwrap_or(&result.tool)
    }
}
