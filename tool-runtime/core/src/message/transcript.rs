use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ContentPart, GeneratedFile, Reasoning, Source, ToolCall, ToolResult};

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
#[derive(Clone, Debug, Serialize, Deserialize)]
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
        /// The id of the message; `None` before it belongs to a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<MessageId>,
        /// The parts of the message, in order.
        parts: Vec<ContentPart>,
    },
    /// A reply of the model.
    Assistant {
        /// The id of the message; `None` before it belongs to a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<MessageId>,
        /// The parts of the reply, in order.
        parts: Vec<AssistantPart>,
    },
    /// The results of all calls of the previous assistant message, in the order of the calls.
    Tool {
        /// One result for each call.
        results: Vec<ToolResult>,
    },
}

/// The id of a message, which stays the same while the message is streamed, saved and loaded.
///
/// A run gives an id to each user message and each reply that has none: the id of the run, and the
/// turn of the reply or a number. A message that grows, such as by steering, keeps its id. Ids are
/// unique within a conversation, and a fork of it has the same ids up to the fork.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hello!")]), Tools::new());
/// let prompt = Message::user("Hi").with_id("browser-7");
/// let answer = agent.run(vec![prompt]).await?;
/// assert_eq!(answer.transcript[0].id().unwrap().as_str(), "browser-7");
/// assert!(answer.transcript[1].id().unwrap().as_str().ends_with("-1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct MessageId(Arc<str>);

/// A part of a model's reply: text, a tool call, reasoning, a source or a file.
///
/// ```
/// use tool_runtime::{AssistantPart, Message, ToolCall};
///
/// let call = AssistantPart::Call(ToolCall::new("call_1", "forecast", "{}"));
/// let message = Message::reply(vec![call]);
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
    /// A source that the reply names. It follows the text that cites it and is for people: no model
    /// receives it.
    Source(Source),
    /// A file that the model has created, such as an image.
    File(GeneratedFile),
}

impl MessageId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for MessageId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for MessageId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> Self {
        id.0.as_ref().into()
    }
}

/// Messages with the same role and content are equal. Their ids are not compared.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::System { text }, Self::System { text: other }) => text == other,
            (Self::User { parts, .. }, Self::User { parts: other, .. }) => parts == other,
            (Self::Assistant { parts, .. }, Self::Assistant { parts: other, .. }) => parts == other,
            (Self::Tool { results }, Self::Tool { results: other }) => results == other,
            _ => false,
        }
    }
}

impl Message {
    /// Creates a message of the user with these parts.
    pub fn user_parts(parts: Vec<ContentPart>) -> Self {
        Self::User { id: None, parts }
    }

    /// Creates a reply of the model with these parts.
    pub fn reply(parts: Vec<AssistantPart>) -> Self {
        Self::Assistant { id: None, parts }
    }

    /// Returns the id of the message. System messages and results have none, and other messages
    /// have none before they belong to a run.
    pub fn id(&self) -> Option<&MessageId> {
        match self {
            Self::User { id, .. } | Self::Assistant { id, .. } => id.as_ref(),
            Self::System { .. } | Self::Tool { .. } => None,
        }
    }

    /// Sets the id of the message, such as the one that a front end has given it. It has to be
    /// unique within the conversation. System messages and results have no id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        if let Some(current) = self.id_mut() {
            *current = Some(id.into());
        }
        self
    }

    /// Returns the place of the id, if the message can have one.
    pub(crate) fn id_mut(&mut self) -> Option<&mut Option<MessageId>> {
        match self {
            Self::User { id, .. } | Self::Assistant { id, .. } => Some(id),
            Self::System { .. } | Self::Tool { .. } => None,
        }
    }

    /// Creates a message of instructions for the model.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// Creates a user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { id: None, parts: vec![ContentPart::text(text)] }
    }

    /// Creates an assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::reply(vec![AssistantPart::Text { text: text.into() }])
    }

    /// Returns the calls of an assistant message; other messages have none.
    ///
    /// ```
    /// use tool_runtime::{AssistantPart, Message, ToolCall};
    ///
    /// let call = ToolCall::new("call_1", "forecast", "{}");
    /// let message = Message::reply(vec![AssistantPart::Call(call.clone())]);
    /// assert_eq!(message.calls().collect::<Vec<_>>(), [&call]);
    /// assert_eq!(Message::user("Hello").calls().count(), 0);
    /// ```
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = match self {
            Self::Assistant { parts, .. } => parts.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
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
            Self::User { parts, .. } => parts.iter().filter_map(ContentPart::as_text).collect(),
            Self::Assistant { parts, .. } => parts
                .iter()
                .filter_map(|part| match part {
                    AssistantPart::Text { text } => Some(text.as_str()),
                    _ => None,
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
    /// let message = Message::reply(vec![AssistantPart::Reasoning(reasoning), text]);
    /// assert_eq!(message.reasoning().as_deref(), Some("Three and one"));
    /// ```
    pub fn reasoning(&self) -> Option<String> {
        let Self::Assistant { parts, .. } = self else { return None };
        let texts = parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) => Some(reasoning.text.as_str()),
            _ => None,
        });
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Returns the files that the model has created; messages of others have none.
    pub fn generated_files(&self) -> impl Iterator<Item = &GeneratedFile> {
        let parts = match self {
            Self::Assistant { parts, .. } => parts.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            AssistantPart::File(file) => Some(file),
            _ => None,
        })
    }

    /// Returns the sources that an assistant message names; other messages have none.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let parts = match self {
            Self::Assistant { parts, .. } => parts.as_slice(),
            _ => &[],
        };
        sources(parts)
    }
}

/// Returns the sources among the parts of a reply.
pub(crate) fn sources(parts: &[AssistantPart]) -> impl Iterator<Item = &Source> {
    parts.iter().filter_map(|part| match part {
        AssistantPart::Source(source) => Some(source),
        _ => None,
    })
}
