//! Summaries of evicted messages.

use std::borrow::Cow;
use std::error::Error;

use async_trait::async_trait;

use super::plan::WindowPlan;
use super::{Window, WindowState};
use crate::guard::{CatchPanic, Panic};
use crate::message::Message;

type BoxedError = Box<dyn Error + Send + Sync>;

/// Summarizes messages that a window evicts.
///
/// Put `#[async_trait]`, which this crate re-exports, on the `impl` block.
///
/// ```
/// use std::error::Error;
///
/// use tool_runtime::agent::window::{EvictedMessages, Summarizer, Window};
/// use tool_runtime::{
///     Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, Tools, async_trait,
/// };
///
/// /// Keeps the first twelve characters of each message.
/// struct Headlines;
///
/// #[async_trait]
/// impl Summarizer for Headlines {
///     async fn summarize(
///         &self,
///         evicted: &EvictedMessages,
///     ) -> Result<String, Box<dyn Error + Send + Sync>> {
///         let earlier = evicted.earlier_summary.iter().cloned();
///         let headline = |message: &Message| message.text().chars().take(12).collect();
///         let headlines = evicted.messages.iter().map(headline);
///         Ok(earlier.chain(headlines).collect::<Vec<_>>().join("; "))
///     }
/// }
///
/// /// Answers with the first message that it receives.
/// struct Echo;
///
/// #[async_trait]
/// impl ChatModel for Echo {
///     async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
///         Ok(ChatReply::text(request.messages[0].text()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let long = |text: &str| text.to_owned() + &" and so on".repeat(40);
/// let conversation = vec![
///     Message::user(long("About Oslo")),
///     Message::assistant(long("It is cold")),
///     Message::user("And now?"),
/// ];
/// let window = Window::new().max_tokens(120).summarizer(Headlines);
/// let answer = Agent::new(Echo, Tools::new()).window(window).run(conversation).await?;
/// assert!(answer.to_string().contains("About Oslo a; It is cold a"));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't summarize a conversation",
    label = "pass a `ModelSummarizer`, or implement `Summarizer` under `#[async_trait]`"
)]
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Returns a summary of the evicted messages and of the earlier summary, which it replaces.
    ///
    /// A summary longer than [`EvictedMessages::max_tokens`] is truncated.
    ///
    /// # Errors
    /// Return an error if no summary can be made. The window then continues without one, and
    /// includes the same messages in the next eviction.
    async fn summarize(
        &self,
        evicted: &EvictedMessages,
    ) -> Result<String, Box<dyn Error + Send + Sync>>;
}

/// Messages evicted from a window, as input of a [`Summarizer`].
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::EvictedMessages;
///
/// let evicted = EvictedMessages::new(vec![Message::user("I live in Oslo.")], 200)
///     .earlier_summary("The user is called Ada.");
/// assert_eq!(evicted.earlier_summary.as_deref(), Some("The user is called Ada."));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvictedMessages {
    /// The summary of messages that were evicted before.
    pub earlier_summary: Option<String>,
    /// The messages evicted since then, oldest first, as the model received them.
    ///
    /// System messages are never evicted.
    pub messages: Vec<Message>,
    /// The maximum length of the summary, in tokens.
    pub max_tokens: u64,
}

impl EvictedMessages {
    /// Creates a value with the evicted messages and the maximum length of their summary in tokens.
    pub fn new(messages: Vec<Message>, max_tokens: u64) -> Self {
        Self { earlier_summary: None, messages, max_tokens }
    }

    /// Sets the summary of messages that were evicted before.
    #[must_use]
    pub fn earlier_summary(mut self, summary: impl Into<String>) -> Self {
        self.earlier_summary = Some(summary.into());
        self
    }
}

// Hidden: an agent fits the conversation of its runs.
#[doc(hidden)]
impl Window {
    /// Selects the messages to send and summarizes evicted ones. Returns them, and
    /// the reason why evicted messages have no summary, for operators.
    ///
    /// [`plan`](Self::plan) decides which messages are evicted. If the window has a
    /// [summarizer](Self::summarizer), it is called with them, and its summary is sent in their
    /// place. If it fails or panics, the request is sent without a new summary.
    ///
    /// If the future is dropped, `state` is unchanged.
    pub async fn fit<'m>(
        &self,
        messages: &'m [Message],
        run: usize,
        state: &mut WindowState,
    ) -> (Cow<'m, [Message]>, Option<BoxedError>) {
        let plan = self.plan(messages, run, state);
        let summary = match (&self.summarizer, &plan.evicted) {
            (Some(summarizer), Some(evicted)) => {
                Some(summarize(summarizer.as_ref(), evicted).await)
            }
            _ => None,
        };
        let (plan, summary_error) = match summary {
            None => (plan, None),
            Some(Err(error)) => (plan, Some(error)),
            Some(Ok(summary)) => {
                let with_summary = self.apply_summary(&plan.state, summary);
                (self.plan(messages, run, &with_summary), None)
            }
        };
        let WindowPlan { messages, state: planned, .. } = plan;
        *state = planned;
        (messages, summary_error)
    }
}

/// Calls the summarizer, which is foreign code: a panic becomes an error.
async fn summarize(
    summarizer: &dyn Summarizer,
    evicted: &EvictedMessages,
) -> Result<String, BoxedError> {
    let panicked = |panic: Panic| Err(panic.into());
    CatchPanic::new(|| summarizer.summarize(evicted), panicked).await
}
