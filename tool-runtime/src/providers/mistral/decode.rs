//! What Mistral's models say: text, or a list of chunks, in which thoughts stand beside text.
//!
//! The shapes are those of the API reference, "Chat completion", and of the Python SDK (`ContentChunk`).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::{AssistantPart, Reasoning};
use crate::models::{Delta, Deltas};
use crate::providers::chat::{Call, Speech, reported};
use crate::providers::codec::Unreadable;

/// Whose reasoning it is.
pub(super) const REASONING_OF: &str = "mistral";

/// What a model said; of a stream, what it added.
#[derive(Default, Deserialize)]
pub(super) struct Said {
    content: Option<Content>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Chunks(Vec<Map<String, Value>>),
}

/// What was said so far.
#[derive(Default)]
pub(super) struct Spoken(Vec<Piece>);

enum Piece {
    Text(String),
    /// A chunk of the type `thinking`.
    Thought(Map<String, Value>),
}

impl Spoken {
    fn say(&mut self, more: &str, deltas: &mut Deltas<'_>) {
        if more.is_empty() {
            return;
        }
        deltas(Delta::Text(more));
        match self.0.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.0.push(Piece::Text(more.to_owned())),
        }
    }

    /// A thought goes on with the one right before it, unless that is closed.
    fn think(&mut self, more: Map<String, Value>, deltas: &mut Deltas<'_>) {
        let text = text_of(&more);
        if !text.is_empty() {
            deltas(Delta::Reasoning(&text));
        }
        match self.0.last_mut() {
            Some(Piece::Thought(thought)) if thought.get("closed") != Some(&Value::Bool(true)) => {
                go_on(thought, more);
            }
            _ => self.0.push(Piece::Thought(more)),
        }
    }
}

/// What people can read of a thought.
fn text_of(thought: &Map<String, Value>) -> String {
    match thought.get("thinking") {
        Some(Value::Array(chunks)) => {
            chunks.iter().filter_map(|chunk| chunk.get("text")?.as_str()).collect()
        }
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Thoughts grow, and what seals them comes at their end.
fn go_on(thought: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, more) in more {
        match (thought.get_mut(&name), more) {
            (Some(Value::Array(chunks)), Value::Array(more)) => {
                for more in more {
                    let known = chunks.last_mut().and_then(|last| last.get_mut("text"));
                    match (known, more.get("text")) {
                        (Some(Value::String(text)), Some(Value::String(more))) => {
                            text.push_str(more);
                        }
                        _ => chunks.push(more),
                    }
                }
            }
            (Some(Value::String(text)), Value::String(more)) if name == "thinking" => {
                text.push_str(&more);
            }
            (_, more) => _ = thought.insert(name, more),
        }
    }
}

impl Speech for Spoken {
    type Said = Said;

    /// References to sources, and what is yet to be thought of, are passed over.
    fn hear(&mut self, said: Said, deltas: &mut Deltas<'_>) -> Vec<Call> {
        match said.content {
            None => {}
            Some(Content::Text(text)) => self.say(&text, deltas),
            Some(Content::Chunks(chunks)) => {
                for chunk in chunks {
                    let text = |name: &str| chunk.get(name).and_then(Value::as_str);
                    match text("type") {
                        Some("thinking") => self.think(chunk, deltas),
                        Some("text") => self.say(text("text").unwrap_or_default(), deltas),
                        _ => {}
                    }
                }
            }
        }
        said.tool_calls.unwrap_or_default()
    }

    fn into_parts(self) -> Vec<AssistantPart> {
        let part = |piece| match piece {
            Piece::Text(text) => AssistantPart::Text { text },
            Piece::Thought(thought) => {
                let text = text_of(&thought);
                AssistantPart::Reasoning(Reasoning::new(REASONING_OF, text, thought.into()))
            }
        };
        self.0.into_iter().map(part).collect()
    }

    /// `{"object": "error", "message": …}`: what says the kind stands beside it.
    fn failure(body: &str) -> Option<Unreadable> {
        let said: Value = serde_json::from_str(body).ok()?;
        match said.get("object").and_then(Value::as_str) {
            Some("error") => Some(Unreadable::Failed(said)),
            _ => reported(body),
        }
    }
}
