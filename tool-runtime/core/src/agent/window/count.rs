//! Token counters.

use serde_json::Value;

use crate::message::{Arguments, AssistantPart, ContentPart, Media, Message};
use crate::tool::ToolDefinition;

const BYTES_PER_TOKEN: usize = 4;
const MESSAGE_OVERHEAD: u64 = 4;
const TOKENS_PER_IMAGE: usize = 1_000;
/// A second of compressed audio has 16,000 bytes and 25 to 35 tokens; a page of a PDF document has
/// about 50,000 bytes and 1,500 tokens.
const MEDIA_BYTES_PER_TOKEN: usize = 64;

/// Estimates the tokens of a message from the number of bytes, including its overhead in the
/// request.
#[doc(hidden)]
pub fn estimate_tokens(message: &Message) -> u64 {
    let (bytes, media_tokens) = match message {
        Message::System { text } => (text.len(), 0),
        Message::User { parts, .. } => sum(parts.iter().map(part_size)),
        Message::Assistant { parts, .. } => sum(parts.iter().map(|part| match part {
            AssistantPart::Text { text } => (text.len(), 0),
            AssistantPart::Call(call) => (call.name.len() + arguments_bytes(&call.arguments), 0),
            AssistantPart::Source(_) => (0, 0),
            AssistantPart::File(file) => media_size(file.media(), || file.note().len()),
            AssistantPart::Reasoning(reasoning) => (json_bytes(&reasoning.sealed), 0),
        })),
        Message::Tool { results } => sum(results.iter().map(|result| {
            let (bytes, media_tokens) = sum(result.parts.iter().map(part_size));
            (result.tool.len() + result.text.len() + bytes, media_tokens)
        })),
    };
    MESSAGE_OVERHEAD + tokens(bytes) + to_u64(media_tokens)
}

/// Estimates the tokens of an offered tool in the same way as those of messages.
pub(super) fn definition_tokens(tool: &ToolDefinition) -> u64 {
    MESSAGE_OVERHEAD + tokens(definition_bytes(tool))
}

/// Returns the approximate number of bytes of an offered tool.
pub(in crate::agent) fn definition_bytes(tool: &ToolDefinition) -> usize {
    tool.name.len() + tool.description.len() + json_bytes(tool.wire_parameters().as_value())
}

/// Returns the bytes of text and the tokens of other data in a part.
fn part_size(part: &ContentPart) -> (usize, usize) {
    media_size(part.media(), || part.as_text().map_or_else(|| part.plain_text().len(), str::len))
}

/// Returns the tokens of data, or the bytes of the text if there is none.
fn media_size(media: Option<Media<'_>>, text_len: impl FnOnce() -> usize) -> (usize, usize) {
    match media {
        None => (text_len(), 0),
        Some(media) if media.media_type.starts_with("image/") => (0, TOKENS_PER_IMAGE),
        Some(media) => (0, TOKENS_PER_IMAGE.max(media.byte_len() / MEDIA_BYTES_PER_TOKEN)),
    }
}

fn sum(parts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    parts.fold((0, 0), |(bytes, tokens), (more_bytes, more_tokens)| {
        (bytes + more_bytes, tokens + more_tokens)
    })
}

fn arguments_bytes(arguments: &Arguments) -> usize {
    match arguments {
        Arguments::Text(text) => text.len(),
        Arguments::Value(value) => json_bytes(value),
    }
}

/// Returns the approximate length of the serialized value, without serializing it.
fn json_bytes(value: &Value) -> usize {
    let mut bytes = 0;
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        bytes += match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                rest.extend(items);
                items.len() + 2
            }
            Value::Object(members) => {
                rest.extend(members.values());
                members.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
        };
    }
    bytes
}

fn tokens(bytes: usize) -> u64 {
    to_u64(bytes.div_ceil(BYTES_PER_TOKEN))
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
