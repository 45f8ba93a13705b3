//! A run that is watched while it goes on.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::run::Run;
use super::{Answer, Extract, Extracted, Stopped};
use crate::event::Event;
use crate::guard::Boxed;
use crate::models::Delta;

/// A run while it goes on: what the model says, piece by piece, and all that happens, in the order in which it
/// does. What [`Agent::stream`](crate::Agent::stream) gives; a `Stream` as well. In the end there is an [`Answer`], or
/// what [`Run::extract_stream`](super::Run::extract_stream) is asked for.
///
/// The run goes on as far as this is read; dropped, it stops. Pieces of a reply that turns out to be none,
/// which [`ModelEvent::ExtractionFailed`](crate::event::ModelEvent) and its like say, are void, as are those
/// of a request that fails.
///
/// ```
/// use tool_runtime::agent::StreamItem;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let agent = Agent::new(model, Tools::new());
/// let mut stream = agent.stream("Hi.");
/// let mut said = String::new();
/// while let Some(piece) = stream.next().await {
///     if let StreamItem::Text(text) = piece {
///         said.push_str(&text);
///     }
/// }
/// assert_eq!(stream.finish().await?.to_string(), said);
/// # Ok(())
/// # }
/// ```
pub struct RunStream<A = Answer> {
    run: Going<A>,
    pieces: UnboundedReceiver<StreamItem>,
}

enum Going<A> {
    On(Boxed<'static, Result<A, Stopped>>),
    Ended(Result<A, Stopped>),
}

/// A piece of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum StreamItem {
    /// More of a reply's text.
    Text(String),
    /// More of what the model thinks, as far as people may read it.
    Reasoning(String),
    /// A call begins, or more is known of its name than when it began.
    Call {
        /// Which of the reply's calls, from 0, as they begin.
        place: usize,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// Which of the reply's calls.
        place: usize,
        /// What comes behind the text so far.
        text: String,
    },
    /// Something happened, such as a call's [end](crate::event::ToolEvent::Finished).
    Event(Event),
}

impl From<Delta<'_>> for StreamItem {
    fn from(delta: Delta<'_>) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.into()),
            Delta::Reasoning(text) => Self::Reasoning(text.into()),
            Delta::Call { place, name } => Self::Call { place, name: name.into() },
            Delta::Arguments { place, text } => Self::Arguments { place, text: text.into() },
        }
    }
}

impl Run {
    /// Goes on to the end, as [`finish`](Self::finish) does, told of piece by piece.
    pub fn stream(self) -> RunStream {
        RunStream::of(self, |run| Box::pin(run.finish()))
    }

    /// Runs to a value, as [`extract`](Self::extract) does, and streams what happens.
    ///
    /// Each request to the model begins a new text. The last text is that of the value, and
    /// [`json::Partial`](crate::json::Partial) reads as much of it as has arrived.
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
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// // The first is refused, and asked for once more.
    /// let replies = ["Tea, milk.", r#"{"things": ["tea", "milk"]}"#].map(ChatReply::text);
    /// let agent = Agent::new(ScriptedModel::new(replies), Tools::new());
    /// let mut stream = agent.start("Tea needs milk.").extract_stream::<Shopping>();
    /// let mut so_far = json::Partial::new();
    /// while let Some(piece) = stream.next().await {
    ///     match piece {
    ///         StreamItem::Event(event) if event.kind == EventKind::Model(ModelEvent::Asked) => {
    ///             so_far = json::Partial::new();
    ///         }
    ///         StreamItem::Text(more) => so_far.push(&more),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(so_far.value().unwrap().to_value()["things"][1], "milk");
    /// assert_eq!(stream.finish().await?.value.things, ["tea", "milk"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn extract_stream<T: Extract + Send + 'static>(self) -> RunStream<Extracted<T>> {
        RunStream::of(self, |run| Box::pin(run.extract()))
    }
}

impl<A> RunStream<A> {
    fn of(run: Run, go_on: fn(Run) -> Boxed<'static, Result<A, Stopped>>) -> Self {
        let (events, pieces) = unbounded_channel();
        let deltas = events.clone();
        // Whoever reads no more is told no more.
        let run = run
            .observer(move |event: &Event| drop(events.send(StreamItem::Event(event.clone()))))
            .pieces(Box::new(move |delta| drop(deltas.send(delta.into()))));
        Self { run: Going::On(go_on(run)), pieces }
    }

    /// What comes next; none where the run is over.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn next(&mut self) -> Option<StreamItem> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Goes on to the end, past all that was not read.
    ///
    /// # Errors
    /// As of [`Agent::run`](crate::Agent::run), or of [`Agent::extract`](crate::Agent::extract).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn finish(mut self) -> Result<A, Stopped> {
        while self.next().await.is_some() {}
        match self.run {
            Going::Ended(ended) => ended,
            Going::On(run) => run.await,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        loop {
            let run = match &mut self.run {
                Going::On(run) => run,
                Going::Ended(_) => return Poll::Ready(self.pieces.try_recv().ok()),
            };
            // Nothing may come of that though there are pieces: a task that was busy for long is to let others go on.
            if let Poll::Ready(piece) = self.pieces.poll_recv(cx) {
                return Poll::Ready(piece);
            }
            match run.as_mut().poll(cx) {
                Poll::Ready(ended) => self.run = Going::Ended(ended),
                Poll::Pending => {
                    return self
                        .pieces
                        .try_recv()
                        .map_or(Poll::Pending, |it| Poll::Ready(Some(it)));
                }
            }
        }
    }
}

/// What it ends with is never pinned.
impl<A> Unpin for RunStream<A> {}

impl<A> Stream for RunStream<A> {
    type Item = StreamItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        Poll::Ready(ready!(self.poll(cx)))
    }
}

impl<A> fmt::Debug for RunStream<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ended = matches!(self.run, Going::Ended(_));
        f.debug_struct("RunStream").field("has_ended", &has_ended).finish_non_exhaustive()
    }
}
