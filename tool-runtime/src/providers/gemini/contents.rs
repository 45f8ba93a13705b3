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

use super::decode::{REASONING_OF, SIGNATURE};
use crate::message::{AssistantPart, CallId, Image, Message, ToolCall, ToolResult, UserPart};
use crate::models::WireNames;
use crate::providers::codec::arguments_object;
use crate::providers::shared::{CONTINUATION, OPENING, set};

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
        is_third_generation: is_third_generation(model),
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
            Message::User { parts } => {
                push(ContentRole::User, parts.iter().filter_map(user).collect())
            }
            Message::Assistant { parts } => push(ContentRole::Model, encoder.assistant(parts)),
            Message::Tool { results } => {
                let answers = results.iter().map(|result| encoder.response(result)).collect();
                push(ContentRole::Results, answers);
                push(
                    ContentRole::User,
                    results.iter().flat_map(|result| encoder.image_parts(result)).collect(),
                );
            }
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
        if encoder.is_third_generation {
            sign(&mut parts);
        }
        json!({ "role": role, "parts": parts })
    };
    turns.into_iter().map(content).collect()
}

/// Returns whether the model is of the third generation or later. These require signatures and see
/// images in results. A name without a number, such as `gemini-flash-latest`, is the newest
/// generation.
fn is_third_generation(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let digits = |c: char| c.is_ascii_digit();
    let number = name.split(|c| !digits(c)).find(|part| !part.is_empty());
    name.starts_with("gemini") && number.is_none_or(|number| !matches!(number, "1" | "2"))
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

fn image(Image { media_type, base64 }: &Image) -> Value {
    json!({ "inlineData": { "mimeType": media_type, "data": base64 } })
}

/// Encodes a part of a user message. The API refuses empty parts.
fn user(part: &UserPart) -> Option<Value> {
    match part {
        UserPart::Text { text: content } => (!content.is_empty()).then(|| text(content)),
        UserPart::Image(content) => Some(image(content)),
    }
}

/// Encoder of calls and results.
struct ContentsEncoder<'a> {
    names: &'a WireNames,
    tool_names: HashMap<&'a CallId, &'a str>,
    is_third_generation: bool,
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
                AssistantPart::Reasoning(reasoning) if reasoning.provider != REASONING_OF => {
                    continue;
                }
                AssistantPart::Reasoning(reasoning) => {
                    match reasoning.sealed.as_object() {
                        Some(sealed) if sealed.len() == 1 && sealed.contains_key(SIGNATURE) => {
                            signature = sealed.get(SIGNATURE).cloned();
                        }
                        Some(sealed) => encoded_parts.push(Value::from(sealed.clone())),
                        None => {}
                    }
                    continue;
                }
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
        let outcome = if result.is_success() { "output" } else { "error" };
        let mut response = json!({
            "id": result.call,
            "name": self.names.wire_name(name),
            "response": { outcome: result.text },
        });
        if self.is_third_generation && !result.images.is_empty() {
            set(&mut response, "parts", result.images.iter().map(image).collect::<Vec<_>>());
        }
        json!({ "functionResponse": response })
    }

    /// Returns the images of a result as user parts, for models that see none in results.
    fn image_parts(&self, result: &ToolResult) -> Vec<Value> {
        if self.is_third_generation || result.images.is_empty() {
            return Vec::new();
        }
        let name = self.names.wire_name(self.tool_name(result));
        let heading = text(&format!("[What `{name}` ({}) showed:]", result.call));
        [heading].into_iter().chain(result.images.iter().map(image)).collect()
    }

    /// Returns the tool name of the call: a response has to have the name of its call.
    fn tool_name<'s>(&'s self, result: &'s ToolResult) -> &'s str {
        self.tool_names.get(&result.call).copied().unwrap_or(&result.tool)
    }
}
