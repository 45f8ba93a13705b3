use serde_json::Value;

use crate::message::{Arguments, AssistantPart, Message, UserPart};
use crate::tool::ToolDefinition;

/// Counts the tokens of a message; any closure that does is one.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::Window;
///
/// // One that knows its model's tokens would ask its tokenizer.
/// let words = |message: &Message| message.text().split_whitespace().count() as u64;
/// let window = Window::new().last_tokens(1_000).counter(words);
/// # let _ = window;
/// ```
pub trait TokenCounter: Send + Sync {
    /// How many tokens the message has, what surrounds it on the wire included. The same for the same
    /// message, and quick: it is asked for each message of the conversation on each turn.
    fn count(&self, message: &Message) -> u64;
}

impl<F: Fn(&Message) -> u64 + Send + Sync> TokenCounter for F {
    fn count(&self, message: &Message) -> u64 {
        self(message)
    }
}

/// Four bytes are a token, each message has four more for what surrounds it, and an image has 1,000.
///
/// English prose and code come to within a fifth of it. It counts too little where tokens are short:
/// JSON full of numbers, base64 and hexadecimal have up to twice as many, texts in rarer scripts too.
/// What the provider counted puts it right: see [`WindowState::correct`](super::WindowState::correct).
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::{Estimate, TokenCounter};
///
/// assert_eq!(Estimate.count(&Message::user("How are you doing?")), 4 + 5);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate;

const BYTES_OF_A_TOKEN: usize = 4;
const TOKENS_AROUND: u64 = 4;
const TOKENS_OF_AN_IMAGE: u64 = 1_000;

impl TokenCounter for Estimate {
    fn count(&self, message: &Message) -> u64 {
        let (bytes, images) = match message {
            Message::System { text } => (text.len(), 0),
            Message::User { parts } => sum(parts.iter().map(|part| match part {
                UserPart::Text { text } => (text.len(), 0),
                UserPart::Image(_) => (0, 1),
            })),
            Message::Assistant { parts } => sum(parts.iter().map(|part| match part {
                AssistantPart::Text { text } => (text.len(), 0),
                AssistantPart::Call(call) => (call.name.len() + arguments(&call.arguments), 0),
                AssistantPart::Reasoning(thought) => (value(&thought.sealed), 0),
            })),
            Message::Tool { results } => sum(results
                .iter()
                .map(|result| (result.tool.len() + result.text.len(), result.images.len()))),
        };
        TOKENS_AROUND + tokens(bytes) + number(images).saturating_mul(TOKENS_OF_AN_IMAGE)
    }
}

/// The tokens of a tool that is offered, estimated alike.
pub(super) fn definition(tool: &ToolDefinition) -> u64 {
    TOKENS_AROUND + tokens(length(tool))
}

/// How many bytes a tool that is offered has, about.
pub(in crate::agent) fn length(tool: &ToolDefinition) -> usize {
    tool.name.len() + tool.description.len() + value(tool.wire_parameters().as_value())
}

fn sum(parts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    parts.fold((0, 0), |(bytes, images), (more, another)| (bytes + more, images + another))
}

fn arguments(arguments: &Arguments) -> usize {
    match arguments {
        Arguments::Text(text) => text.len(),
        Arguments::Value(it) => value(it),
    }
}

/// About as long as it is printed, without printing it.
fn value(it: &Value) -> usize {
    let mut bytes = 0;
    let mut left = vec![it];
    while let Some(it) = left.pop() {
        bytes += match it {
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                left.extend(items);
                items.len() + 2
            }
            Value::Object(members) => {
                left.extend(members.values());
                members.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
        };
    }
    bytes
}

fn tokens(bytes: usize) -> u64 {
    number(bytes.div_ceil(BYTES_OF_A_TOKEN))
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
