//! Requests a reply from the model and records it in the turn.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use tokio::time::Instant;

use super::Run;
use super::redacted_deltas::RedactedDeltas;
use super::required_call::{is_allowed, refusal};
use crate::agent::StopReason;
use crate::agent::request::budget::RequestBudget;
use crate::agent::request::exchange::{BoxedDeltaSink, ModelExchange, prepare_request};
use crate::agent::request::selection::{request_options, select_tools};
use crate::agent::state::RunState;
use crate::agent::steering::RunInProgress;
use crate::event::{ModelEvent, ToolEvent, micros};
use crate::guard::{drop_guarded, error_text};
use crate::message::{ToolCall, Usage};
use crate::models::{ChatRequest, ToolChoice};
use crate::registry::Snapshot;
use crate::schema::Schema;
use crate::span;
use crate::tool::{RunContext, ToolErrorKind, UsageMeter};

/// State that the requests of a run share.
#[derive(Default)]
pub(in crate::agent) struct RequestState {
    /// Receives the deltas of replies.
    pub(super) deltas: Option<BoxedDeltaSink<'static>>,
    /// The schema that the answer has to fit. If it is set, no tools are offered.
    pub(in crate::agent) output_schema: Option<Schema>,
    /// The tools of the last request, in which its calls are looked up.
    pub(super) offered: Option<Snapshot>,
    /// Whether the last step delivered messages, so that the next one requests a reply.
    pub(super) follows_steering: bool,
    /// Keeps the messages for this run in the queue of the agent.
    pub(super) _in_progress: Option<RunInProgress>,
}

impl Run {
    /// Selects the tools, fits the window, requests a reply and takes it into the transcript.
    ///
    /// Returns the tool choice with which the reply was requested.
    pub(super) async fn request_reply(&mut self) -> Result<ToolChoice, StopReason> {
        let tools = self.callable_tools();
        self.dispatcher.register_secrets(&tools, iter::empty());
        let config = Arc::clone(&self.agent);
        let agent = config.as_ref();
        let deadline = self.deadline();
        let dispatcher = &self.dispatcher;
        let offered =
            deadline.wait(select_tools(agent, &mut self.state.turn, dispatcher, &tools)).await?;

        let run_info = self.run_info();
        let RunState { turn, window: window_state, prompt_index, .. } = &mut self.state;
        let origin = self.events.origin(turn.iterations() + 1);
        dispatcher.report_unmatched_rules(&origin, &tools);
        dispatcher.emit(&origin, || ModelEvent::Requested);
        let started = Instant::now();
        let options = request_options(agent, turn, self.requests.output_schema.as_ref());
        let emit = |event: ModelEvent| dispatcher.emit(&origin, || event);
        let messages = match &agent.window {
            None => Cow::Borrowed(turn.transcript()),
            Some(window) => {
                let (messages, summary_error) = deadline
                    .wait(window.fit(turn.transcript(), *prompt_index, window_state))
                    .await?;
                if let Some(failed) = summary_error {
                    emit(ModelEvent::SummaryFailed { reason: error_text(&*failed) });
                    drop_guarded(failed);
                }
                messages
            }
        };
        let request = ChatRequest::new(&messages).tools(&offered);
        let estimated = agent.window.as_ref().map(|window| window.estimate(&request));
        let request = prepare_request(request, options);
        let sink = self.requests.deltas.as_mut();
        let mut redacted =
            sink.map(|sink| RedactedDeltas::new(dispatcher.redactor(), sink.as_mut()));
        let mut redacting = redacted.as_mut().map(RedactedDeltas::sink);
        let mut metered = MeteredBudget {
            budget: RequestBudget::new(turn),
            meter: &self.meter,
            is_recorded: false,
        };
        let context = RunContext::new(&origin, Some(&run_info))
            .with_transcript(turn.transcript())
            .with_extensions(dispatcher.registered_extensions(), dispatcher.registered_extensions())
            .with_emitter(&emit);
        let budget = &mut metered.budget;
        let deltas = redacting.as_mut();
        let is_call_due = !turn.has_required_call();
        let emit = &emit;
        let exchange = ModelExchange { agent, context, request, deltas, emit, budget, is_call_due };
        let reply = async { deadline.wait(Box::pin(exchange.reply())).await? };
        let (reply, choice) =
            match span::instrument(span::chat(), reply, StopReason::error_type).await {
                Ok(reply) => reply,
                Err(reason) => {
                    let replies = metered.budget.replies();
                    drop((messages, metered));
                    self.state.turn.add_metered(self.meter.take());
                    self.state.turn.add_repeated_requests(replies);
                    return Err(reason);
                }
            };
        let duration = micros::truncate(started.elapsed());
        drop(redacting);
        if let Some(redacted) = redacted {
            redacted.finish();
        }
        // This run may hold the last handle to tools that were removed meanwhile, whose destructors
        // are foreign code.
        drop_guarded(self.requests.offered.replace(tools));

        if let (Some(estimated), Some(usage)) = (estimated, metered.budget.first_usage()) {
            window_state.calibrate(estimated, usage.input_tokens);
        }
        drop(messages);
        let turn = &mut self.state.turn;
        let (before, usage) = (turn.transcript().len(), reply.usage);
        turn.add_repeated_requests(metered.budget.replies().saturating_sub(1));
        let mut total = metered.into_estimate();
        total += usage.unwrap_or_default();
        turn.on_reply_with_usage(reply, total)?;
        if let (Some(tools), Some(text)) = (&self.requests.offered, refusal(&choice)) {
            let is_refused = |call: &ToolCall| !is_allowed(&choice, tools, call);
            turn.fail_calls(ToolErrorKind::Denied, &text, is_refused);
        }
        // Emitted from the transcript: there, calls have the ids under which they run.
        let Some(reply) = turn.transcript().get(before) else { return Ok(choice) };
        dispatcher.emit(&origin, || {
            let calls = reply.calls().cloned().collect();
            let (text, reasoning) = (reply.text(), reply.reasoning());
            ModelEvent::Replied { text, reasoning, calls, usage, duration }
        });
        // The turn records results for calls that may not run.
        for (call, result) in turn.answered_calls() {
            let execution = || dispatcher.skipped_execution(call.clone(), result.clone());
            dispatcher.emit(&origin, || ToolEvent::Finished(execution()));
        }
        Ok(choice)
    }
}

/// The budget of one exchange. Unless a reply reports its usage, dropping it adds the usage to the
/// run's meter: replies that can't be parsed, or whose exchange is cancelled, count as well.
struct MeteredBudget<'r> {
    budget: RequestBudget,
    meter: &'r UsageMeter,
    is_recorded: bool,
}

impl MeteredBudget<'_> {
    /// Marks the usage as recorded by the reply. Returns the estimate for requests whose usage is
    /// unknown.
    fn into_estimate(mut self) -> Usage {
        self.is_recorded = true;
        self.budget.estimated_usage()
    }
}

impl Drop for MeteredBudget<'_> {
    fn drop(&mut self) {
        if !self.is_recorded {
            self.meter.add(self.budget.total_usage());
        }
    }
}
