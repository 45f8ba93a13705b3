//! Context-window management: selects the messages of a conversation that are sent to the model.
//!
//! ```text
//! fit ─▶ plan           where the conversation is cut                 (plan.rs, count.rs)
//!         └▶ visible    the messages that remain, the notes between   (visible.rs)
//!     ─▶ summarize      a summary of evicted messages                 (summary.rs, model.rs)
//!     ─▶ apply_summary  the summary joins the state; plan again       (plan.rs, state.rs)
//! ```
//!
//! Invariants:
//!
//! - The conversation is never changed: a [`Window`] only selects messages.
//! - Planning performs no I/O: the same conversation and state give the same plan. Only a
//!   [`Summarizer`] does other work.
//! - A call is never separated from its result, nor reasoning from the call that it led to.

pub(crate) mod count;
mod model;
pub(crate) mod plan;
pub(crate) mod state;
mod summary;
mod visible;

use std::fmt;
use std::sync::Arc;

pub(super) use count::definition_bytes;
use count::estimate_tokens;
pub use model::ModelSummarizer;
pub(super) use state::WindowState;
pub use summary::{EvictedMessages, Summarizer};

use crate::guard::catch_panic;
use crate::message::Message;
use crate::models::ChatRequest;

/// Policy that limits how much of a conversation is sent to the model. Default: all of it.
///
/// System messages, the user messages of the current run and the newest reply of the current run
/// with its results are always sent. If the rest exceeds the limit, the oldest messages are evicted
/// first:
///
/// 1. Exchanges of earlier runs, each from one user message to the next.
/// 2. If the current run alone is too long, its earlier replies with their results. A note takes
///    their place.
///
/// So a call is never separated from its result, nor reasoning from the call that it led to. If a
/// conversation begins with a user message, so does its window.
///
/// ```
/// use tool_runtime::agent::window::Window;
/// use tool_runtime::{
///     Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, Tools, async_trait,
/// };
///
/// /// Answers with the number of messages that it receives.
/// struct Count;
///
/// #[async_trait]
/// impl ChatModel for Count {
///     async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
///         Ok(ChatReply::text(request.messages.len().to_string()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let long = "word ".repeat(40);
/// let conversation = vec![
///     Message::system("Be brief."),
///     Message::user(&long),
///     Message::assistant(&long),
///     Message::user("And now?"),
/// ];
/// let agent = Agent::new(Count, Tools::new()).window(Window::new().max_tokens(100));
/// assert_eq!(agent.run(conversation).await?.to_string(), "2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Window {
    max_tokens: Option<u64>,
    tool_calls: ToolCallHistory,
    counter: TokenCounter,
    summarizer: Option<Arc<dyn Summarizer>>,
}

type TokenCounter = Arc<dyn Fn(&Message) -> u64 + Send + Sync>;

/// The runs whose tool calls and results are sent to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolCallHistory {
    AllRuns,
    CurrentRun,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            max_tokens: None,
            tool_calls: ToolCallHistory::AllRuns,
            counter: Arc::new(estimate_tokens),
            summarizer: None,
        }
    }
}

impl Window {
    /// Creates a window that sends the whole conversation.
    ///
    /// ```
    /// use tool_runtime::agent::window::Window;
    /// use tool_runtime::{Agent, ScriptedModel, Tools};
    ///
    /// let window = Window::new().max_tokens(100_000);
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).window(window);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the messages of a request to a number of tokens, and evicts the oldest ones.
    ///
    /// When the limit is exceeded, messages are evicted until at most half of it is used. The
    /// request then grows again, so provider caches stay valid between two evictions. Tool
    /// definitions and the reply do not count: leave room for them below the context length of the
    /// model.
    #[must_use]
    pub fn max_tokens(mut self, limit: u64) -> Self {
        self.max_tokens = Some(limit);
        self
    }

    /// Removes the tool calls and results of earlier runs from requests; their text remains.
    #[must_use]
    pub fn drop_earlier_tool_calls(mut self) -> Self {
        self.tool_calls = ToolCallHistory::CurrentRun;
        self
    }

    /// Sets the function that counts the tokens of a message, including its overhead in the
    /// request. Default: an estimate.
    ///
    /// The count must be the same each time for the same message, and quick to compute: every
    /// message of the conversation is counted on each turn.
    ///
    /// In the estimate, four bytes are one token, each message has four more tokens of overhead,
    /// and an image has 1,000 tokens. 64 bytes of audio or of a file are one token; each counts as
    /// at least 1,000.
    ///
    /// For English prose and code, the estimate is within a fifth of the real count. It is too low
    /// for text with short tokens: JSON full of numbers, base64 and hexadecimal have up to twice as
    /// many tokens, and so do texts in rarer scripts. The window corrects the estimate with the
    /// usage that the provider reports.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::window::Window;
    ///
    /// // A counter with the exact tokens of a model would call its tokenizer here.
    /// let words = |message: &Message| message.text().split_whitespace().count() as u64;
    /// let window = Window::new().max_tokens(1_000).counter(words);
    /// # let _ = window;
    /// ```
    #[must_use]
    pub fn counter(mut self, counter: impl Fn(&Message) -> u64 + Send + Sync + 'static) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Sets a summarizer; its summary is sent in place of evicted messages.
    ///
    /// Default: none. The model then receives nothing about evicted messages.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.summarizer = Some(Arc::new(summarizer));
        self
    }

    /// Counts the tokens of a request with this window's counter, including its tool definitions.
    #[doc(hidden)]
    pub fn estimate(&self, request: &ChatRequest<'_>) -> u64 {
        let messages = request.messages.iter().map(|message| self.count(message));
        let tools = request.tools.iter().map(|tool| count::definition_tokens(tool));
        messages.chain(tools).fold(0, u64::saturating_add)
    }

    /// Returns the index of the first message that a plan may show or summarize, apart from system
    /// messages. 0 without a limit: then nothing is evicted for good.
    pub(super) fn first_needed(&self, state: &WindowState) -> usize {
        match (self.max_tokens, &self.summarizer) {
            (None, _) => 0,
            (Some(_), None) => state.history_start,
            (Some(_), Some(_)) => state.history_start.min(state.summary_end),
        }
    }

    /// Counts the tokens of a message. If the user's counter panics, they are estimated.
    fn count(&self, message: &Message) -> u64 {
        catch_panic(|| (self.counter)(message)).unwrap_or_else(|_| estimate_tokens(message))
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("max_tokens", &self.max_tokens)
            .field("tool_calls", &self.tool_calls)
            .field("summarizes", &self.summarizer.is_some())
            .finish_non_exhaustive()
    }
}
