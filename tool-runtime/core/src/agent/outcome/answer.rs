//! The two ends of a run: an answer, or a stop without one.

use std::fmt;

use crate::agent::state::RunState;
use crate::agent::{OfferedTools, Prompt, StopReason};
use crate::message::{Message, ModelUsage, Usage};

/// The answer of a run, with its transcript and usage.
///
/// Displays as the answer's text. [`then`](Self::then) continues the conversation.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools, Usage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([ChatReply::text("Hi!").usage(Usage::new(12, 3))]);
/// let answer = Agent::new(model, Tools::new()).run("Hello").await?;
/// assert_eq!(answer.to_string(), "Hi!");
/// assert_eq!(answer.usage, Usage::new(12, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The text of the model's last reply.
    pub text: String,
    /// The transcript of the conversation, including the answer. If the run of a session loaded
    /// only a [part of the messages][guide], this is that part.
    ///
    /// [guide]: https://docs.rs/tool-runtime/latest/tool_runtime/guide/sessions/index.html#limit-what-a-model-sees-of-a-long-conversation
    pub transcript: Vec<Message>,
    /// The tools that were offered or discovered in this conversation.
    pub offered_tools: OfferedTools,
    /// The tokens that the run used, as far as the model provider reports them.
    pub usage: Usage,
    /// The token usage of the run by model, including nested runs and tools that name their
    /// model.
    pub usage_by_model: Vec<ModelUsage>,
    /// The cost of the run, if [prices](crate::agent::Limits::max_cost) are known.
    pub cost: Option<f64>,
}

impl Answer {
    /// Returns a prompt that continues this conversation with a user message.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi!"), ChatReply::text("Fine.")]);
    /// let agent = Agent::new(model, Tools::new());
    /// let answer = agent.run("Hello").await?;
    /// let answer = agent.run(answer.then("How are you?")).await?;
    /// assert_eq!(answer.transcript.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(self, text: impl Into<String>) -> Prompt {
        Prompt::from(self.transcript).offered_tools(self.offered_tools).with_user_text(text)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The error of a run that stopped without an answer.
///
/// [`reason`](Self::reason) is the cause. Displaying or debugging it prints the reason, not the
/// transcript.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("")]), Tools::new());
/// let stopped = agent.run("Hello").await.unwrap_err();
/// assert!(matches!(stopped.reason, StopReason::EmptyReply));
/// assert_eq!(stopped.reason.code(), "EMPTY_REPLY");
/// assert_eq!(stopped.transcript.len(), 2);
/// # }
/// ```
#[non_exhaustive]
pub struct Stopped {
    /// The reason for which the run stopped.
    pub reason: StopReason,
    /// The transcript so far. Every call in it has a result, so that the conversation can be
    /// continued.
    pub transcript: Vec<Message>,
    /// The tools that were offered or discovered in this conversation.
    pub offered_tools: OfferedTools,
    /// The tokens that the run used, as far as the model provider reports them.
    // Boxed to keep the error small: a large one slows down every `Result` that carries it.
    pub usage: Box<Usage>,
    /// The token usage of the run by model, including nested runs and tools that name their
    /// model.
    pub usage_by_model: Vec<ModelUsage>,
    /// The cost of the run, if [prices](crate::agent::Limits::max_cost) are known.
    pub cost: Option<f64>,
}

impl Stopped {
    /// Returns a prompt that continues this conversation with a user message.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
    ///
    /// /// Rolls the dice.
    /// #[tool(effect = "none")]
    /// async fn roll() -> u8 {
    ///     4
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("roll", "{}"),
    /// #     ChatReply::text("Nothing yet."),
    /// # ]);
    /// let agent = Agent::new(model, tools![roll]).max_iterations(1);
    /// let stopped = agent.run("Roll the dice.").await.unwrap_err();
    /// let answer = agent.run(stopped.then("What have you got?")).await?;
    /// assert_eq!(answer.to_string(), "Nothing yet.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(self, text: impl Into<String>) -> Prompt {
        Prompt::from(self.transcript).offered_tools(self.offered_tools).with_user_text(text)
    }
}

/// Stops a run in this state. Its open calls are answered, so that the conversation can be
/// continued.
pub(crate) fn stopped_at(reason: StopReason, mut state: RunState) -> Stopped {
    state.abandon(|_| false);
    let (usage, cost) = (Box::new(state.turn.usage()), state.turn.cost());
    let usage_by_model = state.turn.usage_by_model();
    let (transcript, offered_tools) = state.turn.into_parts();
    Stopped { reason, transcript, offered_tools, usage, usage_by_model, cost }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run stopped: {}", self.reason)
    }
}

/// `source` skips the reason, which `Display` already prints.
impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.reason.source()
    }
}

/// Debugging prints the reason, which is what a `main` that returns the error, or an `unwrap`,
/// shows.
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
