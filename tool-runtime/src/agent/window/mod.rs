//! What of a long conversation goes out to the model.
//!
//! The conversation itself is never changed: a [`Window`] only chooses. It does no work of its own but
//! to choose; what a summary says is the affair of a [`Summarizer`].

mod count;
mod model;
mod plan;
mod shown;
mod state;
mod summary;

use std::fmt;
use std::sync::Arc;

pub(super) use count::length;
pub use count::{Estimate, TokenCounter};
pub use model::ModelSummarizer;
pub use plan::Plan;
pub use state::WindowState;
pub use summary::{Fallen, Fitted, Summarizer, SummaryError};

use crate::guard::guarded;
use crate::message::Message;
use crate::models::ChatRequest;

/// How much of a conversation the model is shown. All of it, unless set.
///
/// Standing orders always stay, and so do what the user says in the current run and the newest reply of
/// it with the results of its calls. Of the rest the oldest goes first: whole exchanges of earlier runs,
/// from one thing that the user said to the next; then, where the current run alone is too long, whole
/// replies of it with the results of their calls, in whose place a note stands. So a call is never
/// parted from its result, nor what a model thought from the call that it led to, and a conversation
/// that begins with the user still does.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::window::{Window, WindowState};
///
/// let window = Window::new().last_tokens(100);
/// let long = "word ".repeat(40);
/// let conversation = [
///     Message::system("Be brief."),
///     Message::user(&long),
///     Message::assistant(&long),
///     Message::user("And now?"),
/// ];
/// let plan = window.plan(&conversation, 3, &WindowState::default());
/// assert_eq!(*plan.messages, [Message::system("Be brief."), Message::user("And now?")]);
/// ```
#[derive(Clone)]
pub struct Window {
    most: Option<u64>,
    traces: Traces,
    counter: Arc<dyn TokenCounter>,
    summarizer: Option<Arc<dyn Summarizer>>,
}

/// Whose calls and results the model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traces {
    OfAllRuns,
    OfThisRun,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            most: None,
            traces: Traces::OfAllRuns,
            counter: Arc::new(Estimate),
            summarizer: None,
        }
    }
}

impl Window {
    /// All of the conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last of it, at most so many tokens. Once there are more, it is cut to half of them, and then
    /// grows again: what a provider has cached stays valid from cut to cut. Tools and their schemas
    /// count among what is sent, not here: leave room for them and for the reply.
    #[must_use]
    pub fn last_tokens(mut self, most: u64) -> Self {
        self.most = Some(most);
        self
    }

    /// Without the calls of earlier runs and their results: what was said in words stays.
    ///
    /// ```
    /// use tool_runtime::agent::window::{Window, WindowState};
    /// use tool_runtime::{ChatReply, Message, ToolResult};
    ///
    /// let reply = ChatReply::default().call("clock", "{}");
    /// let call = Message::Assistant { parts: reply.parts };
    /// let results = call.calls().map(|call| ToolResult::success(call, "noon")).collect();
    /// let conversation = [
    ///     Message::user("How late is it?"),
    ///     call,
    ///     Message::Tool { results },
    ///     Message::assistant("It is noon."),
    ///     Message::user("Thank you."),
    /// ];
    /// let window = Window::new().without_earlier_traces();
    /// let plan = window.plan(&conversation, 4, &WindowState::default());
    /// let said: Vec<_> = plan.messages.iter().map(Message::text).collect();
    /// assert_eq!(said, ["How late is it?", "It is noon.", "Thank you."]);
    /// ```
    #[must_use]
    pub fn without_earlier_traces(mut self) -> Self {
        self.traces = Traces::OfThisRun;
        self
    }

    /// Counts tokens by this rather than by an [`Estimate`].
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Has what falls out of the window summed up by this, and the summary stand in its place. Without
    /// it, what falls out is gone from the model's sight.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.summarizer = Some(Arc::new(summarizer));
        self
    }

    /// How many tokens a request has by this window's counter, the tools that it offers included: what
    /// is compared with the provider's count in [`WindowState::correct`].
    pub fn estimate(&self, request: &ChatRequest<'_>) -> u64 {
        let messages = request.messages.iter().map(|message| self.count(message));
        let tools = request.tools.iter().map(|tool| count::definition(tool));
        messages.chain(tools).fold(0, u64::saturating_add)
    }

    /// The counter is foreign code: where it panics, an estimate has to do.
    fn count(&self, message: &Message) -> u64 {
        guarded(|| self.counter.count(message)).unwrap_or_else(|_| Estimate.count(message))
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("most", &self.most)
            .field("traces", &self.traces)
            .field("summarizes", &self.summarizer.is_some())
            .finish_non_exhaustive()
    }
}
