//! One exchange with the model: sends a request under a driver until a reply can be parsed.
//!
//! 1. The [hooks](ModelHook) see, and may change, the prepared request.
//! 2. The driver encodes the tools; the model replies or streams.
//! 3. The driver parses the reply. If it can't, the model is asked again with the parse error, up
//!    to the driver's number of attempts.
//! 4. A driver may ask once more for the answer in the model's own words.
//! 5. The hooks see the reply, in reverse order. Before that, those that change it piece by piece
//!    receive its pieces as they arrive (`piece_hooks.rs`).
//!
//! Every reply counts towards the budget and the iteration limit, even if it can't be parsed.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::agent::StopReason;
use crate::agent::config::AgentConfig;
use crate::agent::hook::ModelHook;
use crate::agent::request::budget::{ArrivedReply, RequestBudget};
use crate::agent::request::cited_text::CitedText;
use crate::agent::request::piece_hooks::PieceHooks;
use crate::agent::spans::RequestSpan;
use crate::drivers::{DeltaDecoder, DeltaTracker, PreparedRequest, ReplyParseErrorKind};
use crate::event::ModelEvent;
use crate::guard::{BoxFuture, CatchPanic, Panic, catch_panic};
use crate::message::{AssistantPart, Message};
use crate::models::{
    ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, DeltaSink, ToolChoice, repaired_messages,
};
use crate::tool::RunContext;

/// Receives the deltas of a reply as they arrive.
type BoxedDeltaSink<'a> = Box<dyn for<'d> FnMut(Delta<'d>) + Send + 'a>;

/// Receives the pieces of the replies of one exchange.
pub(crate) trait ReplySink: Send {
    fn push(&mut self, delta: Delta<'_>);

    /// Ends a reply that was rejected, before its event.
    fn restart(&mut self);
}

/// A request to the model, with all that is needed to get a reply to it.
pub(crate) struct ModelExchange<'q> {
    pub(crate) agent: &'q AgentConfig,
    /// The context that the hooks receive.
    pub(crate) context: RunContext<'q>,
    pub(crate) request: PreparedRequest<'q>,
    /// Receives the deltas of the reply, if it is streamed.
    pub(crate) deltas: Option<&'q mut dyn ReplySink>,
    /// Whether nothing that the deltas contain is passed on before the hooks have seen the reply.
    pub(crate) holds_back: bool,
    /// The transcript of the run, in which the ids of calls are unique.
    pub(crate) transcript: &'q [Message],
    /// Emits an event for each reply that can't be parsed.
    pub(crate) emit: &'q (dyn Fn(ModelEvent) + Send + Sync),
    /// Counts the usage of every reply, even if no reply can be parsed.
    pub(crate) budget: &'q mut RequestBudget,
    /// Whether the run has no call yet, although the tool choice may require one: no answer is
    /// requested before it.
    pub(crate) is_call_due: bool,
    /// The span of the request, which records what is sent.
    pub(crate) span: &'q RequestSpan,
}

impl ModelExchange<'_> {
    /// Returns the reply, with the usage of this and of all earlier replies of the exchange; and
    /// the tool choice with which it was requested, which a hook may have changed.
    pub(crate) async fn reply(self) -> Result<(ChatReply, ToolChoice), StopReason> {
        let Self { agent, context, mut request, emit, budget, is_call_due, transcript, .. } = self;
        let Self { mut deltas, holds_back, span, .. } = self;
        for hook in &agent.hooks {
            let flow = run_before_hook(hook.as_ref(), &mut request, &context).await;
            stop_if_requested(flow)?;
        }
        let request = request.request();
        request.check_tool_choice()?;
        let driver = agent.driver.as_ref();
        let mut prepared = guard_driver(|| driver.prepare(request))?;
        let attempts = guard_driver(|| driver.max_parse_attempts())?;
        span.record_request(prepared.request(), deltas.is_some());
        let mut attempt = 1;
        let mut streamed = StreamedReply {
            tracker: DeltaTracker::new(transcript),
            pieces: PieceHooks::new(&agent.hooks, context),
        };
        let mut cited;
        let mut reply = loop {
            streamed.restart();
            let key = request_key(&context, attempt);
            let mut raw = match &mut deltas {
                None => request_reply(agent.model.as_ref(), prepared.request().key(&key)).await?,
                Some(deltas) => {
                    let decoder = guard_driver(|| driver.stream_decoder(request))?;
                    let pieces = budget.pieces();
                    let mut sink = decoding_sink(decoder, &mut streamed, pieces, *deltas);
                    stream_reply(agent.model.as_ref(), prepared.request().key(&key), &mut *sink)
                        .await?
                }
            };
            budget.record(agent.model.as_ref(), prepared.request(), &raw);
            for reason in std::mem::take(&mut raw.warnings) {
                emit(ModelEvent::ClientWarning { reason });
            }
            cited = CitedText::of(&raw);
            let mut error = match guard_driver(|| driver.parse(raw, request))? {
                Ok(reply) => break reply,
                Err(error) => error,
            };
            if let Some(deltas) = &mut deltas {
                deltas.restart();
            }
            emit(parse_failure_event(
                error.kind,
                error.reply.to_text(),
                error.feedback.clone(),
                attempt,
            ));
            let limit = budget.check_iterations();
            if attempt >= attempts || limit.is_err() {
                match error.fallback.take() {
                    Some(reply) => break *reply,
                    None if attempt < attempts => limit?,
                    None => return Err(StopReason::UnparsableReply(Box::new(error))),
                }
            }
            budget.check()?;
            prepared.push_feedback(&error);
            attempt += 1;
        };
        if let Some(cited) = cited {
            cited.restore(&mut reply);
        }
        let choice = request.options.tool_choice.clone();
        if !(is_call_due && choice.requires_call())
            && let Some((last, model)) = guard_driver(|| driver.answer_request(&reply, request))?
            && !reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_)))
            // If the budget is spent, the answer that the model has decided on is good enough.
            && budget.check().is_ok()
        {
            let model = model.as_ref().unwrap_or(&agent.model);
            let key = request_key(&context, attempt + 1);
            let request = last.request().key(&key);
            let answer =
                request_answer(model.as_ref(), request, &mut streamed, budget, &mut deltas).await?;
            budget.record(model.as_ref(), last.request(), &answer);
            reply = with_answer_text(reply, answer);
        }
        if let Some(deltas) = &mut deltas {
            let StreamedReply { tracker, pieces } = &mut streamed;
            tracker.emit_rest(&mut reply, &mut |delta| {
                pieces.push(delta, &mut |delta| deltas.push(delta));
            });
            pieces.finish(&mut |delta| deltas.push(delta));
        }
        let cited = CitedText::of(&reply);
        let fit = |reply: &mut ChatReply| cited.iter().for_each(|cited| cited.fit(reply));
        stop_if_requested(
            streamed
                .pieces
                .change(&mut reply)
                .map_or_else(hook_panicked, |()| ControlFlow::Continue(())),
        )?;
        fit(&mut reply);
        let was_streamed = deltas.is_some() && !holds_back && !agent.hooks.is_empty();
        let streamed_parts = was_streamed.then(|| reply.parts.clone());
        reply.usage = budget.reported_usage();
        for hook in agent.hooks.iter().rev() {
            let flow = run_after_hook(hook.as_ref(), &mut reply, &context).await;
            stop_if_requested(flow)?;
        }
        if let Some(parts) = streamed_parts
            && parts != reply.parts
        {
            emit(ModelEvent::ReplyReplaced { text: ChatReply::new(parts).to_text() });
        }
        fit(&mut reply);
        // A hook may have replaced the reply. The usage of the replaced one still counts.
        reply.usage = reply.usage.or_else(|| budget.reported_usage());
        Ok((reply, choice))
    }
}

/// Returns the key of a request, which is the same if the request is repeated after a crash.
fn request_key(context: &RunContext<'_>, attempt: u32) -> String {
    format!("{}-{}-{attempt}", context.run_id(), context.turn())
}

/// The part of a reply that has arrived.
struct StreamedReply<'q> {
    tracker: DeltaTracker<'q>,
    pieces: PieceHooks<'q>,
}

impl StreamedReply<'_> {
    fn forward(&mut self, delta: Delta<'_>, deltas: &mut dyn ReplySink) {
        let Self { tracker, pieces } = self;
        tracker.forward(delta, &mut |delta| {
            pieces.push(delta, &mut |delta| deltas.push(delta));
        });
    }

    /// Forgets a reply that was rejected.
    fn restart(&mut self) {
        self.tracker.restart();
        self.pieces.restart();
    }
}

/// Returns a sink that passes deltas through the driver's decoder, if it has one, and tracks what
/// is forwarded. It adds what the model has sent to `pieces`.
fn decoding_sink<'h>(
    mut decoder: Option<DeltaDecoder<'h>>,
    streamed: &'h mut StreamedReply<'_>,
    pieces: &'h mut ArrivedReply,
    deltas: &'h mut dyn ReplySink,
) -> BoxedDeltaSink<'h> {
    Box::new(move |delta| {
        pieces.add(delta.text().len());
        if let Some(decoder) = &mut decoder {
            decoder(delta, &mut |delta| streamed.forward(delta, deltas));
        }
    })
}

/// Asks for the answer in the model's own words, of the driver's model or the agent's.
async fn request_answer(
    model: &dyn ChatModel,
    request: ChatRequest<'_>,
    streamed: &mut StreamedReply<'_>,
    budget: &mut RequestBudget,
    deltas: &mut Option<&mut dyn ReplySink>,
) -> Result<ChatReply, StopReason> {
    match deltas {
        None => request_reply(model, request).await,
        Some(deltas) => {
            let pieces = budget.pieces();
            let mut forward: BoxedDeltaSink<'_> = Box::new(|delta| {
                pieces.add(delta.text().len());
                streamed.forward(delta, &mut **deltas);
            });
            stream_reply(model, request, &mut *forward).await
        }
    }
}

/// Combines the reasoning, the sources and the files of the first reply with the text of the
/// answer, unless the answer is empty. Calls in the answer are dropped: no tools were offered with
/// that request.
fn with_answer_text(decided: ChatReply, answer: ChatReply) -> ChatReply {
    if answer.to_text().trim().is_empty() {
        return decided;
    }
    let reasoning = decided.parts.into_iter();
    let reasoning = reasoning.filter(|part| match part {
        AssistantPart::Reasoning(_) | AssistantPart::Source(_) | AssistantPart::File(_) => true,
        AssistantPart::Text { .. } | AssistantPart::Call(_) => false,
    });
    let text = answer.parts.into_iter();
    let text = text.filter(|part| !matches!(part, AssistantPart::Call(_)));
    ChatReply { parts: reasoning.chain(text).collect(), ..answer }
}

/// Returns the event of a reply that is not what was requested.
pub(crate) fn parse_failure_event(
    kind: ReplyParseErrorKind,
    text: String,
    reason: String,
    attempt: u32,
) -> ModelEvent {
    match kind {
        ReplyParseErrorKind::Extraction => ModelEvent::ExtractionFailed { text, reason, attempt },
        ReplyParseErrorKind::Validation => ModelEvent::ValidationFailed { text, reason, attempt },
    }
}

fn stop_if_requested(flow: ControlFlow<String>) -> Result<(), StopReason> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(reason) => Err(StopReason::StopRequested { tool: None, reason }),
    }
}

/// Runs driver code, which is foreign, under the panic guard.
fn guard_driver<T>(run: impl FnOnce() -> T) -> Result<T, StopReason> {
    catch_panic(run).map_err(|Panic(message)| StopReason::ModelPanicked(message))
}

fn model_panicked<T>(Panic(message): Panic) -> Result<T, StopReason> {
    Err(StopReason::ModelPanicked(message))
}

/// Requests a whole reply. Boxed because the compiler fails to prove that the run is `Send` if it
/// sees the concrete future.
fn request_reply<'a>(
    model: &'a dyn ChatModel,
    request: ChatRequest<'a>,
) -> BoxFuture<'a, Result<ChatReply, StopReason>> {
    Box::pin(CatchPanic::new(
        move || {
            Box::pin(async move {
                let messages = repaired_messages(request.messages);
                Ok(model.reply(request.with_messages(&messages)).await?)
            })
        },
        model_panicked,
    ))
}

/// Requests a reply and passes its deltas to the sink. Boxed as [`request_reply`] is.
fn stream_reply<'a>(
    model: &'a dyn ChatModel,
    request: ChatRequest<'a>,
    deltas: &'a mut DeltaSink<'_>,
) -> BoxFuture<'a, Result<ChatReply, StopReason>> {
    Box::pin(CatchPanic::new(
        move || {
            Box::pin(async move {
                let messages = repaired_messages(request.messages);
                Ok(model.stream(request.with_messages(&messages), deltas).await?)
            })
        },
        model_panicked,
    ))
}

fn hook_panicked(Panic(message): Panic) -> ControlFlow<String> {
    ControlFlow::Break(format!("a hook panicked: {message}"))
}

async fn run_before_hook(
    hook: &dyn ModelHook,
    request: &mut PreparedRequest<'_>,
    ctx: &RunContext<'_>,
) -> ControlFlow<String> {
    CatchPanic::new(|| hook.before_request(request, ctx), hook_panicked).await
}

async fn run_after_hook(
    hook: &dyn ModelHook,
    reply: &mut ChatReply,
    ctx: &RunContext<'_>,
) -> ControlFlow<String> {
    CatchPanic::new(|| hook.after_reply(reply, ctx), hook_panicked).await
}

/// Prepares the request of this turn with these options.
pub(crate) fn prepare_request<'q>(
    request: ChatRequest<'q>,
    options: Cow<'q, ChatOptions>,
) -> PreparedRequest<'q> {
    PreparedRequest { options, ..PreparedRequest::from(request) }
}
