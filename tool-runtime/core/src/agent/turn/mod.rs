//! State machine of a run: decides the next step and records what each step produced.
//!
//! ```text
//! next ─▶ RequestModel    on_reply                          the reply joins the transcript
//!      ─▶ RunCalls        begin_calls, on_results           (calls.rs)
//!      ─▶ Done            the outcome
//! ```
//!
//! | file | part |
//! |---|---|
//! | `active_time.rs` | the time for which the run was in progress |
//! | `calls.rs` | open calls: which may have started, their results |
//! | `open_calls.rs` | index of the open calls |
//! | `edit.rs` | edited transcripts and transcripts from outside: normalization |
//! | `repeats.rs` | counter of repeated calls |
//! | `report_cursor.rs` | the messages that observers have not received yet |
//! | `message_ids.rs` | the ids of messages |
//! | `estimate.rs` | token estimate for providers that report no usage |
//! | `shared.rs` | serialization of the shared transcript |
//! | `step.rs` | steps, outcomes and stop requests |
//!
//! Invariants:
//!
//! - The machine performs no I/O. It reads no clock and no randomness.
//! - It can be serialized between any two steps. A deserialized machine continues identically.
//! - The transcript holds everything that the machine needs to know about the past, except for
//!   counters, limits and the state of open calls.
//! - An input that does not match the current step is refused and changes nothing.

mod active_time;
mod calls;
mod edit;
mod estimate;
mod message_ids;
mod open_calls;
mod repeats;
mod report_cursor;
mod shared;
pub(crate) mod step;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::calls::StartTime;
pub(super) use self::estimate::{estimate_partial_usage, estimate_usage};
use self::message_ids::MessageIds;
use self::open_calls::OpenCallIds;
use self::repeats::RepeatedCalls;
use self::report_cursor::ReportCursor;
use self::step::Halt;
pub use self::step::TransitionError;
pub(super) use self::step::{Outcome, Step, StopRequest};
use super::{Limits, OfferedTools};
use crate::event::micros;
use crate::message::{CallId, ContentPart, Message, ModelUsage, ToolCall, ToolResult, Usage};
use crate::models::history::{is_empty_reply, push_user, repaired, with_unique_ids};
use crate::models::{ChatReply, ChatRequest, FinishReason};
use crate::tool::{Allowance, MeteredUsage, ToolDefinition};

/// The conversation of a run, with its limits and its usage so far.
///
/// It is the state machine of the run and does no I/O: a [`Run`](super::Run) performs its steps and
/// reports their outcome. It can be serialized between any two steps.
///
/// ```
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// let mut run = Agent::new(model, Tools::new()).start("Hello");
/// while run.next().await.is_some() {}
/// assert_eq!(run.turn().iterations(), 1);
/// assert_eq!(run.turn().transcript().len(), 2);
/// # }
/// ```
// The inputs of the machine are hidden: a run makes them, and tests do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    #[serde(with = "shared")]
    transcript: Arc<Vec<Message>>,
    limits: Limits,
    iterations: u32,
    /// Requests that were repeated because their reply could not be parsed.
    #[serde(default, skip_serializing_if = "super::state::is_zero")]
    repeated_requests: u32,
    /// Whether the model has made the call that the tool choice requires.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_required_call: bool,
    /// Tokens and cost of all requests so far.
    metered: MeteredUsage,
    /// How the last reply ended.
    finish: FinishReason,
    repeated_calls: RepeatedCalls,
    /// The reason to end the run before the model answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halt: Option<Halt>,
    /// The open calls that may have started, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    started_calls: BTreeMap<CallId, StartTime>,
    /// The time for which the run was in progress, over all processes.
    #[serde(
        default,
        skip_serializing_if = "Duration::is_zero",
        rename = "active_us",
        with = "micros"
    )]
    active: Duration,
    /// The results of the last reply's calls while other calls of it are still open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    early_results: Vec<ToolResult>,
    #[serde(skip)]
    open_call_ids: OpenCallIds,
    /// The tools that the conversation has been offered.
    offered_tools: OfferedTools,
    /// The run that gives new messages their ids, and the number of ids that it has given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_ids: Option<MessageIds>,
    /// The part of the transcript that observers have received.
    reported: ReportCursor,
    /// The progress of a structured-output run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extraction: Option<ExtractionPhase>,
}

/// Progress of a run that ends with a structured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExtractionPhase {
    /// The model answers in words first; the value is requested afterwards.
    Deferred,
    /// The model has been asked for the value.
    Active,
}

impl Turn {
    /// Creates a run that continues from `transcript` and sends at most `max_iterations` model
    /// requests. The transcript is normalized like the [conversation](super::Prompt#conversations)
    /// of a prompt.
    #[doc(hidden)]
    pub fn new(transcript: Vec<Message>, max_iterations: u32) -> Self {
        Self {
            transcript: Arc::new(repaired(transcript)),
            limits: Limits::default().max_iterations(max_iterations),
            iterations: 0,
            repeated_requests: 0,
            has_required_call: false,
            metered: MeteredUsage::default(),
            finish: FinishReason::default(),
            repeated_calls: RepeatedCalls::default(),
            halt: None,
            started_calls: BTreeMap::new(),
            active: Duration::ZERO,
            early_results: Vec::new(),
            open_call_ids: OpenCallIds::default(),
            offered_tools: OfferedTools::default(),
            message_ids: None,
            reported: ReportCursor::default(),
            extraction: None,
        }
    }

    /// Returns the progress of a structured-output run, or `None` for an ordinary run.
    pub(super) fn extraction_phase(&self) -> Option<ExtractionPhase> {
        self.extraction
    }

    /// Sets the progress of a structured-output run.
    pub(super) fn set_extraction_phase(&mut self, phase: Option<ExtractionPhase>) {
        self.extraction = phase;
    }

    /// Replaces the limits of this run.
    #[doc(hidden)]
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits.clamp_finite();
        self
    }

    /// Returns the limits of this run.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes the limits of this run in place.
    pub fn edit_limits(&mut self, change: impl FnOnce(&mut Limits)) {
        let mut limits = self.limits.clone();
        change(&mut limits);
        self.limits = limits.clamp_finite();
    }

    /// Returns the tokens that the run has used, including those that its tools spent on models.
    pub fn usage(&self) -> Usage {
        self.metered.usage()
    }

    /// Returns the token usage of the run by model: the agent's own, that of the agents nested in
    /// the run, and that of tools that name their model. The sum is the [usage](Self::usage).
    pub fn usage_by_model(&self) -> Vec<ModelUsage> {
        self.limits.by_model(&self.metered)
    }

    /// Returns the cost of the run so far, or `None` if its [limits](Limits::max_cost) hold no
    /// prices.
    pub fn cost(&self) -> Option<f64> {
        self.limits.cost_of(&self.metered)
    }

    /// Adds tokens that were spent outside of model requests, such as by a tool that calls a model.
    pub fn add_usage(&mut self, usage: Usage) {
        self.add_metered(usage.into());
    }

    /// Adds tokens of which a part may have a known cost.
    pub(super) fn add_metered(&mut self, metered: MeteredUsage) {
        self.metered += metered;
    }

    /// Returns the tokens and the known cost of the run so far.
    pub(super) fn metered(&self) -> MeteredUsage {
        self.metered.clone()
    }

    /// Returns what calls may take beside the usage so far.
    pub(super) fn allowance(&self) -> Allowance {
        self.limits.allowance(&self.metered)
    }

    /// Returns the call that exceeds the [repeat limit](Limits::max_repeats) and its count in a
    /// row.
    pub fn repeated_call(&self) -> Option<(&ToolCall, u32)> {
        let limit = self.limits.max_repeats?;
        let mut replies = self.transcript.iter().rev();
        let reply = replies.find(|message| matches!(message, Message::Assistant { .. }))?;
        let mut calls = reply.calls().map(|call| (call, self.repeated_calls.count(&call.id)));
        calls.find(|(_, count)| *count > limit)
    }

    /// Returns the stop request that ended the run, if there was one.
    pub(super) fn stop_request(&self) -> Option<&StopRequest> {
        match &self.halt {
            Some(Halt::StopRequested(request)) => Some(request),
            _ => None,
        }
    }

    /// Continues with the tools that an earlier run of the conversation was offered.
    #[doc(hidden)]
    #[must_use]
    pub fn with_offered_tools(mut self, offered: OfferedTools) -> Self {
        self.offered_tools = offered;
        self
    }

    /// Returns the tools that the conversation has been offered so far.
    pub fn offered_tools(&self) -> &OfferedTools {
        &self.offered_tools
    }

    /// Records the tools that a search discovered, so that they are offered from now on.
    ///
    /// The names are [full names](crate::ToolDefinition::full_name).
    pub fn add_discovered_tools(&mut self, names: impl IntoIterator<Item = String>) {
        self.offered_tools.add_discovered(names);
    }

    /// Records the tools that are offered with the next request and returns them in request order.
    ///
    /// Tools that were offered before come first, in their earlier order. New tools follow, sorted
    /// by name. So the beginning of the list stays stable and provider caches stay valid.
    #[doc(hidden)]
    pub fn offer_tools<'t>(&mut self, tools: Vec<&'t ToolDefinition>) -> Vec<&'t ToolDefinition> {
        self.offered_tools.arrange(tools)
    }

    /// Returns all messages so far.
    pub fn transcript(&self) -> &[Message] {
        &self.transcript
    }

    /// Returns a shared snapshot of the transcript, which later messages do not change.
    pub fn shared_transcript(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.transcript)
    }

    /// Counts the messages at the start that are equal to `messages`.
    pub(super) fn common_prefix_len(&self, messages: &[Message]) -> usize {
        self.transcript.iter().zip(messages).take_while(|(left, right)| left == right).count()
    }

    /// Splits the run into its transcript and the tools that the conversation was offered.
    #[doc(hidden)]
    pub fn into_parts(self) -> (Vec<Message>, OfferedTools) {
        (Arc::unwrap_or_clone(self.transcript), self.offered_tools)
    }

    /// Converts the run into its transcript, with the results of the last calls that have one.
    pub(super) fn into_messages(mut self) -> Vec<Message> {
        let results = std::mem::take(&mut self.early_results);
        let mut messages = self.into_transcript();
        if !results.is_empty() {
            messages.push(Message::Tool { results });
        }
        messages
    }

    /// Converts the run into its transcript.
    #[doc(hidden)]
    pub fn into_transcript(self) -> Vec<Message> {
        Arc::unwrap_or_clone(self.transcript)
    }

    /// Returns the number of replies so far.
    ///
    /// A request that was repeated because its reply could not be parsed counts once here, and each
    /// time towards [`Limits::max_iterations`].
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Returns the number of model requests so far, including repeated ones.
    pub(super) fn requests(&self) -> u32 {
        self.iterations.saturating_add(self.repeated_requests)
    }

    /// Counts requests that were repeated because their reply could not be parsed.
    pub(super) fn add_repeated_requests(&mut self, count: u32) {
        self.repeated_requests = self.repeated_requests.saturating_add(count);
    }

    /// Whether the model has made the call that the tool choice requires.
    pub(super) fn has_required_call(&self) -> bool {
        self.has_required_call
    }

    /// Records that the model has made the required call. From now on, none is required.
    pub(super) fn record_required_call(&mut self) {
        self.has_required_call = true;
    }

    /// Returns the next step of the run.
    ///
    /// The step stays the same until an outcome is reported or the run is changed.
    #[doc(hidden)]
    pub fn next(&self) -> Step {
        match self.transcript.last() {
            Some(message @ Message::Assistant { parts, .. }) => {
                let answered: HashSet<_> = self.early_results.iter().map(|it| &it.call).collect();
                let is_open = |call: &&ToolCall| !answered.contains(&call.id);
                let calls: Vec<_> = message.calls().filter(is_open).cloned().collect();
                match self.finish {
                    _ if !calls.is_empty() => Step::RunCalls(calls),
                    // A halt that arrives after the answer does not replace it.
                    FinishReason::Length | FinishReason::ContentFilter | FinishReason::Paused => {
                        Step::Done(Outcome::TruncatedReply(self.finish))
                    }
                    _ if is_empty_reply(parts) => Step::Done(Outcome::EmptyReply),
                    _ => Step::Done(Outcome::Answered),
                }
            }
            _ => self.request_step(),
        }
    }

    /// Decides between a model request and the end of the run.
    fn request_step(&self) -> Step {
        match &self.halt {
            Some(Halt::BudgetExhausted) => Step::Done(Outcome::BudgetExhausted),
            Some(Halt::RepeatedCall) => Step::Done(Outcome::RepeatedCall),
            Some(Halt::StopRequested(_)) => Step::Done(Outcome::StopRequested),
            None if self.requests() >= self.limits.max_iterations => {
                Step::Done(Outcome::IterationLimit)
            }
            None if self.limits.is_exhausted(&self.metered) => Step::Done(Outcome::BudgetExhausted),
            None => Step::RequestModel,
        }
    }

    /// Whether limits and halts allow another model request.
    pub(super) fn can_request(&self) -> bool {
        self.request_step() == Step::RequestModel
    }

    /// Whether the transcript holds nothing but system messages.
    pub(super) fn has_no_input(&self) -> bool {
        self.transcript.iter().all(|message| matches!(message, Message::System { .. }))
    }

    /// Records the reply to a model request.
    ///
    /// A call whose id is empty or already used gets a new id. If no further model request is
    /// allowed, the calls of the reply are answered here and do not run, because the model could
    /// not read their results. So are the calls beyond the
    /// [limit of calls in a reply](Limits::max_calls_per_reply).
    ///
    /// # Errors
    /// Returns an error if the next step is not [`Step::RequestModel`].
    #[doc(hidden)]
    pub fn on_reply(&mut self, reply: ChatReply) -> Result<(), TransitionError> {
        let usage = match reply.usage {
            None if self.limits.has_budget() => {
                estimate_usage(ChatRequest::new(&self.transcript), &reply.parts)
            }
            reported => reported.unwrap_or_default(),
        };
        self.on_reply_with_usage(reply, usage.into())
    }

    /// Records a reply with the given usage instead of the usage in the reply.
    ///
    /// The two differ if the request held a part of the transcript only, or if it was retried.
    pub(super) fn on_reply_with_usage(
        &mut self,
        reply: ChatReply,
        usage: MeteredUsage,
    ) -> Result<(), TransitionError> {
        if self.next() != Step::RequestModel {
            return Err(TransitionError::new("no model request is pending"));
        }
        let id = self.next_reply_id();
        self.iterations += 1;
        self.finish = reply.finish_reason;
        self.add_metered(usage);
        let parts = with_unique_ids(&self.transcript, reply.parts);
        self.push_message(Message::Assistant { id, parts });
        let reply = self.transcript.last();
        let limit = self.limits.max_calls_per_reply.map_or(usize::MAX, |limit| limit as usize);
        self.repeated_calls.record(reply.iter().flat_map(|reply| reply.calls()).take(limit));
        self.cancel_excess_calls(limit);
        if matches!(self.next(), Step::RunCalls(_)) {
            if self.requests() >= self.limits.max_iterations {
                self.cancel_open_calls("Not run: no more tools can be called in this run.");
            } else if self.limits.is_exhausted(&self.metered) {
                self.halt_with(
                    Halt::BudgetExhausted,
                    "Not run: this run has reached its limit of tokens or cost.",
                );
            } else if self.limits.max_repeats.is_some_and(|limit| self.repeated_calls.exceed(limit))
            {
                let text = "Not run: this was called with these arguments too often in a row.";
                self.halt_with(Halt::RepeatedCall, text);
            }
        }
        Ok(())
    }

    /// Adds user content for the next model request, also after the model has answered.
    ///
    /// If the last message is a user message, the parts are appended to it.
    ///
    /// # Errors
    /// Returns an error if calls are open, or if the run ended without an answer.
    pub fn add_user_parts(&mut self, parts: Vec<ContentPart>) -> Result<(), TransitionError> {
        if !matches!(self.next(), Step::RequestModel | Step::Done(Outcome::Answered)) {
            let reason = "calls are open or the run ended without an answer";
            return Err(TransitionError::new(reason));
        }
        self.reset_open_calls();
        push_user(Arc::make_mut(&mut self.transcript), None, parts);
        self.identify_last();
        Ok(())
    }

    /// Returns whether both runs are at the same step, whatever part of the conversation before it
    /// they have loaded.
    pub(super) fn is_at_step_of(&self, other: &Self) -> bool {
        let without_indices = |turn: &Self| Self {
            reported: ReportCursor::default(),
            active: Duration::ZERO,
            ..turn.without_transcript()
        };
        self.transcript.last() == other.transcript.last()
            && without_indices(self) == without_indices(other)
    }

    /// Returns a copy without the transcript, for stores that keep messages separately.
    pub(super) fn without_transcript(&self) -> Self {
        // Cloning copies no message: the transcript is shared.
        let mut turn = Self { transcript: Arc::default(), ..self.clone() };
        turn.reset_open_calls();
        turn
    }

    /// Restores the transcript that a store kept separately.
    pub(super) fn with_transcript(mut self, transcript: Vec<Message>) -> Self {
        self.transcript = Arc::new(transcript);
        self.reset_open_calls();
        self
    }

    /// Appends a message; copies the transcript only if a tool holds a snapshot of it.
    fn push_message(&mut self, message: Message) {
        self.reset_open_calls();
        Arc::make_mut(&mut self.transcript).push(message);
        self.identify_last();
    }
}
