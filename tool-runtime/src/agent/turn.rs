//! The machine that decides what comes next in a run.
//!
//! It does nothing itself: it says what to do and is told what came of it. It reads no clock and
//! no randomness and can be serialised between any two steps; what it needs to know of the past is
//! the transcript.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::mend::{is_silent, mended, with_unique_ids};
use crate::message::{Message, ToolCall, ToolResult};
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
    transcript: Vec<Message>,
    iterations: u32,
    max_iterations: u32,
    /// How the last reply ended.
    #[serde(default)]
    finish: Finish,
    /// The full names of the tools that the model pulled in, in the order in which they came.
    #[serde(default)]
    pulled_in: Vec<String>,
    /// The full names of the tools that the model was offered, in the order in which they first were.
    #[serde(default)]
    offered: Vec<String>,
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
            transcript: mended(transcript),
            iterations: 0,
            max_iterations,
            finish: Finish::default(),
            pulled_in: Vec::new(),
            offered: Vec::new(),
        }
    }

    /// The full names of the tools that the model pulled in: those that are theirs whatever the model
    /// calls them by now.
    pub fn pulled_in(&self) -> &[String] {
        &self.pulled_in
    }

    /// The tools of these full names were found for the model.
    pub fn pull_in(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.pulled_in.contains(&name) {
                self.pulled_in.push(name);
            }
        }
    }

    /// The order in which tools are offered: first those that were offered before, as they were,
    /// and behind them, sorted by name, those that are new. What a provider has cached of earlier
    /// turns stays valid.
    pub fn offer<'t>(&mut self, mut tools: Vec<&'t ToolDefinition>) -> Vec<&'t ToolDefinition> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let places: HashMap<_, _> = self.offered.iter().map(String::as_str).zip(0..).collect();
        // New ones keep their order behind the others.
        tools.sort_by_key(|tool| places.get(tool.full_name()).copied().unwrap_or(usize::MAX));
        let new = tools.iter().filter(|tool| !places.contains_key(tool.full_name()));
        let new: Vec<_> = new.map(|tool| tool.full_name().to_owned()).collect();
        self.offered.extend(new);
        tools
    }

    /// All that was said so far.
    pub fn transcript(&self) -> &[Message] {
        &self.transcript
    }

    /// All that was said, by value.
    pub fn into_transcript(self) -> Vec<Message> {
        self.transcript
    }

    /// How often the model has been asked.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// What is to be done next; the same until the machine is told more.
    pub fn next(&self) -> Step {
        match self.transcript.last() {
            Some(message @ Message::Assistant { parts }) => {
                let calls: Vec<_> = message.calls().cloned().collect();
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
        self.transcript.push(Message::Assistant { parts });
        if self.iterations >= self.max_iterations
            && let Step::Call(calls) = self.next()
        {
            let text = "Not run: no more tools can be called in this run.";
            let code = ToolErrorKind::Cancelled.code();
            let unrun = calls.iter().map(|call| ToolResult::failure(call, code, text));
            self.transcript.push(Message::Tool { results: unrun.collect() });
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
        self.transcript.push(Message::Tool { results });
        Ok(())
    }
}
