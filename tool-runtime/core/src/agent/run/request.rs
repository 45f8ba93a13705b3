//! Requests a reply from the model and records it in the turn.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use tokio::time::Instant;

use super::Run;
use super::reply_deltas::{HeldBackReply, HoldsBack, ReplyDeltas, awaits_validation};
use super::required_call::{is_allowed, refusal};
use crate::agent::StopReason;
use crate::agent::request::budget::{RequestBudget, used_model};
use crate::agent::request::exchange::{ModelExchange, ReplySink, prepare_request};
use crate::agent::request::selection::{request_options, select_tools};
use crate::agent::spans::RequestSpan;
use crate::agent::state::RunState;
use crate::agent::steering::{InboxMessage, RunInProgress};
use crate::event::{Attachment, ModelEvent, ToolEvent, micros};
use crate::guard::{catch_panic, drop_guarded, error_text};
use crate::message::{ToolCall, Usage, UsedModel};
use crate::models::{ChatModel, ChatRequest, ModelInfo, ToolChoice};
use crate::registry::Snapshot;
use crate::schema::Schema;
use crate::span;
use crate::tool::{MeteredUsage, RunContext, ToolErrorKind, UsageMeter};

/// State that the requests of a run share.
#[derive(Default)]
pub(in crate::agent) struct RequestState {
    /// The last reply, if its pieces were not passed on.
    pub(super) held_back: Option<HeldBackReply>,
    /// The schema that the answer has to fit. If it is set, no tools are offered.
    pub(in crate::agent) output_schema: Option<Schema>,
    /// The tools of the last request, in which its calls are looked up.
    pub(super) offered: Option<Snapshot>,
    /// Whether the last step delivered messages, so that the next one requests a reply.
    pub(super) follows_steering: bool,
    /// The messages from the store that the next step delivers.
    pub(super) inbox: Vec<InboxMessage>,
    /// Whether the inbox could not be read the last time.
    pub(super) has_inbox_failed: bool,
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
        let message = turn.next_reply_id();
        dispatcher.emit(&origin, || ModelEvent::Requested { message });
        let started = Instant::now();
        let options = request_options(agent, turn, self.requests.output_schema.as_ref());
        let emit = |event: ModelEvent| dispatcher.emit(&origin, || event);
        let emit_failed = |reason: &StopReason, text: String, usage: Option<Usage>| {
            emit(failed_event(reason, agent.model.as_ref(), text, usage, started));
        };
        let messages = match &agent.window {
            None => Cow::Borrowed(turn.transcript()),
            Some(window) => {
                let fitted = window.fit(turn.transcript(), *prompt_index, window_state);
                let (messages, summary_error) = match deadline.wait(fitted).await {
                    Ok(fitted) => fitted,
                    Err(reason) => {
                        emit_failed(&reason, String::new(), None);
                        return Err(reason);
                    }
                };
                if let Some(failed) = summary_error {
                    emit(ModelEvent::SummaryFailed { reason: error_text(&*failed) });
                    drop_guarded(failed);
                }
                messages
            }
        };
        let request = ChatRequest::new(&messages).tools(&offered);
        let estimated = agent.window.as_ref().map(|window| window.estimate(&request));
        let prepared = prepare_request(request, options);
        let holds_back = agent.holds_back_replies();
        let streams = dispatcher.receives_deltas();
        let mut streamed = ReplyDeltas::new(dispatcher, &origin);
        let mut held_back = HoldsBack;
        let sink: Option<&mut dyn ReplySink> = match (streams, holds_back) {
            (false, _) => None,
            (true, true) => Some(&mut held_back),
            (true, false) => Some(&mut streamed),
        };
        let mut metered = MeteredBudget {
            budget: RequestBudget::new(turn),
            meter: &self.meter,
            is_recorded: false,
        };
        let context = RunContext::new(&origin, Some(&run_info))
            .with_transcript(turn.transcript())
            .with_extensions(dispatcher.registered_extensions(), dispatcher.registered_extensions())
            .with_emitter(&emit);
        let span = RequestSpan::new(dispatcher, agent.model.as_ref(), run_info.session.as_deref());
        let exchange = ModelExchange {
            agent,
            context,
            request: prepared,
            deltas: sink,
            holds_back,
            transcript: turn.transcript(),
            emit: &emit,
            budget: &mut metered.budget,
            is_call_due: !turn.has_required_call(),
            span: &span,
        };
        let reply = async { deadline.wait(Box::pin(exchange.reply())).await? };
        let (reply, choice) =
            match span::instrument(span.span(), reply, StopReason::error_type).await {
                Ok(reply) => reply,
                Err(reason) => {
                    span.record_failure(&reason, metered.budget.first_delta());
                    let model = agent.model.as_ref();
                    let usage = metered.budget.record_failed(model, request);
                    emit_failed(&reason, streamed.finish(), usage);
                    let replies = metered.budget.replies();
                    drop((messages, metered));
                    self.state.turn.add_metered(self.meter.take());
                    self.state.turn.add_repeated_requests(replies);
                    return Err(reason);
                }
            };
        let duration = micros::truncate(started.elapsed());
        let first_delta = metered.budget.first_delta();
        span.record_reply(&reply, first_delta);
        drop(span);
        self.events.span.set_finish_reason(reply.finish_reason);
        streamed.finish();
        // This run may hold the last handle to tools that were removed meanwhile, whose destructors
        // are foreign code.
        drop_guarded(self.requests.offered.replace(tools));

        if let (Some(estimated), Some(usage)) = (estimated, metered.budget.first_usage()) {
            window_state.calibrate(estimated, usage.input_tokens);
        }
        drop(messages);
        let turn = &mut self.state.turn;
        let (before, usage, finish_reason) =
            (turn.transcript().len(), reply.usage, reply.finish_reason);
        let served_by = reply.model.clone();
        turn.add_repeated_requests(metered.budget.replies().saturating_sub(1));
        let model = used_model(agent.model.as_ref(), served_by.clone());
        let usage_by_model = metered.into_metered(model, usage);
        turn.on_reply_with_usage(reply, usage_by_model)?;
        if let (Some(tools), Some(text)) = (&self.requests.offered, refusal(&choice)) {
            let is_refused = |call: &ToolCall| !is_allowed(&choice, tools, call);
            turn.fail_calls(ToolErrorKind::Denied, &text, is_refused);
        }
        // Emitted from the transcript: there, calls have the ids under which they run.
        let Some(reply) = turn.transcript().get(before) else { return Ok(choice) };
        let replied = || {
            let ModelInfo { name, provider, server_address, server_port, context_tokens } =
                model_info(agent.model.as_ref());
            ModelEvent::Replied {
                message: reply.id().cloned(),
                text: reply.text(),
                reasoning: reply.reasoning(),
                calls: reply.calls().cloned().collect(),
                sources: reply.sources().cloned().collect(),
                attachments: reply.generated_files().map(Attachment::of_file).collect(),
                provider,
                model: served_by.or_else(|| name.clone()),
                requested_model: name,
                server_address,
                server_port,
                finish_reason,
                usage,
                context_tokens,
                first_delta: first_delta.map(micros::truncate),
                duration,
            }
        };
        if streams && holds_back {
            if awaits_validation(agent, turn) {
                let event = replied();
                self.requests.held_back = Some(HeldBackReply { origin, index: before, event });
                return Ok(choice);
            }
            ReplyDeltas::new(dispatcher, &origin).emit_message(reply);
        }
        dispatcher.emit(&origin, replied);
        // The turn records results for calls that may not run.
        for (call, result) in turn.answered_calls() {
            let execution = || dispatcher.skipped_execution(call.clone(), result.clone());
            dispatcher.emit(&origin, || ToolEvent::Finished(execution()));
        }
        Ok(choice)
    }
}

/// Returns what is known about a model; nothing if it panics.
fn model_info(model: &dyn ChatModel) -> ModelInfo {
    catch_panic(|| model.info()).unwrap_or_default()
}

/// Returns the event of a request that failed after observers had received `text`.
fn failed_event(
    reason: &StopReason,
    model: &dyn ChatModel,
    text: String,
    usage: Option<Usage>,
    started: Instant,
) -> ModelEvent {
    let ModelInfo { name: model, provider, server_address, server_port, .. } = model_info(model);
    let (code, error) = (reason.code().to_owned(), error_text(reason));
    let duration = micros::truncate(started.elapsed());
    ModelEvent::Failed {
        code,
        error,
        text,
        provider,
        model,
        server_address,
        server_port,
        usage,
        duration,
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
    /// Marks the usage as recorded by the reply, and returns it with the estimate for requests
    /// whose usage is unknown.
    fn into_metered(mut self, model: UsedModel, reported: Option<Usage>) -> MeteredUsage {
        self.is_recorded = true;
        let mut total = self.budget.estimated_usage();
        total += reported.unwrap_or_default();
        self.budget.metered(model, total)
    }
}

impl Drop for MeteredBudget<'_> {
    fn drop(&mut self) {
        if !self.is_recorded {
            let total = self.budget.total_usage();
            self.meter.add(self.budget.metered(UsedModel::default(), total));
        }
    }
}
