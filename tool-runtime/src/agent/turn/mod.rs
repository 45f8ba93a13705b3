//! The machine that decides what comes next in a run.
//!
//! It does nothing itself: it says what to do and is told what came of it. It reads no clock and
//! no randomness and can be serialised between any two steps; what it needs to know of the past is
//! the transcript.

mod calls;
mod guess;
mod mend;
mod repeats;
mod shared;
mod untold;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(super) use self::guess::guessed;
use self::repeats::Repeats;
use self::untold::Told;
use super::{Limits, OfferedTools};
use crate::message::{CallId, Message, ToolCall, ToolResult, Usage, UserPart};
use crate::models::history::{is_silent, mended, say, with_unique_ids};
use crate::models::{ChatReply, ChatRequest, Finish};
use crate::tool::{Bill, ToolDefinition};

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
    limits: Limits,
    iterations: u32,
    /// What all requests took.
    #[serde(default)]
    bill: Bill,
    /// How the last reply ended.
    #[serde(default)]
    finish: Finish,
    #[serde(default)]
    repeats: Repeats,
    /// What ends the run though the model would go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halt: Option<Halt>,
    /// The open calls that may have begun to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    begun: Vec<CallId>,
    /// The results that came before those of the calls beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    early: Vec<ToolResult>,
    /// The tools that the conversation has come to.
    #[serde(default)]
    offered: OfferedTools,
    /// What those who watch know of it.
    #[serde(default)]
    told: Told,
    /// How far it is, where it is to end with a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

/// How far a run is that is to end with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Value {
    /// The model answers in words first.
    Later,
    /// It is asked for the value.
    Now,
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

/// What ends a run though the model would go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Halt {
    Spent,
    Repeated,
    Requested(StopRequest),
}

/// Somebody's wish that the run end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StopRequest {
    /// The tool that asked for it; none where it was the program.
    pub tool: Option<String>,
    /// Why.
    pub reason: String,
}

impl StopRequest {
    /// The wish of a tool, or of the program.
    pub fn new(tool: Option<String>, reason: impl Into<String>) -> Self {
        Self { tool, reason: reason.into() }
    }
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
    /// The tokens or the money that it may take are spent.
    Spent,
    /// The model made the same call again and again, though it was told.
    Repeated,
    /// A tool or the program asked for it: see [`Turn::requested`].
    Requested,
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
            limits: Limits::default().iterations(max_iterations),
            iterations: 0,
            bill: Bill::default(),
            finish: Finish::default(),
            repeats: Repeats::default(),
            halt: None,
            begun: Vec::new(),
            early: Vec::new(),
            offered: OfferedTools::default(),
            told: Told::default(),
            value: None,
        }
    }

    /// How far it is, where it is to end with a value.
    pub(super) fn value(&self) -> Option<Value> {
        self.value
    }

    /// It is as far with its value as that.
    pub(super) fn set_value(&mut self, value: Option<Value>) {
        self.value = value;
    }

    /// Lets it go so far instead.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits.finite();
        self
    }

    /// How far it may go.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes how far it may go.
    pub fn limit(&mut self, change: impl FnOnce(&mut Limits)) {
        let mut limits = self.limits.clone();
        change(&mut limits);
        self.limits = limits.finite();
    }

    /// What all requests of the run took together, what its tools spent on models included.
    pub fn usage(&self) -> Usage {
        self.bill.usage
    }

    /// What that cost, where the [limits](Limits::cost) know prices.
    pub fn cost(&self) -> Option<f64> {
        self.limits.cost_of(&self.bill)
    }

    /// Tokens were spent otherwise, such as by a tool that asks a model.
    pub fn spend(&mut self, usage: Usage) {
        self.pay(usage.into());
    }

    /// The same, where what some of them cost is known.
    pub(super) fn pay(&mut self, bill: Bill) {
        self.bill += bill;
    }

    pub(super) fn bill(&self) -> Bill {
        self.bill
    }

    /// The call that the model made too often in a row, and how often.
    pub fn repeated(&self) -> Option<(&ToolCall, u32)> {
        let most = self.limits.repeats?;
        let mut said = self.transcript.iter().rev();
        let said = said.find(|message| matches!(message, Message::Assistant { .. }))?;
        let mut calls = said.calls().map(|call| (call, self.repeats.times(&call.id)));
        calls.find(|(_, times)| *times > most)
    }

    /// Who wanted the run to end.
    pub fn requested(&self) -> Option<&StopRequest> {
        match &self.halt {
            Some(Halt::Requested(request)) => Some(request),
            _ => None,
        }
    }

    /// Goes on with the tools that the conversation has come to before.
    #[must_use]
    pub fn with_offered(mut self, offered: OfferedTools) -> Self {
        self.offered = offered;
        self
    }

    /// The tools that the conversation has come to.
    pub fn offered(&self) -> &OfferedTools {
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

    /// How many messages from the first on are the same as these.
    pub(super) fn same_as(&self, messages: &[Message]) -> usize {
        self.transcript.iter().zip(messages).take_while(|(is, was)| is == was).count()
    }

    /// All that was said, and the tools that the conversation has come to.
    pub fn into_parts(self) -> (Vec<Message>, OfferedTools) {
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
                    // A wish to stop comes too late for what was said already.
                    Finish::Length | Finish::Filtered => Step::Done(Outcome::Cut(self.finish)),
                    _ if is_silent(parts) => Step::Done(Outcome::Silent),
                    _ => Step::Done(Outcome::Answered),
                }
            }
            _ => self.ask(),
        }
    }

    /// What is to be done where it is the model's turn.
    fn ask(&self) -> Step {
        match &self.halt {
            Some(Halt::Spent) => Step::Done(Outcome::Spent),
            Some(Halt::Repeated) => Step::Done(Outcome::Repeated),
            Some(Halt::Requested(_)) => Step::Done(Outcome::Requested),
            None if self.iterations >= self.limits.iterations => Step::Done(Outcome::MaxIterations),
            None if self.limits.is_spent(&self.bill) => Step::Done(Outcome::Spent),
            None => Step::Ask,
        }
    }

    /// Whether the model may be asked once more, where something is said to it.
    pub(super) fn may_ask(&self) -> bool {
        self.ask() == Step::Ask
    }

    /// Whether nobody has said anything: orders alone ask for nothing.
    pub(super) fn is_silent(&self) -> bool {
        self.transcript.iter().all(|said| matches!(said, Message::System { .. }))
    }

    /// The model replied.
    ///
    /// A call whose id is empty or was used before gets another. Where the model may not be asked
    /// again, its calls are answered here and not run: nobody would read what came of them.
    ///
    /// # Errors
    /// It was not asked.
    pub fn on_reply(&mut self, reply: ChatReply) -> Result<(), OutOfTurn> {
        let took = match reply.usage {
            None if self.limits.has_budget() => {
                guessed(ChatRequest::new(&self.transcript), &reply.parts)
            }
            counted => counted.unwrap_or_default(),
        };
        self.on_reply_that_took(reply, took)
    }

    /// The same, where it is known what that took: the model may have been shown a part of what was said, or have been
    /// asked again.
    pub(super) fn on_reply_that_took(
        &mut self,
        reply: ChatReply,
        took: Usage,
    ) -> Result<(), OutOfTurn> {
        if self.next() != Step::Ask {
            return Err(OutOfTurn("the model was not asked"));
        }
        self.iterations += 1;
        self.finish = reply.finish;
        self.spend(took);
        let parts = with_unique_ids(&self.transcript, reply.parts);
        self.say(Message::Assistant { parts });
        let said = self.transcript.last();
        self.repeats.note(said.iter().flat_map(|said| said.calls()));
        if matches!(self.next(), Step::Call(_)) {
            if self.iterations >= self.limits.iterations {
                self.answer_open("Not run: no more tools can be called in this run.");
            } else if self.limits.is_spent(&self.bill) {
                self.halt_with(Halt::Spent, "Not run: what this run may take is spent.");
            } else if self.limits.repeats.is_some_and(|most| self.repeats.beyond(most)) {
                let text = "Not run: this was called with these arguments too often in a row.";
                self.halt_with(Halt::Repeated, text);
            }
        }
        Ok(())
    }

    /// More is said to the model before it is asked again; also where it has answered. Where the user has just
    /// spoken, it is a part of that message.
    ///
    /// # Errors
    /// There are calls to run, or the run is over otherwise.
    pub fn add(&mut self, parts: Vec<UserPart>) -> Result<(), OutOfTurn> {
        if !matches!(self.next(), Step::Ask | Step::Done(Outcome::Answered)) {
            return Err(OutOfTurn("nothing can be added here"));
        }
        say(Arc::make_mut(&mut self.transcript), parts);
        Ok(())
    }

    /// Without what was said: for a store that keeps that apart.
    pub(super) fn without_transcript(&self) -> Self {
        // The conversation is shared, not copied.
        Self { transcript: Arc::default(), ..self.clone() }
    }

    /// With what was said, as it was kept apart.
    pub(super) fn with_transcript(mut self, transcript: Vec<Message>) -> Self {
        self.transcript = Arc::new(transcript);
        self
    }

    /// Without a copy, unless a tool has kept what was said.
    fn say(&mut self, message: Message) {
        Arc::make_mut(&mut self.transcript).push(message);
    }
}
