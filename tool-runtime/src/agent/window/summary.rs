use std::borrow::Cow;
use std::error::Error;

use async_trait::async_trait;

use super::plan::Plan;
use super::{Window, WindowState};
use crate::guard::{Guarded, Panic};
use crate::message::Message;

/// Sums up what falls out of a window.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::agent::window::{Fallen, Summarizer, SummaryError, Window, WindowState};
/// use tool_runtime::{Message, async_trait};
///
/// /// Remembers the first words of everything.
/// struct Headlines;
///
/// #[async_trait]
/// impl Summarizer for Headlines {
///     async fn summarize(&self, fallen: &Fallen) -> Result<String, SummaryError> {
///         let earlier = fallen.earlier.iter().cloned();
///         let first = |message: &Message| message.text().chars().take(12).collect();
///         Ok(earlier.chain(fallen.messages.iter().map(first)).collect::<Vec<_>>().join("; "))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let window = Window::new().last_tokens(120).summarizer(Headlines);
/// let long = |text: &str| text.to_owned() + &" and so on".repeat(40);
/// let conversation = [
///     Message::user(long("About Oslo")),
///     Message::assistant(long("It is cold")),
///     Message::user("And now?"),
/// ];
/// let mut state = WindowState::default();
/// let fitted = window.fit(&conversation, 2, &mut state).await;
/// assert!(fitted.failed.is_none());
/// assert_eq!(state.summary(), Some("About Oslo a; It is cold a"));
/// assert!(fitted.messages[0].text().ends_with("About Oslo a; It is cold a"));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't sum up a conversation",
    label = "pass a `ModelSummarizer`, or implement `Summarizer` under `#[async_trait]`"
)]
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// What is worth knowing of what fell out, and of what the earlier summary says: it takes that
    /// one's place. What is longer than [`Fallen::most_tokens`] is cut.
    ///
    /// # Errors
    /// There is no summary. The window does without, and what fell out now is told again beside what
    /// falls out next.
    async fn summarize(&self, fallen: &Fallen) -> Result<String, SummaryError>;
}

/// What falls out of a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fallen {
    /// The summary so far.
    pub earlier: Option<String>,
    /// What fell out since, oldest first, as the model was shown it; standing orders are not among it,
    /// for they stay.
    pub messages: Vec<Message>,
    /// How long the summary may be.
    pub most_tokens: u64,
}

impl Fallen {
    /// What fell out, and how long its summary may be.
    pub fn new(messages: Vec<Message>, most_tokens: u64) -> Self {
        Self { earlier: None, messages, most_tokens }
    }

    /// Behind what this sums up.
    #[must_use]
    pub fn earlier(mut self, summary: impl Into<String>) -> Self {
        self.earlier = Some(summary.into());
        self
    }
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[error("what fell out of the window was not summed up: {source}")]
pub struct SummaryError {
    source: Box<dyn Error + Send + Sync>,
}

impl SummaryError {
    /// It came to nothing for this reason.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into() }
    }
}

/// What goes out to the model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fitted<'m> {
    /// The messages; the conversation itself, where all of it goes out.
    pub messages: Cow<'m, [Message]>,
    /// Why there is no summary of what has just fallen out: for the operator.
    pub failed: Option<SummaryError>,
}

impl Window {
    /// [Plans](Self::plan) what goes out, and has what falls out summed up, where there is somebody to do
    /// it. Where the future is dropped, the state is as it was.
    pub async fn fit<'m>(
        &self,
        messages: &'m [Message],
        run: usize,
        state: &mut WindowState,
    ) -> Fitted<'m> {
        let Plan { messages: shown, state: planned, fallen } = self.plan(messages, run, state);
        let asked = match (&self.summarizer, fallen) {
            (Some(summarizer), Some(fallen)) => Some(ask(summarizer.as_ref(), &fallen).await),
            _ => None,
        };
        let (shown, planned, failed) = match asked {
            None => (shown, planned, None),
            Some(Err(error)) => (shown, planned, Some(error)),
            Some(Ok(summary)) => {
                let summed_up = self.summed_up(&planned, summary);
                let plan = self.plan(messages, run, &summed_up);
                (plan.messages, plan.state, None)
            }
        };
        *state = planned;
        Fitted { messages: shown, failed }
    }
}

/// It is foreign code: one that panics has no summary.
async fn ask(summarizer: &dyn Summarizer, fallen: &Fallen) -> Result<String, SummaryError> {
    let panicked = |panic: Panic| Err(SummaryError::new(panic));
    Guarded::new(|| summarizer.summarize(fallen), panicked).await
}
