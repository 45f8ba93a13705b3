use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::task::yield_now;

use super::{ChatModel, ChatReply, ChatRequest, Delta, DeltaSink, ModelError};
use crate::message::{AssistantPart, emit_reply};

/// A model that replays a script, for tests and for examples that need no network.
///
/// It fails with [`ModelError::Script`] if it receives more requests than the script has turns, or
/// a request that does not meet the expectations of its turn.
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
    request_count: AtomicUsize,
    streams_words: bool,
}

/// One turn of a script: a reply, and what is expected of the request.
///
/// It is plain data, so a script can be stored as JSON.
///
/// ```
/// use tool_runtime::{ChatReply, ScriptedTurn};
///
/// let turn = ScriptedTurn::new(ChatReply::text("Take a coat."))
///     .expect_last("4 degrees")
///     .expect_tools(["forecast"]);
/// assert_eq!(turn.last_contains, ["4 degrees"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptedTurn {
    /// The reply of the model.
    pub reply: ChatReply,
    /// The message of the error that the model returns instead of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the same request may succeed after the failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_transient: bool,
    /// Texts that the last message must contain. If it holds tool results, any of them can contain
    /// the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_contains: Vec<String>,
    /// The exact names of the offered tools, in order. `None` accepts any tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

impl ScriptedTurn {
    /// Creates a turn that answers any request with this reply.
    ///
    /// ```
    /// use tool_runtime::{ChatReply, ScriptedTurn};
    ///
    /// let turn = ScriptedTurn::new(ChatReply::text("Hi!")).expect_last("Hello");
    /// assert_eq!(turn.last_contains, ["Hello"]);
    /// ```
    pub fn new(reply: ChatReply) -> Self {
        Self { reply, ..Self::default() }
    }

    /// Creates a turn in which the model returns [`ModelError::failed`].
    ///
    /// ```
    /// use tool_runtime::{ChatModel, ChatRequest, Message, ScriptedModel, ScriptedTurn};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let model = ScriptedModel::new([
    ///     ScriptedTurn::failed("the weights are damaged"),
    ///     ScriptedTurn::unavailable("the weights are being loaded"),
    /// ]);
    /// let messages = [Message::user("Hello")];
    /// let error = model.reply(ChatRequest::new(&messages)).await.unwrap_err();
    /// assert_eq!(error.to_string(), "model request failed: the weights are damaged");
    /// assert!(!error.is_transient());
    ///
    /// let error = model.reply(ChatRequest::new(&messages)).await.unwrap_err();
    /// assert!(error.is_transient());
    /// # }
    /// ```
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::with_failure(reason.into(), false)
    }

    /// Creates a turn in which the model returns [`ModelError::unavailable`].
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::with_failure(reason.into(), true)
    }

    fn with_failure(reason: String, is_transient: bool) -> Self {
        Self { failure: Some(reason), is_transient, ..Self::default() }
    }

    /// Expects the last message, or one of its results, to contain `text`.
    #[must_use]
    pub fn expect_last(mut self, text: impl Into<String>) -> Self {
        self.last_contains.push(text.into());
        self
    }

    /// Expects exactly these tools to be offered, in this order.
    ///
    /// Tools are offered sorted by name. A tool that is added during a conversation follows the
    /// ones that were offered before.
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

    /// Returns the expectation that the request does not meet.
    fn problem(&self, request: ChatRequest<'_>) -> Option<String> {
        let last = match request.messages.last() {
            None => return Some("there are no messages".into()),
            Some(message) => message.text(),
        };
        if let Some(absent) = self.last_contains.iter().find(|text| !last.contains(text.as_str())) {
            return Some(format!("expected the last message to contain {absent:?}, got {last:?}"));
        }
        let expected: Vec<_> = self.tools.as_ref()?.iter().map(String::as_str).collect();
        let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        (expected != offered)
            .then(|| format!("expected the tools {expected:?}, offered were {offered:?}"))
    }
}

impl From<ChatReply> for ScriptedTurn {
    fn from(reply: ChatReply) -> Self {
        Self::new(reply)
    }
}

impl ScriptedModel {
    /// Creates a model that answers each request with the next of these turns or replies.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let model = ScriptedModel::new([ChatReply::text("Hi!"), ChatReply::text("Bye!")]);
    /// let agent = Agent::new(model, Tools::new());
    /// assert_eq!(agent.run("Hello").await?.to_string(), "Hi!");
    /// assert_eq!(agent.run("Good-bye").await?.to_string(), "Bye!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<T: Into<ScriptedTurn>>(turns: impl IntoIterator<Item = T>) -> Self {
        let turns = turns.into_iter().map(Into::into).collect();
        Self { turns, ..Self::default() }
    }

    /// Streams texts, reasoning and arguments word by word. By default, each is one piece.
    ///
    /// After each word, the model yields, so that a reader can process it before the next one.
    ///
    /// ```
    /// use tool_runtime::agent::StreamItem;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let model = ScriptedModel::new([ChatReply::text("It is cold.")]).stream_words();
    /// let mut stream = Agent::new(model, Tools::new()).stream("How is the weather?");
    /// let mut words = Vec::new();
    /// while let Some(item) = stream.next().await {
    ///     if let StreamItem::Text(text) = item {
    ///         words.push(text);
    ///     }
    /// }
    /// assert_eq!(words, ["It ", "is ", "cold."]);
    /// # }
    /// ```
    #[must_use]
    pub fn stream_words(mut self) -> Self {
        self.streams_words = true;
        self
    }

    /// Returns the number of turns that were not requested yet; 0 after the whole script.
    pub fn remaining(&self) -> usize {
        self.turns.len().saturating_sub(self.request_count.load(Ordering::Relaxed))
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let index = self.request_count.fetch_add(1, Ordering::Relaxed);
        let mismatch = |problem| ModelError::Script { request: index + 1, problem };
        let Some(turn) = self.turns.get(index) else {
            let replies = if self.turns.len() == 1 { "reply" } else { "replies" };
            return Err(mismatch(format!("the script ends after {} {replies}", self.turns.len())));
        };
        match (turn.problem(request), &turn.failure) {
            (Some(problem), _) => Err(mismatch(problem)),
            (None, Some(reason)) if turn.is_transient => {
                Err(ModelError::unavailable(reason.clone()))
            }
            (None, Some(reason)) => Err(ModelError::failed(reason.clone())),
            (None, None) => Ok(turn.reply.clone()),
        }
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        if self.streams_words {
            emit_words(&reply.parts, deltas).await
        } else {
            emit_reply(&reply.parts, deltas)
        }
        Ok(reply)
    }
}

/// Passes a reply to `deltas` word by word, and yields after each word.
async fn emit_words(parts: &[AssistantPart], deltas: &mut DeltaSink<'_>) {
    let mut indices = 0..;
    for part in parts {
        match part {
            AssistantPart::Text { text } => {
                for word in words(text) {
                    deltas(Delta::Text(word));
                    yield_now().await;
                }
            }
            AssistantPart::Reasoning(reasoning) => {
                for word in words(&reasoning.text) {
                    deltas(Delta::Reasoning(word));
                    yield_now().await;
                }
            }
            AssistantPart::Call(call) => {
                let Some(index) = indices.next() else { return };
                deltas(Delta::Call { index, id: call.id.as_str(), name: &call.name });
                for text in words(&call.arguments.to_text()) {
                    deltas(Delta::Arguments { index, text });
                    yield_now().await;
                }
            }
            AssistantPart::Source(source) => deltas(Delta::Source(source)),
            AssistantPart::File(file) => deltas(Delta::File(file)),
        }
    }
}

/// Splits after spaces, and after the commas and colons of JSON without spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', ',', ':'])
}
