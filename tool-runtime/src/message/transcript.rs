use serde::{Deserialize, Serialize};

use super::{Image, Reasoning, ToolCall, ToolResult};

/// One message of a conversation.
///
/// A transcript is a `Vec<Message>`; it is complete when each [`AssistantPart::Call`] is
/// answered in the [`Message::Tool`] that follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// Standing orders for the model.
    System {
        /// The orders.
        text: String,
    },
    /// What a person, or the program, says.
    User {
        /// Its parts, in order.
        parts: Vec<UserPart>,
    },
    /// What the model said.
    Assistant {
        /// Its parts, in order.
        parts: Vec<AssistantPart>,
    },
    /// The answers to all calls of the assistant message before it, in the order of the calls.
    Tool {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

/// A piece of a user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserPart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Image),
}

/// A piece of what the model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AssistantPart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool to be called.
    Call(ToolCall),
    /// What the model thought, and what its provider wants back with it. It stands before the part
    /// that it led to.
    Reasoning(Reasoning),
}

impl UserPart {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image(_) => None,
        }
    }
}

impl Message {
    /// Standing orders for the model.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::Text { text: text.into() }] }
    }

    /// What the model said, in words only.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { parts: vec![AssistantPart::Text { text: text.into() }] }
    }

    /// The calls in this message; none unless the model spoke it.
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

    /// All text of this message in one string, without what the model thought; empty for tool results.
    pub fn text(&self) -> String {
        match self {
            Self::System { text } => text.clone(),
            Self::User { parts } => parts.iter().filter_map(UserPart::as_text).collect(),
            Self::Assistant { parts } => parts
                .iter()
                .filter_map(|part| match part {
                    AssistantPart::Text { text } => Some(text.as_str()),
                    AssistantPart::Call(_) | AssistantPart::Reasoning(_) => None,
                })
                .collect(),
            Self::Tool { .. } => String::new(),
        }
    }

    /// What the model thought before it said this, as far as people may read it.
    ///
    /// ```
    /// use tool_runtime::{AssistantPart, Message, Reasoning};
    ///
    /// let thought = Reasoning::new("", "Three and one", serde_json::Value::Null);
    /// let text = AssistantPart::Text { text: "Four".into() };
    /// let message = Message::Assistant { parts: vec![AssistantPart::Reasoning(thought), text] };
    /// assert_eq!(message.reasoning().as_deref(), Some("Three and one"));
    /// ```
    pub fn reasoning(&self) -> Option<String> {
        let Self::Assistant { parts } = self else { return None };
        let thoughts = parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(thought) => Some(thought.text.as_str()),
            AssistantPart::Text { .. } | AssistantPart::Call(_) => None,
        });
        let thoughts: Vec<_> = thoughts.filter(|text| !text.is_empty()).collect();
        (!thoughts.is_empty()).then(|| thoughts.join("\n\n"))
    }
}
