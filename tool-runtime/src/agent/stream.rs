//! A run that is watched while it goes on.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::run::Run;
use super::state::RunState;
use super::{Agent, Answer, Stopped};
use crate::event::Event;
use crate::guard::Boxed;
use crate::models::Delta;

/// A run while it goes on: what the model says, piece by piece, and all that happens, in the order in which it
/// does. What [`Agent::stream`](crate::Agent::stream) gives; a `Stream` as well.
///
/// The run goes on as far as this is read; dropped, it stops. Pieces of a reply that turns out to be none,
/// which [`ModelEvent::ExtractionFailed`](crate::event::ModelEvent) and its like say, are void, as are those
/// of a request that fails.
///
/// ```
/// use tool_runtime::agent::Piece;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
/// # let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let agent = Agent::new(model, Tools::new());
/// let mut stream = agent.stream("Hi.");
/// let mut said = String::new();
/// while let Some(piece) = stream.next().await {
///     if let Piece::Text(text) = piece {
///         said.push_str(&text);
///     }
/// }
/// assert_eq!(stream.finish().await?.to_string(), said);
/// # Ok(())
/// # }
/// ```
pub struct RunStream<'a> {
    run: Going<'a>,
    pieces: UnboundedReceiver<Piece>,
}

enum Going<'a> {
    On(Boxed<'a, Result<Answer, Stopped>>),
    Ended(Result<Answer, Stopped>),
}

/// A piece of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum Piece {
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

impl From<Delta<'_>> for Piece {
    fn from(delta: Delta<'_>) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.into()),
            Delta::Reasoning(text) => Self::Reasoning(text.into()),
            Delta::Call { place, name } => Self::Call { place, name: name.into() },
            Delta::Arguments { place, text } => Self::Arguments { place, text: text.into() },
        }
    }
}

impl<'a> RunStream<'a> {
    pub(super) fn new(agent: &'a Agent, state: RunState) -> Self {
        Self::of(Run::new(agent, state))
    }

    pub(super) fn of(run: Run<'a>) -> Self {
        let (events, pieces) = unbounded_channel();
        let deltas = events.clone();
        // Whoever reads no more is told no more.
        let run = run
            .observer(move |event: &Event| drop(events.send(Piece::Event(event.clone()))))
            .pieces(Box::new(move |delta| drop(deltas.send(delta.into()))));
        Self { run: Going::On(Box::pin(run.finish())), pieces }
    }

    /// What comes next; none where the run is over.
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn next(&mut self) -> Option<Piece> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Goes on to the end, past all that was not read.
    ///
    /// # Errors
    /// As of [`Agent::run`](crate::Agent::run).
    ///
    /// # Panics
    /// As [`Agent::run`](crate::Agent::run).
    pub async fn finish(mut self) -> Result<Answer, Stopped> {
        while self.next().await.is_some() {}
        match self.run {
            Going::Ended(ended) => ended,
            Going::On(run) => run.await,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
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

impl Stream for RunStream<'_> {
    type Item = Piece;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        Poll::Ready(ready!(self.poll(cx)))
    }
}

impl fmt::Debug for RunStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ended = matches!(self.run, Going::Ended(_));
        f.debug_struct("RunStream").field("has_ended", &has_ended).finish_non_exhaustive()
    }
}
