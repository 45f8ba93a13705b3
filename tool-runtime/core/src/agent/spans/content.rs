//! Messages and definitions of tools in the JSON form of OpenTelemetry's conventions.
//!
//! A span has content only if the program has enabled it. Secrets are redacted as in events. The
//! data of images, audio and files is left out, as it is in events: `byte_size` is its size in
//! bytes.

use serde_json::{Value, json};

use crate::dispatch::Dispatcher;
use crate::message::{
    Arguments, AssistantPart, ContentPart, EmbeddedResource, FileContent, GeneratedFile, Media,
    Message, ResourceData, ResourceLink, ToolCall, ToolResult,
};
use crate::secret::Redactor;
use crate::span::Span;
use crate::tool::ToolDefinition;

/// Records content on spans.
pub(super) struct Content {
    redactor: Option<Redactor>,
}

impl Content {
    /// Returns the recorder of a run, or `None` if its spans have no content.
    pub(super) fn of(dispatcher: &Dispatcher) -> Option<Self> {
        dispatcher.traces_content().then(|| Self { redactor: dispatcher.redactor().cloned() })
    }

    /// Records the messages that are sent. The system prompt before them is a separate
    /// attribute.
    pub(super) fn record_input(&self, span: &Span, messages: &[Message]) {
        let is_system = |message: &&Message| matches!(message, Message::System { .. });
        let first = messages.iter().take_while(is_system).count();
        let (system, messages) = messages.split_at(first);
        let system: Vec<_> = system.iter().map(|message| text(&message.text())).collect();
        if !system.is_empty() {
            self.record(span, "gen_ai.system_instructions", system.into());
        }
        let messages: Vec<_> = messages.iter().map(|message| self.message(message)).collect();
        self.record(span, "gen_ai.input.messages", messages.into());
    }

    /// Records a reply.
    pub(super) fn record_output(&self, span: &Span, parts: &[AssistantPart], finish_reason: &str) {
        let parts: Vec<_> = parts.iter().filter_map(|part| self.reply_part(part)).collect();
        let message =
            json!({ "role": "assistant", "parts": parts, "finish_reason": finish_reason });
        self.record(span, "gen_ai.output.messages", vec![message].into());
    }

    /// Records the definitions of the offered tools.
    pub(super) fn record_tools(&self, span: &Span, tools: &[&ToolDefinition]) {
        if tools.is_empty() {
            return;
        }
        let definition = |tool: &&ToolDefinition| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters.as_value(),
            })
        };
        self.record(span, "gen_ai.tool.definitions", tools.iter().map(definition).collect());
    }

    fn record(&self, span: &Span, name: &str, mut value: Value) {
        if let Some(redactor) = &self.redactor {
            redactor.redact_value(&mut value);
        }
        span.record(name, value.to_string());
    }

    fn message(&self, message: &Message) -> Value {
        let (role, parts): (_, Vec<_>) = match message {
            Message::System { text: prompt } => ("system", vec![text(prompt)]),
            Message::User { parts, .. } => ("user", parts.iter().map(content_part).collect()),
            Message::Assistant { parts, .. } => {
                ("assistant", parts.iter().filter_map(|part| self.reply_part(part)).collect())
            }
            Message::Tool { results } => ("tool", results.iter().map(response).collect()),
        };
        json!({ "role": role, "parts": parts })
    }

    /// Returns a part of a reply. Returns `None` for reasoning that is sealed, and for sources, for
    /// which the conventions have no form.
    fn reply_part(&self, part: &AssistantPart) -> Option<Value> {
        match part {
            AssistantPart::Text { text: answer } => Some(text(answer)),
            AssistantPart::Call(call) => Some(self.call(call)),
            AssistantPart::Reasoning(reasoning) => (!reasoning.text.is_empty())
                .then(|| json!({ "type": "reasoning", "content": reasoning.text })),
            AssistantPart::Source(_) => None,
            AssistantPart::File(file) => Some(generated_file(file)),
        }
    }

    fn call(&self, call: &ToolCall) -> Value {
        let mut call = call.clone();
        if let Some(redactor) = &self.redactor {
            redactor.redact_call(&mut call);
        }
        let arguments = match &call.arguments {
            Arguments::Value(value) => Value::clone(value),
            Arguments::Text(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_ref()))
            }
        };
        json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
    }
}

fn text(content: &str) -> Value {
    json!({ "type": "text", "content": content })
}

fn response(result: &ToolResult) -> Value {
    json!({ "type": "tool_call_response", "id": result.call, "response": result.plain_text() })
}

fn content_part(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text: content }
        | ContentPart::Resource(EmbeddedResource { data: ResourceData::Text(content), .. }) => {
            text(content)
        }
        ContentPart::Link(ResourceLink { uri, media_type, .. }) => json!({
            "type": "uri",
            "modality": modality(media_type.as_deref().unwrap_or_default()),
            "mime_type": media_type,
            "uri": uri,
        }),
        media => media.media().map_or(Value::Null, blob),
    }
}

fn generated_file(file: &GeneratedFile) -> Value {
    match (&file.content, file.media()) {
        (FileContent::Id(id), _) => json!({
            "type": "file",
            "modality": modality(file.media_type.as_deref().unwrap_or_default()),
            "mime_type": file.media_type,
            "file_id": id,
        }),
        (FileContent::Base64(_), media) => media.map_or(Value::Null, blob),
    }
}

fn blob(media: Media<'_>) -> Value {
    json!({
        "type": "blob",
        "modality": modality(media.media_type),
        "mime_type": media.media_type,
        "byte_size": media.byte_len(),
        "content": "",
    })
}

/// Returns the modality of a media type.
fn modality(media_type: &str) -> &str {
    match media_type.split('/').next() {
        Some(kind @ ("image" | "audio" | "video")) => kind,
        _ => "document",
    }
}
