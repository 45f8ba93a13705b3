use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{ChatModel, ChatReply, ChatRequest, ModelError};
use crate::message::Message;

/// A model that says what it was told to say: for tests and for examples that need no network.
///
/// It fails loudly, as a [`ModelError::Script`], when it is asked more often than the script is
/// long, or when a request isn't what the script expects at that place.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, ScriptedTurn, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new([
///     ScriptedTurn::new(ChatReply::text("Hello, Ada.")).expect_last("my name is Ada"),
/// ]);
/// let answer = Agent::new(model, Tools::new()).run("Hello, my name is Ada!").await.unwrap();
/// assert_eq!(answer.to_string(), "Hello, Ada.");
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ScriptedModel {
    turns: Vec<ScriptedTurn>,
    asked: AtomicUsize,
}

/// One reply of a script, and what is expected of the request that it answers. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptedTurn {
    /// What the model says.
    pub reply: ChatReply,
    /// How it fails instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<ScriptedFailure>,
    /// Texts that the last message has to hold; in tool results, in any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_holds: Vec<String>,
    /// The names of the tools that have to be offered, exactly these and in this order; anything goes where none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// A [`ModelError::Failed`], as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptedFailure {
    /// Why.
    pub reason: String,
    /// Whether the same may go well later.
    pub may_pass: bool,
}

impl ScriptedTurn {
    /// A reply to whatever is asked.
    pub fn new(reply: ChatReply) -> Self {
        Self { reply, ..Self::default() }
    }

    /// The model fails, as [`ModelError::failed`] says it.
    ///
    /// ```
    /// use tool_runtime::{Agent, ScriptedModel, ScriptedTurn, StopReason, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let model = ScriptedModel::new([ScriptedTurn::unavailable("the weights are being loaded")]);
    /// let stopped = Agent::new(model, Tools::new()).run("Hello").await.unwrap_err();
    /// let StopReason::Model(error) = stopped.reason else { panic!("{stopped}") };
    /// assert!(error.may_pass());
    /// assert_eq!(error.to_string(), "the model failed: the weights are being loaded");
    /// # }
    /// ```
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::failing(reason.into(), false)
    }

    /// The same for now, as [`ModelError::unavailable`] says it.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::failing(reason.into(), true)
    }

    fn failing(reason: String, may_pass: bool) -> Self {
        Self { fails: Some(ScriptedFailure { reason, may_pass }), ..Self::default() }
    }

    /// Expects the last message, or one of the results in it, to hold `text`.
    #[must_use]
    pub fn expect_last(mut self, text: impl Into<String>) -> Self {
        self.last_holds.push(text.into());
        self
    }

    /// Expects exactly these tools to be offered, in this order: sorted by name, but for those that come in the midst
    /// of a conversation.
    #[must_use]
    pub fn expect_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Expects no tools to be offered.
    #[must_use]
    pub fn expect_no_tools(mut self) -> Self {
        self.tools = Some(Vec::new());
        self
    }

    /// What is wrong with the request.
    fn problem(&self, request: ChatRequest<'_>) -> Option<String> {
        let last = match request.messages.last() {
            None => return Some("there are no messages".into()),
            Some(Message::Tool { results }) => {
                results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
            }
            Some(message) => message.text(),
        };
        if let Some(absent) = self.last_holds.iter().find(|text| !last.contains(text.as_str())) {
            return Some(format!("expected the last message to hold {absent:?}, it was {last:?}"));
        }
        let wanted: Vec<_> = self.tools.as_ref()?.iter().map(String::as_str).collect();
        let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        (wanted != offered)
            .then(|| format!("expected the tools {wanted:?}, offered were {offered:?}"))
    }
}

impl From<ChatReply> for ScriptedTurn {
    fn from(reply: ChatReply) -> Self {
        Self::new(reply)
    }
}

impl ScriptedModel {
    /// A model that gives these replies, one for each request.
    pub fn new<T: Into<ScriptedTurn>>(turns: impl IntoIterator<Item = T>) -> Self {
        Self { turns: turns.into_iter().map(Into::into).collect(), asked: AtomicUsize::new(0) }
    }

    /// How many replies have not been asked for; 0 when the whole script was played.
    pub fn remaining(&self) -> usize {
        self.turns.len().saturating_sub(self.asked.load(Ordering::Relaxed))
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let place = self.asked.fetch_add(1, Ordering::Relaxed);
        let unfit = |problem| ModelError::Script { request: place + 1, problem };
        let Some(turn) = self.turns.get(place) else {
            let replies = if self.turns.len() == 1 { "reply" } else { "replies" };
            return Err(unfit(format!("the script ends after {} {replies}", self.turns.len())));
        };
        match (turn.problem(request), &turn.fails) {
            (Some(problem), _) => Err(unfit(problem)),
            (None, Some(ScriptedFailure { reason, may_pass: true })) => {
                Err(ModelError::unavailable(reason.clone()))
            }
            (None, Some(ScriptedFailure { reason, .. })) => Err(ModelError::failed(reason.clone())),
            (None, None) => Ok(turn.reply.clone()),
        }
    }
}
