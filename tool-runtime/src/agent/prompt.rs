use crate::message::Message;

/// What a run starts from: a text, or a conversation that it goes on with.
///
/// ```
/// use tool_runtime::{Message, agent::Prompt};
///
/// let fresh = Prompt::from("Hello");
/// let mut conversation = vec![Message::user("Hello"), Message::assistant("Hi!")];
/// conversation.push(Message::user("How are you?"));
/// let further = Prompt::from(conversation);
/// assert_ne!(fresh, further);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt(Vec<Message>);

impl Prompt {
    /// The conversation, under `system` unless it starts with orders of its own.
    pub(super) fn into_transcript(self, system: Option<&str>) -> Vec<Message> {
        let Self(mut messages) = self;
        if let Some(system) = system
            && !matches!(messages.first(), Some(Message::System { .. }))
        {
            messages.insert(0, Message::system(system));
        }
        messages
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<Vec<Message>> for Prompt {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}
