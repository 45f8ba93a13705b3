//! Summaries of evicted messages.

use std::borrow::Cow;
use std::error::Error;

use async_trait::async_trait;

use super::plan::Plan;
use super::{Window, WindowState};
use crate::guard::{CatchPanic, Panic};
use crate::message::Message;

/// Summarizes messages that a window evicts.
///
/// Put `#[async_trait]`, which this crate re-exports, on the `impl` block.
///
/// ```
/// use tool_runtime::agent::window::{
///     EvictedMessages, Summarizer, SummaryError, Window, WindowState,
/// };
/// use tool_runtime::{Message, async_trait};
///
/// /// Keeps the first twelve characters of each message.
/// struct Headlines;
///
/// #[async_trait]
/// impl Summarizer for Headlines {
///     async fn summarize(&self, evicted: &EvictedMessages) -> Result<String, SummaryError> {
///         let earlier = evicted.earlier_summary.iter().cloned();
///         let headline = |message: &Message| message.text().chars().take(12).collect();
///         let headlines = evicted.messages.iter().map(headline);
///         Ok(earlier.chain(headlines).collect::<Vec<_>>().join("; "))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let window = Window::new().max_tokens(120).summarizer(Headlines);
/// let long = |text: &str| text.to_owned() + &" and so on".repeat(40);
/// let conversation = [
///     Message::user(long("About Oslo")),
///     Message::assistant(long("It is cold")),
///     Message::user("And now?"),
/// ];
/// let mut state = WindowState::default();
/// let windowed = window.fit(&conversation, 2, &mut state).await;
/// assert!(windowed.summary_error.is_none());
/// assert_eq!(state.summary(), Some("About Oslo a; It is cold a"));
/// assert!(windowed.messages[0].text().ends_with("About Oslo a; It is cold a"));
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
    async fn summarize(&self, evicted: &EvictedMessages) -> Result<String, SummaryError>;
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

/// Error returned when evicted messages could not be summarized.
///
/// ```
/// use tool_runtime::agent::window::SummaryError;
///
/// let error = SummaryError::new("model offline");
/// assert_eq!(error.to_string(), "evicted messages were not summarized: model offline");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("evicted messages were not summarized: {source}")]
pub struct SummaryError {
    source: Box<dyn Error + Send + Sync>,
}

impl SummaryError {
    /// Creates an error with its cause.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into() }
    }
}

/// Messages that a window selected for a request.
///
/// Returned by [`Window::fit`].
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::{Window, WindowState};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let conversation = [Message::user("Hello")];
/// let windowed = Window::new().fit(&conversation, 0, &mut WindowState::default()).await;
/// assert_eq!(*windowed.messages, conversation);
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct WindowedMessages<'m> {
    /// The messages to send; borrowed if they are the whole conversation.
    pub messages: Cow<'m, [Message]>,
    /// The reason why the evicted messages have no summary, for operators.
    pub summary_error: Option<SummaryError>,
}

impl Window {
    /// Selects the messages to send and summarizes evicted ones.
    ///
    /// [`plan`](Self::plan) decides which messages are evicted. If the window has a
    /// [summarizer](Self::summarizer), it is called with them, and its summary is sent in their
    /// place. If it fails or panics, the request is sent without a new summary.
    ///
    /// # Cancellation
    /// If the future is dropped, `state` is unchanged.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::window::{Window, WindowState};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), std::convert::Infallible> {
    /// let conversation = [
    ///     Message::user("word ".repeat(200)),
    ///     Message::assistant("Long."),
    ///     Message::user("And now?"),
    /// ];
    /// let mut state = WindowState::default();
    /// let windowed = Window::new().max_tokens(100).fit(&conversation, 2, &mut state).await;
    /// assert_eq!(*windowed.messages, [Message::user("And now?")]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fit<'m>(
        &self,
        messages: &'m [Message],
        run: usize,
        state: &mut WindowState,
    ) -> WindowedMessages<'m> {
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
        let Plan { messages, state: planned, .. } = plan;
        *state = planned;
        WindowedMessages { messages, summary_error }
    }
}

/// Calls the summarizer, which is foreign code: a panic becomes an error.
async fn summarize(
    summarizer: &dyn Summarizer,
    evicted: &EvictedMessages,
) -> Result<String, SummaryError> {
    let panicked = |panic: Panic| Err(SummaryError::new(panic));
    CatchPanic::new(|| summarizer.summarize(evicted), panicked).await
}
