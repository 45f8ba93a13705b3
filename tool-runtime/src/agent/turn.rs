//! The machine that decides what comes next in a run.
//!
//! It does nothing itself: it says what to do and is told what came of it. It reads no clock and
//! no randomness and can be serialised between any two steps; what it needs to know of the past is
//! the transcript.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Offered;
use crate::message::{Message, ToolCall, ToolResult};
use crate::models::history::{is_silent, mended, with_unique_ids};
use crate::models::{ChatReply, Finish};
use crate::tool::{ToolDefinition, ToolErrorKind};

/// A run in progress.
///
/// ```
/// use tool_runtime::agent::{Step, Turn};
/// use tool_runtime::{ChatReply, Message, ToolResult};
///
/// let mut turn = Turn::new(vec![Message::user("Hello")], 20);
/// assert!(matches!(turn.next(), Step::Ask));
///
/// turn.on_reply(ChatReply::default().call("hello", "{}"))?;
/// let Step::Call(calls) = turn.next() else { panic!() };
/// let results = calls.iter().map(|call| ToolResult::success(call, "Hi!")).collect();
///
/// turn.on_results(results)?;
/// turn.on_reply(ChatReply::text("The tool says hi."))?;
/// assert!(matches!(turn.next(), Step::Done(Outcome::Answered)));
/// # use tool_runtime::agent::Outcome;
/// # Ok::<(), tool_runtime::agent::OutOfTurn>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    #[serde(with = "shared")]
    transcript: Arc<Vec<Message>>,
    iterations: u32,
    max_iterations: u32,
    /// How the last reply ended.
    #[serde(default)]
    finish: Finish,
    /// The results that came before those of the calls beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    early: Vec<ToolResult>,
    /// The tools that the conversation has come to.
    #[serde(default)]
    offered: Offered,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model to go on with the transcript; tell [`Turn::on_reply`].
    Ask,
    /// Run these calls; tell [`Turn::on_results`].
    Call(Vec<ToolCall>),
    /// Nothing: the run is over.
    Done(Outcome),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The model answered.
    Answered,
    /// The model began an answer in words, and was cut off for this reason.
    Cut(Finish),
    /// The model said nothing and called nothing.
    Silent,
    /// The model was asked as often as it may be, and wants more calls. They were not run.
    MaxIterations,
}

/// The machine was told something that it didn't ask for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of turn: {0}")]
pub struct OutOfTurn(&'static str);

impl Turn {
    /// A run that goes on from `transcript` and may ask the model `max_iterations` times.
    ///
    /// Calls at its very end are the first step. Elsewhere, a call whose result is missing is
    /// answered with `TOOL_INDETERMINATE`: nobody can tell whether it ran. Nor does anything else
    /// that providers refuse stay: an id that is empty or was used before is replaced, a result
    /// moves up to its call, and one without a call is dropped, as are replies that say nothing.
    /// A transcript that is in order stays as it is.
    pub fn new(transcript: Vec<Message>, max_iterations: u32) -> Self {
        Self {
            transcript: Arc::new(mended(transcript)),
            iterations: 0,
            max_iterations,
            finish: Finish::default(),
            early: Vec::new(),
            offered: Offered::default(),
        }
    }

    /// Goes on with the tools that the conversation has come to before.
    #[must_use]
    pub fn with_offered(mut self, offered: Offered) -> Self {
        self.offered = offered;
        self
    }

    /// The tools that the conversation has come to.
    pub fn offered(&self) -> &Offered {
        &self.offered
    }

    /// The tools of these full names were found for the model.
    pub fn pull_in(&mut self, names: impl IntoIterator<Item = String>) {
        self.offered.pull_in(names);
    }

    /// The order in which tools are offered: first those that were offered before, as they were,
    /// and behind them, sorted by name, those that are new. What a provider has cached of earlier
    /// turns stays valid.
    pub fn offer<'t>(&mut self, tools: Vec<&'t ToolDefinition>) -> Vec<&'t ToolDefinition> {
        self.offered.arrange(tools)
    }

    /// All that was said so far.
    pub fn transcript(&self) -> &[Message] {
        &self.transcript
    }

    /// The same, to keep: what is said later is not in it.
    pub fn shared_transcript(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.transcript)
    }

    /// All that was said, and the tools that the conversation has come to.
    pub fn into_parts(self) -> (Vec<Message>, Offered) {
        (Arc::unwrap_or_clone(self.transcript), self.offered)
    }

    /// All that was said, by value.
    pub fn into_transcript(self) -> Vec<Message> {
        Arc::unwrap_or_clone(self.transcript)
    }

    /// How often the model has been asked.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// What is to be done next; the same until the machine is told more.
    pub fn next(&self) -> Step {
        match self.transcript.last() {
            Some(message @ Message::Assistant { parts }) => {
                let is_open =
                    |call: &&ToolCall| !self.early.iter().any(|result| result.call == call.id);
                let calls: Vec<_> = message.calls().filter(is_open).cloned().collect();
                match self.finish {
                    _ if !calls.is_empty() => Step::Call(calls),
                    Finish::Length | Finish::Filtered => Step::Done(Outcome::Cut(self.finish)),
                    _ if is_silent(parts) => Step::Done(Outcome::Silent),
                    _ => Step::Done(Outcome::Answered),
                }
            }
            _ if self.iterations >= self.max_iterations => Step::Done(Outcome::MaxIterations),
            _ => Step::Ask,
        }
    }

    /// The model replied.
    ///
    /// A call whose id is empty or was used before gets another. Where the model may not be asked
    /// again, its calls are answered here and not run: nobody would read what came of them.
    ///
    /// # Errors
    /// It was not asked.
    pub fn on_reply(&mut self, reply: ChatReply) -> Result<(), OutOfTurn> {
        if self.next() != Step::Ask {
            return Err(OutOfTurn("the model was not asked"));
        }
        self.iterations += 1;
        self.finish = reply.finish;
        let parts = with_unique_ids(&self.transcript, reply.parts);
        self.say(Message::Assistant { parts });
        if self.iterations >= self.max_iterations
            && let Step::Call(calls) = self.next()
        {
            let text = "Not run: no more tools can be called in this run.";
            let code = ToolErrorKind::Cancelled.code();
            let unrun = calls.iter().map(|call| ToolResult::failure(call, code, text));
            let results = unrun.collect();
            self.say(Message::Tool { results });
        }
        Ok(())
    }

    /// The calls were run; one result for each, in their order.
    ///
    /// # Errors
    /// There were no calls to run, or the results are not theirs.
    pub fn on_results(&mut self, results: Vec<ToolResult>) -> Result<(), OutOfTurn> {
        let Step::Call(calls) = self.next() else {
            return Err(OutOfTurn("there were no calls to run"));
        };
        if !calls.iter().map(|call| &call.id).eq(results.iter().map(|result| &result.call)) {
            return Err(OutOfTurn("the results are not those of the calls, in their order"));
        }
        self.on_some_results(results)
    }

    /// Some of the calls were run; a result for each of those. What is left stays to be run.
    ///
    /// # Errors
    /// A result belongs to no call that is open; none of them is taken then.
    pub fn on_some_results(&mut self, results: Vec<ToolResult>) -> Result<(), OutOfTurn> {
        let Step::Call(mut open) = self.next() else {
            return Err(OutOfTurn("there were no calls to run"));
        };
        for result in &results {
            let Some(place) = open.iter().position(|call| call.id == result.call) else {
                return Err(OutOfTurn("a result is of no call that was to be run"));
            };
            open.remove(place);
        }
        self.early.extend(results);
        if open.is_empty() {
            let mut results = std::mem::take(&mut self.early);
            let said = self.transcript.last();
            let calls: Vec<_> =
                said.iter().flat_map(|said| said.calls()).map(|call| &call.id).collect();
            results.sort_by_key(|result| calls.iter().position(|id| **id == result.call));
            self.say(Message::Tool { results });
        }
        Ok(())
    }

    /// Without a copy, unless a tool has kept what was said.
    fn say(&mut self, message: Message) {
        Arc::make_mut(&mut self.transcript).push(message);
    }
}

/// A conversation is kept as itself, whoever shares it.
mod shared {
    use super::{Arc, Deserialize, Message, Serialize};

    pub(super) fn serialize<S: serde::Serializer>(
        messages: &Arc<Vec<Message>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        messages.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<Message>>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::new)
    }
}
