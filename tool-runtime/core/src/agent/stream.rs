//! A run as a stream of text, calls and events.
//!
//! The run is a future inside the stream. Polling the stream first returns what is in the channel,
//! then polls the run, of which an observer writes to the channel.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::run::Run;
use super::{Answer, Extract, Extracted, Stopped};
use crate::event::{Event, Observer, Origin, RunId};
use crate::guard::BoxFuture;
use crate::message::{CallId, Delta, GeneratedFile, Source};

/// A run as a stream of its text, calls and events, in the order in which they happen.
///
/// [`Agent::stream`](crate::Agent::stream) and [`Run::stream`] return it with an [`Answer`] at its
/// end, [`Run::extract_stream`] with an [`Extracted`] value. Read it with [`next`](Self::next), or
/// as a [`Stream`](futures_core::Stream) with the combinators of futures or tokio-stream.
/// [`finish`](Self::finish) returns how the run ended.
///
/// The stream owns its run: it is `'static` and `Send`, so that a web handler can return it. If a
/// reply is rejected, as
/// [`ModelEvent::ExtractionFailed`](crate::event::ModelEvent::ExtractionFailed) and
/// [`ModelEvent::ValidationFailed`](crate::event::ModelEvent::ValidationFailed) report, or if its
/// request fails, discard the text and calls of that reply.
///
/// # Cancellation
/// The stream is lazy: the run advances only while it is polled. Dropping it cancels the run and
/// all in-flight calls.
///
/// ```
/// use tool_runtime::agent::StreamItem;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let agent = Agent::new(model, Tools::new());
/// let mut stream = agent.stream("Hi.");
/// let mut text = String::new();
/// while let Some(item) = stream.next().await {
///     if let StreamItem::Text(more) = item {
///         text.push_str(&more);
///     }
/// }
/// assert_eq!(stream.finish().await?.to_string(), text);
/// # Ok(())
/// # }
/// ```
pub struct RunStream<A = Answer> {
    run: RunFuture<A>,
    items: UnboundedReceiver<StreamItem>,
}

enum RunFuture<A> {
    Running(BoxFuture<'static, Result<A, Stopped>>),
    Ended(Result<A, Stopped>),
}

/// An item of a [`RunStream`]: a part of a reply, or an event.
///
/// ```
/// use tool_runtime::agent::StreamItem;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
/// let mut stream = agent.stream("Hello");
/// let mut shown = Vec::new();
/// while let Some(item) = stream.next().await {
///     match item {
///         StreamItem::Text(text) => shown.push(text),
///         StreamItem::Event(event) => shown.push(event.name().to_owned()),
///         _ => {}
///     }
/// }
/// assert_eq!(shown.first().unwrap(), "run.started");
/// assert!(shown.contains(&"Hi!".to_owned()));
/// assert_eq!(shown.last().unwrap(), "run.finished");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "items are read one at a time")]
pub enum StreamItem {
    /// The next part of the reply's text.
    Text(String),
    /// The next part of the model's reasoning, as far as the provider discloses it.
    Reasoning(String),
    /// The start of a call; or its full name, if only a part of it was known at the start.
    Call {
        /// The index of the call within its reply, from 0.
        index: usize,
        /// The id of the call, as in its events and in the transcript.
        id: CallId,
        /// The name of the tool.
        name: String,
    },
    /// The next part of a call's arguments.
    Arguments {
        /// The index of the call within its reply, from 0.
        index: usize,
        /// The text to append to the arguments so far.
        text: String,
    },
    /// A source that the reply names, such as a web page. Its range is in the text of the whole
    /// reply.
    Source(Source),
    /// A file that the model has created, such as an image, with its data.
    File(GeneratedFile),
    /// An event of the run or of a run nested in it, such as the
    /// [end](crate::event::ToolEvent::Finished) of a call.
    Event(Event),
    /// A part of a reply in a run that is nested in this one: that of a sub-agent.
    Nested {
        /// The nested run, and the call that it serves.
        origin: Origin,
        /// The part: neither an event nor nested.
        item: Box<Self>,
    },
}

impl From<Delta<'_>> for StreamItem {
    fn from(delta: Delta<'_>) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.into()),
            Delta::Reasoning(text) => Self::Reasoning(text.into()),
            Delta::Call { index, id, name } => {
                Self::Call { index, id: id.into(), name: name.into() }
            }
            Delta::Arguments { index, text } => Self::Arguments { index, text: text.into() },
            Delta::Source(source) => Self::Source(source.clone()),
            Delta::File(file) => Self::File(file.clone()),
        }
    }
}

impl Run {
    /// Streams the run to its end: text, calls and events as they happen.
    ///
    /// The stream is lazy: the run advances only while it is polled. Dropping it cancels the run
    /// and all in-flight calls.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let mut stream = agent.start("Hello").stream();
    /// assert!(stream.next().await.is_some());
    /// assert_eq!(stream.finish().await?.to_string(), "Hi!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> RunStream {
        RunStream::new(self, |run| Box::pin(run.into_answer()))
    }

    /// Streams the run to a value, as [`extract`](Self::extract) does.
    ///
    /// Each request to the model begins a new text. The last text is that of the value, and
    /// [`json::Partial`](crate::json::Partial) parses as much of it as has arrived.
    ///
    /// ```
    /// use tool_runtime::agent::StreamItem;
    /// use tool_runtime::event::{EventKind, ModelEvent};
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools, args, json};
    ///
    /// /// What to buy.
    /// #[args]
    /// struct Shopping {
    ///     /// One thing each.
    ///     things: Vec<String>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// // The first reply is no JSON, so the model is asked once more.
    /// let replies = ["Tea, milk.", r#"{"things": ["tea", "milk"]}"#].map(ChatReply::text);
    /// let agent = Agent::new(ScriptedModel::new(replies), Tools::new());
    /// let mut stream = agent.start("Tea needs milk.").extract_stream::<Shopping>();
    /// let mut partial = json::Partial::new();
    /// while let Some(item) = stream.next().await {
    ///     match item {
    ///         StreamItem::Event(event) => {
    ///             if matches!(event.kind, EventKind::Model(ModelEvent::Requested { .. })) {
    ///                 partial = json::Partial::new();
    ///             }
    ///         }
    ///         StreamItem::Text(more) => partial.push(&more),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(partial.value().unwrap().to_value()["things"][1], "milk");
    /// assert_eq!(stream.finish().await?.value.things, ["tea", "milk"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn extract_stream<T: Extract + Send + 'static>(self) -> RunStream<Extracted<T>> {
        RunStream::new(self, |run| Box::pin(run.extract()))
    }
}

/// Sends what a run emits to its stream.
struct StreamSender {
    run: RunId,
    sender: UnboundedSender<StreamItem>,
}

impl StreamSender {
    fn send(&self, item: StreamItem) {
        // Fails only after the stream was dropped, and the run with it.
        let _ = self.sender.send(item);
    }
}

impl Observer for StreamSender {
    fn observe(&self, event: &Event) {
        // Not the end of a run that this one replaces: it would look like the end of this one.
        if event.origin.run == self.run || event.origin.depth > 0 {
            self.send(StreamItem::Event(event.clone()));
        }
    }

    fn receives_deltas(&self) -> bool {
        true
    }

    fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
        let item = StreamItem::from(delta);
        self.send(if origin.run == self.run {
            item
        } else {
            StreamItem::Nested { origin: origin.clone(), item: Box::new(item) }
        });
    }
}

impl<A> RunStream<A> {
    fn new(run: Run, drive: fn(Run) -> BoxFuture<'static, Result<A, Stopped>>) -> Self {
        let (sender, items) = unbounded_channel();
        let id = run.id();
        let run = run.with_observer(StreamSender { run: id, sender });
        Self { run: RunFuture::Running(drive(run)), items }
    }

    /// Returns the next item, or `None` after the last item of a run that has ended.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::agent::StreamItem;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hello!")]), Tools::new());
    /// let mut stream = agent.stream("Hi");
    /// let mut text = String::new();
    /// while let Some(item) = stream.next().await {
    ///     if let StreamItem::Text(piece) = item {
    ///         text.push_str(&piece);
    ///     }
    /// }
    /// assert_eq!(text, "Hello!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<StreamItem> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Runs to the end, discards the items that were not read, and returns how the run ended.
    ///
    /// # Errors
    /// Returns the errors of [`Run::finish`], or those of [`Run::extract`] if a value is extracted.
    ///
    /// # Panics
    /// Panics where [`Agent::run`](crate::Agent::run) does.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::Stopped> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hello!")]), Tools::new());
    /// let mut stream = agent.stream("Hi");
    /// let first = stream.next().await;
    /// let answer = stream.finish().await?;
    /// assert_eq!(answer.to_string(), "Hello!");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn finish(mut self) -> Result<A, Stopped> {
        while self.next().await.is_some() {}
        match self.run {
            RunFuture::Ended(ended) => ended,
            RunFuture::Running(run) => run.await,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        loop {
            let run = match &mut self.run {
                RunFuture::Running(run) => run,
                RunFuture::Ended(_) => return Poll::Ready(self.items.try_recv().ok()),
            };
            // Pending although there are items means that the task has used up its budget and has
            // to yield.
            if let Poll::Ready(item) = self.items.poll_recv(cx) {
                return Poll::Ready(item);
            }
            match run.as_mut().poll(cx) {
                Poll::Ready(ended) => self.run = RunFuture::Ended(ended),
                Poll::Pending => {
                    return self
                        .items
                        .try_recv()
                        .map_or(Poll::Pending, |item| Poll::Ready(Some(item)));
                }
            }
        }
    }
}

/// The result of the run is never pinned.
impl<A> Unpin for RunStream<A> {}

impl<A> Stream for RunStream<A> {
    type Item = StreamItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        Poll::Ready(ready!(self.poll(cx)))
    }
}

impl<A> fmt::Debug for RunStream<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ended = matches!(self.run, RunFuture::Ended(_));
        f.debug_struct("RunStream").field("has_ended", &has_ended).finish_non_exhaustive()
    }
}
