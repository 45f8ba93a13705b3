use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::message::{Arguments, AssistantPart, CallId, ToolCall};
use crate::tool::ToolDefinition;

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ChatRequest<'a> {
    /// The conversation so far, oldest first.
    pub messages: &'a [Message],
    /// The tools that it may call.
    pub tools: &'a [&'a ToolDefinition],
}

impl<'a> ChatRequest<'a> {
    /// A request to go on with this conversation, without tools.
    pub fn new(messages: &'a [Message]) -> Self {
        Self { messages, tools: &[] }
    }

    /// Offers these tools.
    #[must_use]
    pub fn tools(mut self, tools: &'a [&'a ToolDefinition]) -> Self {
        self.tools = tools;
        self
    }
}

/// What a model answered: text, calls, or both.
///
/// ```
/// use tool_runtime::ChatReply;
///
/// let reply = ChatReply::text("One moment.").call("forecast", r#"{"city": "Oslo"}"#);
/// assert_eq!(reply.parts.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatReply {
    /// What it said, in order.
    pub parts: Vec<AssistantPart>,
}

impl ChatReply {
    /// A reply of these parts.
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts }
    }

    /// A reply in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![AssistantPart::Text { text: text.into() }])
    }

    /// Adds a call without an id; the run mints one.
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        self.parts.push(AssistantPart::Call(ToolCall::new(CallId::from(""), tool, arguments)));
        self
    }
}
