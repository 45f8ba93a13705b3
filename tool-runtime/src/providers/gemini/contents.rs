//! Our conversation → contents that Gemini takes.
//!
//! The rules are those of Google's "Function calling" and "Thought signatures", and of what the API
//! answers where one is broken: as many responses as calls, in the content right behind them; calls
//! right behind the user or behind responses; a user who begins and who is the last to speak.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::decode::{REASONING_OF, SIGNATURE};
use crate::message::{AssistantPart, CallId, Image, Message, ToolCall, ToolResult, UserPart};
use crate::models::WireNames;
use crate::providers::codec::{EARLIER, GO_ON, object, set};

/// Google's own word for a call that no Gemini made: models that want a signature take it for one.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Who speaks. Results are the user's as well, but stand alone: their number is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    User,
    Model,
    Results,
}

pub(super) fn contents(messages: &[Message], model: &str, names: &WireNames) -> Vec<Value> {
    let calls = messages.iter().flat_map(Message::calls);
    let speller = Speller {
        names,
        called: calls.map(|call| (&call.id, call.name.as_str())).collect(),
        is_third: is_third(model),
    };
    let mut said: Vec<(Turn, Vec<Value>)> = Vec::new();
    let mut say = |turn, parts: Vec<Value>| match said.last_mut() {
        _ if parts.is_empty() => {}
        Some((last, known)) if *last == turn && turn != Turn::Results => known.extend(parts),
        _ => said.push((turn, parts)),
    };
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { parts } => say(Turn::User, parts.iter().filter_map(user).collect()),
            Message::Assistant { parts } => say(Turn::Model, speller.assistant(parts)),
            Message::Tool { results } => {
                let answers = results.iter().map(|result| speller.response(result)).collect();
                say(Turn::Results, answers);
                say(Turn::User, results.iter().flat_map(|result| speller.shown(result)).collect());
            }
        }
    }
    if said.first().is_none_or(|(turn, _)| *turn != Turn::User) {
        said.insert(0, (Turn::User, vec![text(EARLIER)]));
    }
    if said.last().is_some_and(|(turn, _)| *turn == Turn::Model) {
        said.push((Turn::User, vec![text(GO_ON)]));
    }
    let content = |(turn, mut parts): (Turn, Vec<Value>)| {
        let role = if turn == Turn::Model { "model" } else { "user" };
        if speller.is_third {
            sign(&mut parts);
        }
        json!({ "role": role, "parts": parts })
    };
    said.into_iter().map(content).collect()
}

/// Whether it is of the third generation or later: these want signatures, and see pictures in results.
/// A name without a number, such as `gemini-flash-latest`, is that of the newest.
fn is_third(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let digits = |c: char| c.is_ascii_digit();
    let number = name.split(|c| !digits(c)).find(|part| !part.is_empty());
    name.starts_with("gemini") && number.is_none_or(|number| !matches!(number, "1" | "2"))
}

/// The first call of a step has to be signed.
fn sign(parts: &mut [Value]) {
    let call = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(call) = call.filter(|call| call.get(SIGNATURE).is_none()) {
        set(call, SIGNATURE, UNSIGNED);
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn image(Image { media_type, base64 }: &Image) -> Value {
    json!({ "inlineData": { "mimeType": media_type, "data": base64 } })
}

/// A part that holds nothing is refused.
fn user(part: &UserPart) -> Option<Value> {
    match part {
        UserPart::Text { text: said } => (!said.is_empty()).then(|| text(said)),
        UserPart::Image(shown) => Some(image(shown)),
    }
}

/// Spells what is said of calls.
struct Speller<'a> {
    names: &'a WireNames,
    called: HashMap<&'a CallId, &'a str>,
    is_third: bool,
}

impl Speller<'_> {
    /// A signature goes onto the part behind it; what else is sealed is a part itself.
    fn assistant(&self, parts: &[AssistantPart]) -> Vec<Value> {
        let mut sent = Vec::new();
        let mut signature = None;
        for part in parts {
            let mut part = match part {
                AssistantPart::Text { text: said } if said.is_empty() => continue,
                AssistantPart::Text { text: said } => text(said),
                AssistantPart::Call(call) => self.call(call),
                AssistantPart::Reasoning(thought) if thought.provider != REASONING_OF => continue,
                AssistantPart::Reasoning(thought) => {
                    match thought.sealed.as_object() {
                        Some(sealed) if sealed.len() == 1 && sealed.contains_key(SIGNATURE) => {
                            signature = sealed.get(SIGNATURE).cloned();
                        }
                        Some(sealed) => sent.push(Value::from(sealed.clone())),
                        None => {}
                    }
                    continue;
                }
            };
            if let Some(signature) = signature.take() {
                set(&mut part, SIGNATURE, signature);
            }
            sent.push(part);
        }
        sent
    }

    fn call(&self, call: &ToolCall) -> Value {
        json!({ "functionCall": {
            "id": call.id,
            "name": self.names.wire(&call.name),
            "args": object(&call.arguments),
        } })
    }

    fn response(&self, result: &ToolResult) -> Value {
        let name = self.called_as(result);
        let outcome = if result.is_success() { "output" } else { "error" };
        let mut response = json!({
            "id": result.call,
            "name": self.names.wire(name),
            "response": { outcome: result.text },
        });
        if self.is_third && !result.images.is_empty() {
            set(&mut response, "parts", result.images.iter().map(image).collect::<Vec<_>>());
        }
        json!({ "functionResponse": response })
    }

    /// The pictures of a result, for models that see none in it: the user shows them.
    fn shown(&self, result: &ToolResult) -> Vec<Value> {
        if self.is_third || result.images.is_empty() {
            return Vec::new();
        }
        let name = self.names.wire(self.called_as(result));
        let heading = text(&format!("[What `{name}` ({}) showed:]", result.call));
        [heading].into_iter().chain(result.images.iter().map(image)).collect()
    }

    /// A response has to bear the name of its call.
    fn called_as<'s>(&'s self, result: &'s ToolResult) -> &'s str {
        self.called.get(&result.call).copied().unwrap_or(&result.tool)
    }
}
