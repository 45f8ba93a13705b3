use super::{OfferedTools, Turn};
use crate::message::{Message, UserPart};
use crate::models::history::say;

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
///
/// A message of the user's may have pictures:
///
/// ```
/// use tool_runtime::{Image, Message, UserPart, agent::Prompt};
///
/// let png = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let text = UserPart::Text { text: "What is this?".into() };
/// let prompt = Prompt::from(Message::User { parts: vec![text, UserPart::Image(png)] });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    transcript: Vec<Message>,
    offered: OfferedTools,
}

impl Prompt {
    /// Goes on with the tools that the conversation has come to before, in their order.
    #[must_use]
    pub fn offered(mut self, offered: OfferedTools) -> Self {
        self.offered = offered;
        self
    }

    /// And what the user says next.
    pub(super) fn then(mut self, text: impl Into<String>) -> Self {
        say(&mut self.transcript, vec![UserPart::Text { text: text.into() }]);
        self
    }

    /// Behind what was said before, in which the tools had come to these.
    pub(super) fn behind(self, mut before: Vec<Message>, offered: OfferedTools) -> Self {
        for message in self.transcript {
            match message {
                Message::User { parts } => say(&mut before, parts),
                message => before.push(message),
            }
        }
        Self { transcript: before, offered }
    }

    /// The conversation, under `system` unless it starts with orders of its own.
    pub(super) fn into_turn(self, system: Option<&str>) -> Turn {
        let Self { mut transcript, offered } = self;
        if let Some(system) = system
            && !matches!(transcript.first(), Some(Message::System { .. }))
        {
            transcript.insert(0, Message::system(system));
        }
        Turn::new(transcript, 0).with_offered(offered)
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
        Self { transcript, offered: OfferedTools::default() }
    }
}

/// What a turn has come to. The agent may ask the model as often as in any other run.
impl From<Turn> for Prompt {
    fn from(turn: Turn) -> Self {
        let (transcript, offered) = turn.into_parts();
        Self { transcript, offered }
    }
}
