//! The steps of a run: checks that it may continue, and does what the turn asks for.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CompletedStep, Run};
use crate::agent::deadline::RunDeadline;
use crate::agent::outcome::stop_reason::stop_reason;
use crate::agent::{Outcome, Step, StopReason, steering};
use crate::event::RunEvent;
use crate::guard::BoxFuture;
use crate::message::{ContentPart, Message, ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::span;

/// Returns the code of a failure. A run that was cancelled, for example because the program ends,
/// or whose store failed, was only interrupted.
pub(in crate::agent) fn failure_code(reason: &StopReason) -> Option<String> {
    let is_interruption = matches!(reason, StopReason::Cancelled | StopReason::Session(_));
    (!is_interruption).then(|| reason.code().to_owned())
}

impl Run {
    /// Runs the next step. Returns `None` if the model has answered, which need not be the end of
    /// the run.
    pub(in crate::agent) fn advance(
        &mut self,
    ) -> BoxFuture<'_, Result<Option<CompletedStep>, StopReason>> {
        Box::pin(async move {
            let is_first = self.started.is_none();
            if is_first {
                self.started = Some(Instant::now());
                self.state.is_end_emitted = false;
                self.state.failure = None;
                self.emit_started();
            }
            // The usage of the calls of a step that was dropped.
            self.state.turn.add_metered(self.meter.take());
            let span = self.events.span.span();
            let step = async {
                let started = if is_first { self.start() } else { Ok(()) };
                if is_first && started.is_ok() {
                    // Secrets in the arguments of earlier calls are known from now on.
                    self.record_start();
                }
                // Before the run that they belong to is replaced: if this process ends, the next
                // prompt abandons them again.
                self.stop_abandoned_calls().await;
                self.emit_added_messages();
                started?;
                // Save what was added or changed since the last step as well: the next step may
                // take long.
                if is_first || self.session.is_behind(&self.state) {
                    self.save().await?;
                }
                self.emit_abandoned();
                self.read_inbox().await;
                let step = self.step().await;
                self.record_active_time();
                // A paused run was saved as it paused. A run that finds its answer has nothing new
                // to save.
                if !matches!(step, Ok(None) | Err(StopReason::AwaitingApproval(_))) {
                    self.state.is_end_emitted = step.is_err();
                    self.state.failure = step.as_ref().err().and_then(failure_code);
                    self.save().await?;
                }
                self.dispatcher.release_ends(self.state.run);
                step
            };
            span::instrument(span, step, StopReason::error_type).await
        })
    }

    /// Checks that the run can start, and records results for calls that were interrupted before it
    /// was resumed.
    fn start(&mut self) -> Result<(), StopReason> {
        if let Some(session) = &self.state.session
            && !self.session.is_set()
        {
            return Err(StopReason::BelongsToSession(session.clone()));
        }
        let turn = &self.state.turn;
        let is_over = turn.has_no_input() || turn.next() == Step::Done(Outcome::Answered);
        if is_over && turn.iterations() == 0 && !self.is_steered() {
            return Err(StopReason::MissingUserMessage);
        }
        if let Err(error) = &self.agent.registry {
            return Err(error.clone().into());
        }
        let tools = self.dispatcher.registry().snapshot();
        let calls = self.state.turn.transcript().iter().flat_map(Message::calls);
        self.dispatcher.register_secrets(&tools, calls);
        // If a value is extracted, no tools were offered for open calls either.
        self.requests.offered = Some(self.callable_tools());
        // The end of calls that another process started was not emitted.
        let answered = self.answer_interrupted();
        self.emit_answered(&self.origin(), answered);
        Ok(())
    }

    /// Answers calls that were in flight when their process ended or their step was dropped, unless
    /// they can be made again.
    fn answer_interrupted(&mut self) -> Vec<(ToolCall, ToolResult)> {
        let Some(tools) = &self.requests.offered else { return Vec::new() };
        // If the tool was removed since, it is unknown whether the call may be repeated.
        self.state.turn.fail_interrupted(|call| tools.is_resumable(&call.name))
    }

    async fn step(&mut self) -> Result<Option<CompletedStep>, StopReason> {
        // A step that was dropped had the reply, and not yet the decision of the validators.
        if self.requests.held_back.is_some() {
            self.validate_answer().await?;
            return Ok(Some(CompletedStep::Replied));
        }
        // An answer that arrived in time counts, however long it took to save it.
        let has_answered = self.state.turn.next() == Step::Done(Outcome::Answered);
        if has_answered && !self.is_steered() {
            return Ok(None);
        }
        self.check_cancelled()?;
        // The end of calls of a dropped step was emitted when it was dropped.
        self.answer_interrupted();
        let next = self.state.turn.next();
        // Messages that keep arriving must not delay the request forever.
        let was_steered = std::mem::take(&mut self.requests.follows_steering);
        if matches!(next, Step::RequestModel | Step::Done(Outcome::Answered))
            && self.is_steered()
            && !was_steered
        {
            // Another run of the agent may have taken the messages by now.
            let messages = self.take_steering_messages();
            if !messages.is_empty() {
                self.requests.follows_steering = true;
                self.add_to_prompt(steering::user_parts(&messages))?;
                self.emit_added_as(messages.into_iter().map(RunEvent::from));
                return Ok(Some(CompletedStep::Steered));
            }
        }
        match next {
            Step::RequestModel => {
                let choice = self.request_reply().await?;
                if !self.ask_for_required_call(&choice)? {
                    self.validate_answer().await?;
                }
                Ok(Some(CompletedStep::Replied))
            }
            Step::RunCalls(calls) => Ok(Some(CompletedStep::Called(self.run_calls(calls).await?))),
            Step::Done(Outcome::Answered) => Ok(None),
            Step::Done(outcome) => Err(self.stop_reason(outcome)),
        }
    }

    /// Adds parts to the prompt of the next request, unless the run has ended.
    pub(in crate::agent) fn add_to_prompt(
        &mut self,
        parts: Vec<ContentPart>,
    ) -> Result<(), StopReason> {
        match self.turn().next() {
            Step::Done(Outcome::Answered) | Step::RequestModel | Step::RunCalls(_) => {}
            Step::Done(outcome) => return Err(self.stop_reason(outcome)),
        }
        self.collect_added_messages();
        // The parts may be added to the last message.
        self.session.rewrite_from(self.state.turn.transcript().len().saturating_sub(1));
        Ok(self.state.turn.add_user_parts(parts)?)
    }

    /// Fails if the run was cancelled or its time limit has passed.
    pub(super) fn check_cancelled(&self) -> Result<(), StopReason> {
        if self.agent.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(StopReason::Cancelled);
        }
        if let Some(lease) = self.session.lease() {
            lease.check()?;
        }
        match self.agent.run_timeout {
            Some(limit) if self.active_time() >= limit => Err(StopReason::Timeout(limit)),
            _ => Ok(()),
        }
    }

    /// Returns why the run stops with this outcome, with the secrets redacted.
    pub(in crate::agent) fn stop_reason(&self, outcome: Outcome) -> StopReason {
        let mut reason = stop_reason(&self.state.turn, outcome);
        if let StopReason::RepeatedCall { call, .. } = &mut reason {
            self.dispatcher.redact_call(call);
        }
        reason
    }

    /// Returns whether messages of the steering handle are due, and the model may be asked once
    /// more. If it may not, an answer stays the answer.
    pub(in crate::agent) fn is_steered(&self) -> bool {
        let has_answered = self.state.turn.next() == Step::Done(Outcome::Answered);
        let session = self.session.name();
        let is_due = self.agent.steering.as_ref().is_some_and(|steering| {
            steering.is_due(self.state.run, session.as_deref(), has_answered)
        });
        (is_due || !self.requests.inbox.is_empty()) && self.state.turn.can_request()
    }

    /// Takes the messages that were not delivered before. Their keys are saved with them.
    fn take_steering_messages(&mut self) -> Vec<steering::QueuedMessage> {
        let mut inbox = std::mem::take(&mut self.requests.inbox);
        let delivered = &mut self.state.delivered;
        inbox.retain(|message| delivered.inbox.insert(&message.key));
        let from_inbox = |message: steering::InboxMessage| {
            steering::QueuedMessage::from_inbox(message.key, message.text)
        };
        let mut messages: Vec<_> = inbox.into_iter().map(from_inbox).collect();
        if let Some(steering) = &self.agent.steering {
            let pushed = steering.drain(self.state.run, self.session.name().as_deref());
            let is_new = |message: &steering::QueuedMessage| {
                message.key.as_ref().is_none_or(|key| delivered.steering.insert(key))
            };
            messages.extend(pushed.into_iter().filter(is_new));
        }
        messages
    }

    /// Returns the token that stops the run.
    pub(super) fn cancellation(&self) -> Option<&CancellationToken> {
        let lease = self.session.lease().map(|lease| lease.stop());
        lease.or(self.agent.cancellation.as_ref())
    }

    pub(super) fn deadline(&self) -> RunDeadline {
        let limit = self.agent.run_timeout;
        let deadline = self.started.zip(limit).and_then(|(started, limit)| {
            started.checked_add(limit.saturating_sub(self.active_before))
        });
        let lease = self.session.lease().cloned();
        RunDeadline::new(lease, self.agent.cancellation.clone(), deadline.zip(limit))
    }

    /// Returns the tools that the model may call now: none if a value is extracted.
    pub(super) fn callable_tools(&self) -> Snapshot {
        match self.requests.output_schema {
            Some(_) => Snapshot::default(),
            None => self.dispatcher.registry().snapshot(),
        }
    }
}
