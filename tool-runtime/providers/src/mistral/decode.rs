//! Content of Mistral's replies: text, or a list of chunks in which thoughts stand beside text.
//!
//! The shapes follow the API reference, "Chat completion", and the Python SDK (`ContentChunk`).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::chat::{ContentBuilder, WireCall, reported_error};
use crate::codec::DecodeError;
use crate::shared::source;
use tool_core::message::{GeneratedFile, Source};
use tool_core::models::DeltaSink;
use tool_core::{AssistantPart, Delta, Reasoning};

/// Provider name of the reasoning that this codec seals.
pub(super) const REASONING_OF: &str = "mistral";

/// Content of a message, or of one chunk of a stream.
#[derive(Default, Deserialize)]
pub(super) struct WireMessage {
    content: Option<Content>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Chunks(Vec<Map<String, Value>>),
}

/// Content of the reply that is being built.
#[derive(Default)]
pub(super) struct MistralContent(Vec<ReplyPart>);

enum ReplyPart {
    Text(String),
    /// Chunk of the type `thinking`.
    Thought(Map<String, Value>),
    Source(Source),
    File(GeneratedFile),
}

impl MistralContent {
    fn push_text(&mut self, more: &str, deltas: &mut DeltaSink<'_>) {
        if more.is_empty() {
            return;
        }
        deltas(Delta::Text(more));
        match self.0.last_mut() {
            Some(ReplyPart::Text(text)) => text.push_str(more),
            _ => self.0.push(ReplyPart::Text(more.to_owned())),
        }
    }

    /// Adds a file that one of the provider's tools has created.
    fn push_file(&mut self, chunk: &Map<String, Value>) {
        let text = |name: &str| chunk.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = text("file_id");
        if !id.is_empty() {
            let file = GeneratedFile::stored(REASONING_OF, id).name(text("file_name"));
            let media_type = Some(text("file_type")).filter(|kind| kind.contains('/'));
            self.0.push(ReplyPart::File(file.media_type(media_type.unwrap_or_default())));
        }
    }

    /// Adds the ids of the documents that the text before them refers to.
    fn push_references(&mut self, chunk: &Map<String, Value>) {
        let ids = chunk.get("reference_ids").and_then(Value::as_array).into_iter().flatten();
        for id in ids {
            let id = id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned);
            let source = Source::document(format!("reference {id}")).file_id(id);
            self.0.push(ReplyPart::Source(source));
        }
    }

    /// Adds a thought. It continues the thought right before it, unless that one is closed.
    fn push_thought(&mut self, more: Map<String, Value>, deltas: &mut DeltaSink<'_>) {
        let text = text_of(&more);
        if !text.is_empty() {
            deltas(Delta::Reasoning(&text));
        }
        match self.0.last_mut() {
            Some(ReplyPart::Thought(thought))
                if thought.get("closed") != Some(&Value::Bool(true)) =>
            {
                extend_thought(thought, more);
            }
            _ => self.0.push(ReplyPart::Thought(more)),
        }
    }
}

/// Reads what one of the provider's tools has found, or a document.
fn reference(mut chunk: Map<String, Value>) -> Option<Source> {
    if let Some(url) = chunk.remove("document_url") {
        chunk.insert("url".into(), url);
    }
    if let Some(name) = chunk.remove("document_name") {
        chunk.insert("title".into(), name);
    }
    source(&chunk.into())
}

/// Returns the readable text of a thought.
fn text_of(thought: &Map<String, Value>) -> String {
    match thought.get("thinking") {
        Some(Value::Array(chunks)) => {
            chunks.iter().filter_map(|chunk| chunk.get("text")?.as_str()).collect()
        }
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Extends a thought: its texts grow, and its signature comes at the end.
fn extend_thought(thought: &mut Map<String, Value>, more: Map<String, Value>) {
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

impl ContentBuilder for MistralContent {
    type Message = WireMessage;

    /// Adds content. Unknown kinds of chunks are ignored.
    fn push(&mut self, message: WireMessage, deltas: &mut DeltaSink<'_>) -> Vec<WireCall> {
        match message.content {
            None => {}
            Some(Content::Text(text)) => self.push_text(&text, deltas),
            Some(Content::Chunks(chunks)) => {
                for chunk in chunks {
                    let text = |name: &str| chunk.get(name).and_then(Value::as_str);
                    match text("type") {
                        Some("thinking") => self.push_thought(chunk, deltas),
                        Some("text") => self.push_text(text("text").unwrap_or_default(), deltas),
                        Some("tool_file") => self.push_file(&chunk),
                        Some("reference") => self.push_references(&chunk),
                        Some("tool_reference" | "document_url") => {
                            self.0.extend(reference(chunk).map(ReplyPart::Source));
                        }
                        _ => {}
                    }
                }
            }
        }
        message.tool_calls.unwrap_or_default()
    }

    fn into_parts(self) -> Vec<AssistantPart> {
        let part = |piece| match piece {
            ReplyPart::Text(text) => AssistantPart::Text { text },
            ReplyPart::Source(source) => AssistantPart::Source(source),
            ReplyPart::File(file) => AssistantPart::File(file),
            ReplyPart::Thought(thought) => {
                let text = text_of(&thought);
                AssistantPart::Reasoning(Reasoning::new(REASONING_OF, text, thought.into()))
            }
        };
        self.0.into_iter().map(part).collect()
    }

    /// Decodes `{"object": "error", "message": …}`; members beside the message contain the kind
    /// of the error.
    fn reported_error(body: &str) -> Option<DecodeError> {
        let body_json: Value = serde_json::from_str(body).ok()?;
        match body_json.get("object").and_then(Value::as_str) {
            Some("error") => Some(DecodeError::Reported(body_json)),
            _ => reported_error(body),
        }
    }
}
