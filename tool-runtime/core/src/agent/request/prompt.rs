//! Input of a run.

use serde_json::{Map, Value};

use crate::agent::{OfferedTools, Turn};
use crate::message::{ContentPart, Message};
use crate::models::history::push_user;

/// Input of a run: a text, a message or a conversation to continue.
///
/// ```
/// use tool_runtime::{Message, agent::Prompt};
///
/// let fresh = Prompt::from("Hello");
/// let mut conversation = vec![Message::user("Hello"), Message::assistant("Hi!")];
/// conversation.push(Message::user("How are you?"));
/// let continued = Prompt::from(conversation);
/// assert_ne!(fresh, continued);
/// ```
///
/// A user message can hold images and other parts:
///
/// ```
/// use tool_runtime::{Image, Message, agent::Prompt};
///
/// let png = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let prompt = Prompt::from(Message::user_parts(vec!["What is this?".into(), png.into()]));
/// ```
///
/// # Conversations
/// If a conversation ends with calls, running them is the first step. The rest of it is normalized
/// so that model providers accept it; a conversation that is already in order stays unchanged:
///
/// - A call without a result gets the result `TOOL_INDETERMINATE`: it may or may not have run.
/// - A call id that is empty or already used is replaced.
/// - A result moves up to its call. A result without a call is dropped.
/// - A reply without content is dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    transcript: Vec<Message>,
    offered_tools: OfferedTools,
    metadata: Map<String, Value>,
}

impl Prompt {
    /// Sets the tools that the conversation was offered before; they keep their order in requests.
    #[must_use]
    pub fn offered_tools(mut self, offered: OfferedTools) -> Self {
        self.offered_tools = offered;
        self
    }

    /// Sets a member of the metadata of the run, such as the user, the tenant or a trace id.
    ///
    /// The model does not see the metadata. It is part of the saved state and of the event that is
    /// emitted when the run starts. Tools read it with
    /// [`ToolContext::metadata`](crate::ToolContext::metadata); interceptors, approvers,
    /// permissions, hooks and validators read it with
    /// [`RunContext::metadata`](crate::RunContext::metadata). Nested agents inherit it. The next
    /// prompt of a session does not.
    ///
    /// ```
    /// use tool_runtime::agent::Prompt;
    ///
    /// let prompt = Prompt::from("What is new?").metadata("tenant", "acme").metadata("user", 7);
    /// ```
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Takes the metadata out of the prompt.
    pub(crate) fn take_metadata(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.metadata)
    }

    /// Appends a user message.
    pub(crate) fn with_user_text(mut self, text: impl Into<String>) -> Self {
        push_user(&mut self.transcript, None, vec![ContentPart::Text { text: text.into() }]);
        self
    }

    /// Appends the prompt to an earlier conversation and its offered tools.
    pub(crate) fn append_to(self, mut before: Vec<Message>, offered_tools: OfferedTools) -> Self {
        for message in self.transcript {
            match message {
                Message::User { id, parts } => push_user(&mut before, id, parts),
                message => before.push(message),
            }
        }
        Self { transcript: before, offered_tools, metadata: self.metadata }
    }

    /// Converts the prompt into a run, with `system` as its first message unless it has one.
    pub(crate) fn into_turn(self, system: Option<&str>) -> Turn {
        let Self { mut transcript, offered_tools, metadata: _ } = self;
        if let Some(system) = system
            && !matches!(transcript.first(), Some(Message::System { .. }))
        {
            transcript.insert(0, Message::system(system));
        }
        Turn::new(transcript, 0).with_offered_tools(offered_tools)
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        vec![Message::user(text)].into()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        vec![Message::user(text)].into()
    }
}

impl From<Message> for Prompt {
    fn from(message: Message) -> Self {
        vec![message].into()
    }
}

impl From<Vec<Message>> for Prompt {
    fn from(transcript: Vec<Message>) -> Self {
        Self { transcript, offered_tools: OfferedTools::default(), metadata: Map::new() }
    }
}

/// Continues from the transcript and the offered tools of a [`Turn`]. The limits of the agent apply
/// anew.
impl From<Turn> for Prompt {
    fn from(turn: Turn) -> Self {
        let (transcript, offered_tools) = turn.into_parts();
        Self { offered_tools, ..transcript.into() }
    }
}
