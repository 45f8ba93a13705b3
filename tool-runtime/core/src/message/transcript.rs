use serde::{Deserialize, Serialize};

use super::{ContentPart, Reasoning, ToolCall, ToolResult};

/// One message of a conversation.
///
/// A transcript is a `Vec<Message>`. It is complete if each [`AssistantPart::Call`] has its result
/// in the [`Message::Tool`] that follows.
///
/// ```
/// use tool_runtime::Message;
///
/// let transcript = [
///     Message::system("Answer briefly."),
///     Message::user("How warm is it?"),
///     Message::assistant("4 degrees."),
/// ];
/// let json = serde_json::to_value(&transcript[1]).unwrap();
/// assert_eq!(json["role"], "user");
/// assert_eq!(transcript[2].text(), "4 degrees.");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// Instructions for the model.
    System {
        /// The text of the instructions.
        text: String,
    },
    /// A message of the user or of the program.
    User {
        /// The parts of the message, in order.
        parts: Vec<ContentPart>,
    },
    /// A reply of the model.
    Assistant {
        /// The parts of the reply, in order.
        parts: Vec<AssistantPart>,
    },
    /// The results of all calls of the previous assistant message, in the order of the calls.
    Tool {
        /// One result for each call.
        results: Vec<ToolResult>,
    },
}

/// A part of a model's reply: text, a tool call, or reasoning.
///
/// ```
/// use tool_runtime::{AssistantPart, Message, ToolCall};
///
/// let call = AssistantPart::Call(ToolCall::new("call_1", "forecast", "{}"));
/// let message = Message::Assistant { parts: vec![call] };
/// assert_eq!(message.calls().count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AssistantPart {
    /// A part of plain text.
    Text {
        /// The text of the part.
        text: String,
    },
    /// A call of a tool.
    Call(ToolCall),
    /// Reasoning of the model, in the form that its provider requires back. It precedes the part
    /// that it led to.
    Reasoning(Reasoning),
}

impl Message {
    /// Creates a message of instructions for the model.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// Creates a user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![ContentPart::text(text)] }
    }

    /// Creates an assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { parts: vec![AssistantPart::Text { text: text.into() }] }
    }

    /// Returns the calls of an assistant message; other messages have none.
    ///
    /// ```
    /// use tool_runtime::{AssistantPart, Message, ToolCall};
    ///
    /// let call = ToolCall::new("call_1", "forecast", "{}");
    /// let message = Message::Assistant { parts: vec![AssistantPart::Call(call.clone())] };
    /// assert_eq!(message.calls().collect::<Vec<_>>(), [&call]);
    /// assert_eq!(Message::user("Hello").calls().count(), 0);
    /// ```
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = match self {
            Self::Assistant { parts } => parts.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning(_) => None,
        })
    }

    /// Returns the text parts of this message as one string, without reasoning. The text of a
    /// [`Message::Tool`] is that of its results, separated by line breaks.
    ///
    /// ```
    /// use tool_runtime::{Message, ToolCall, ToolResult};
    ///
    /// let result = |id, text| ToolResult::success(&ToolCall::new(id, "now", "{}"), text);
    /// let message = Message::Tool { results: vec![result("1", "noon"), result("2", "midnight")] };
    /// assert_eq!(message.text(), "noon\nmidnight");
    /// ```
    pub fn text(&self) -> String {
        match self {
            Self::System { text } => text.clone(),
            Self::User { parts } => parts.iter().filter_map(ContentPart::as_text).collect(),
            Self::Assistant { parts } => parts
                .iter()
                .filter_map(|part| match part {
                    AssistantPart::Text { text } => Some(text.as_str()),
                    AssistantPart::Call(_) | AssistantPart::Reasoning(_) => None,
                })
                .collect(),
            Self::Tool { results } => {
                let texts: Vec<_> = results.iter().map(ToolResult::plain_text).collect();
                texts.join("\n")
            }
        }
    }

    /// Returns the readable reasoning of an assistant message, if there is any.
    ///
    /// ```
    /// use tool_runtime::{AssistantPart, Message, Reasoning};
    ///
    /// let reasoning = Reasoning::new("", "Three and one", serde_json::Value::Null);
    /// let text = AssistantPart::Text { text: "Four".into() };
    /// let message = Message::Assistant { parts: vec![AssistantPart::Reasoning(reasoning), text] };
    /// assert_eq!(message.reasoning().as_deref(), Some("Three and one"));
    /// ```
    pub fn reasoning(&self) -> Option<String> {
        let Self::Assistant { parts } = self else { return None };
        let texts = parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) => Some(reasoning.text.as_str()),
            AssistantPart::Text { .. } | AssistantPart::Call(_) => None,
        });
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}
