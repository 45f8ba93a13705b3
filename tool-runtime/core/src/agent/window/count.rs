//! Token counters.

use serde_json::Value;

use crate::message::{Arguments, AssistantPart, ContentPart, Message};
use crate::tool::ToolDefinition;

/// Counts the tokens of a message. Implemented by every closure of the same signature.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::Window;
///
/// // A counter with the exact tokens of a model would call its tokenizer here.
/// let words = |message: &Message| message.text().split_whitespace().count() as u64;
/// let window = Window::new().max_tokens(1_000).counter(words);
/// # let _ = window;
/// ```
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of the message, including its overhead in the request.
    ///
    /// The count must be the same each time for the same message. It should be quick to compute:
    /// the window counts every message of the conversation on each turn.
    fn count(&self, message: &Message) -> u64;
}

impl<F: Fn(&Message) -> u64 + Send + Sync> TokenCounter for F {
    fn count(&self, message: &Message) -> u64 {
        self(message)
    }
}

/// Default token counter, which estimates tokens from the number of bytes.
///
/// Four bytes are one token, each message has four more tokens of overhead, and an image has
/// 1,000 tokens. 64 bytes of audio or of a file are one token; each counts as at least 1,000.
///
/// For English prose and code, the estimate is within a fifth of the real count. It is too low for
/// text with short tokens: JSON full of numbers, base64 and hexadecimal have up to twice as many
/// tokens, and so do texts in rarer scripts. The window corrects the estimate with the usage that
/// the provider reports: see [`WindowState::calibrate`](super::WindowState::calibrate).
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::{TokenEstimator, TokenCounter};
///
/// assert_eq!(TokenEstimator.count(&Message::user("How are you doing?")), 4 + 5);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenEstimator;

const BYTES_PER_TOKEN: usize = 4;
const MESSAGE_OVERHEAD: u64 = 4;
const TOKENS_PER_IMAGE: usize = 1_000;
/// A second of compressed audio has 16,000 bytes and 25 to 35 tokens; a page of a PDF document has
/// about 50,000 bytes and 1,500 tokens.
const MEDIA_BYTES_PER_TOKEN: usize = 64;

impl TokenCounter for TokenEstimator {
    fn count(&self, message: &Message) -> u64 {
        let (bytes, media_tokens) = match message {
            Message::System { text } => (text.len(), 0),
            Message::User { parts } => sum(parts.iter().map(part_size)),
            Message::Assistant { parts } => sum(parts.iter().map(|part| match part {
                AssistantPart::Text { text } => (text.len(), 0),
                AssistantPart::Call(call) => {
                    (call.name.len() + arguments_bytes(&call.arguments), 0)
                }
                AssistantPart::Reasoning(reasoning) => (json_bytes(&reasoning.sealed), 0),
            })),
            Message::Tool { results } => sum(results.iter().map(|result| {
                let (bytes, media_tokens) = sum(result.parts.iter().map(part_size));
                (result.tool.len() + result.text.len() + bytes, media_tokens)
            })),
        };
        MESSAGE_OVERHEAD + tokens(bytes) + to_u64(media_tokens)
    }
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
    match part.media() {
        None => (part.as_text().map_or_else(|| part.plain_text().len(), str::len), 0),
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
