//! Asks the model, under a driver: until what it says can be read, or it was asked often enough.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::StopReason;
use super::budget::RequestBudget;
use super::config::AgentConfig;
use super::hook::ModelHook;
use crate::drivers::{
    AnswerRequest, DeltaTracker, PreparedRequest, ReplyParseErrorKind, StreamDecoder,
};
use crate::event::ModelEvent;
use crate::guard::{Boxed, Guarded, Panic, guarded};
use crate::message::AssistantPart;
use crate::models::{ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Deltas};

/// Who is told of pieces of a reply.
pub(super) type Pieces<'a> = Box<dyn for<'d> FnMut(Delta<'d>) + Send + 'a>;

/// One question of the loop, and what it takes to get an answer.
pub(super) struct Question<'q, 'p> {
    pub(super) agent: &'q AgentConfig,
    pub(super) asked: PreparedRequest<'q>,
    pub(super) pieces: Option<&'q mut Pieces<'p>>,
    /// Who is told of replies that can't be read.
    pub(super) tell: &'q (dyn Fn(ModelEvent) + Send + Sync),
    /// What its replies take, also where none of them is an answer in the end.
    pub(super) budget: &'q mut RequestBudget,
}

impl Question<'_, '_> {
    /// The reply, and what it and those before it took.
    pub(super) async fn answer(self) -> Result<ChatReply, StopReason> {
        let Self { agent, mut asked, mut pieces, tell, budget } = self;
        for hook in &agent.hooks {
            let before = before(hook.as_ref(), &mut asked).await;
            heed(before)?;
        }
        let request = asked.request();
        let driver = agent.driver.as_ref();
        let mut sent = foreign(|| driver.prepare(request))?;
        let attempts = foreign(|| driver.parse_attempts())?;
        let mut attempt = 1;
        let (mut reply, told) = loop {
            let mut told = DeltaTracker::default();
            let said = match &mut pieces {
                None => reply_of(agent.model.as_ref(), sent.request()).await?,
                Some(pieces) => {
                    let listener = foreign(|| driver.stream_decoder(request))?;
                    let mut hear = hearing(listener, &mut told, &mut **pieces);
                    streamed(agent.model.as_ref(), sent.request(), &mut *hear).await?
                }
            };
            budget.record(sent.request(), &said);
            let mut misread = match foreign(|| driver.parse(said, request))? {
                Ok(reply) => break (reply, told),
                Err(misread) => misread,
            };
            tell(self::misread(
                misread.kind,
                misread.reply.words(),
                misread.feedback.clone(),
                attempt,
            ));
            if attempt >= attempts {
                match misread.fallback.take() {
                    Some(reply) => break (*reply, told),
                    None => return Err(StopReason::UnparsableReply(Box::new(misread))),
                }
            }
            budget.check()?;
            sent.push_feedback(&misread);
            attempt += 1;
        };
        let mut told = told;
        if let Some(last) = foreign(|| driver.answer_request(&reply, request))?
            && !reply.parts.iter().any(|part| matches!(part, AssistantPart::Call(_)))
            // What it has decided on is an answer as well.
            && budget.check().is_ok()
        {
            let answer = last_word(agent, &last, &mut told, &mut pieces).await?;
            budget.record(last.request.request(), &answer);
            reply = in_its_words(reply, answer);
        }
        if let Some(pieces) = &mut pieces {
            told.emit_rest(&reply, &mut **pieces);
        }
        reply.usage = budget.reported_usage();
        for hook in agent.hooks.iter().rev() {
            let after = after(hook.as_ref(), &mut reply).await;
            heed(after)?;
        }
        // Whatever was put in its place, it took that.
        reply.usage = reply.usage.or_else(|| budget.reported_usage());
        Ok(reply)
    }
}

/// Pieces on their way from the model to those who are told.
fn hearing<'h>(
    mut listener: Option<Box<dyn StreamDecoder + 'h>>,
    told: &'h mut DeltaTracker,
    pieces: &'h mut Deltas<'_>,
) -> Pieces<'h> {
    Box::new(move |delta| {
        if let Some(listener) = &mut listener {
            listener.decode(delta, &mut |delta| told.forward(delta, pieces));
        }
    })
}

async fn last_word(
    agent: &AgentConfig,
    last: &AnswerRequest<'_>,
    told: &mut DeltaTracker,
    pieces: &mut Option<&mut Pieces<'_>>,
) -> Result<ChatReply, StopReason> {
    let AnswerRequest { request: asked, model } = last;
    let model = model.as_ref().unwrap_or(&agent.model);
    match pieces {
        None => reply_of(model.as_ref(), asked.request()).await,
        Some(pieces) => {
            let mut pass: Pieces<'_> = Box::new(|delta| told.forward(delta, &mut ***pieces));
            streamed(model.as_ref(), asked.request(), &mut *pass).await
        }
    }
}

/// What the model thought before, and the answer as it was said last, if anything was. Calls that came with it are
/// none: there was nothing to call.
fn in_its_words(decided: ChatReply, answer: ChatReply) -> ChatReply {
    if answer.words().trim().is_empty() {
        return decided;
    }
    let thoughts = decided.parts.into_iter();
    let thoughts = thoughts.filter(|part| matches!(part, AssistantPart::Reasoning(_)));
    let said = answer.parts.into_iter();
    let said = said.filter(|part| !matches!(part, AssistantPart::Call(_)));
    ChatReply { parts: thoughts.chain(said).collect(), ..answer }
}

/// What those who watch are told of a reply that is not what was asked for.
pub(super) fn misread(
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

fn heed(flow: ControlFlow<String>) -> Result<(), StopReason> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(reason) => {
            Err(StopReason::Requested(super::StopRequest::new(None, reason)))
        }
    }
}

/// A driver is foreign code.
fn foreign<T>(run: impl FnOnce() -> T) -> Result<T, StopReason> {
    guarded(run).map_err(|Panic(message)| StopReason::ModelPanicked(message))
}

fn crashed<T>(Panic(message): Panic) -> Result<T, StopReason> {
    Err(StopReason::ModelPanicked(message))
}

/// What the model says, or what it panicked with. Boxed: the compiler can't tell that the run is `Send`
/// where it sees all that is in this.
fn reply_of<'a>(
    model: &'a dyn ChatModel,
    request: ChatRequest<'a>,
) -> Boxed<'a, Result<ChatReply, StopReason>> {
    Box::pin(Guarded::new(
        move || {
            let reply = model.reply(request);
            Box::pin(async { Ok(reply.await?) })
        },
        crashed,
    ))
}

fn streamed<'a>(
    model: &'a dyn ChatModel,
    request: ChatRequest<'a>,
    deltas: &'a mut Deltas<'_>,
) -> Boxed<'a, Result<ChatReply, StopReason>> {
    Box::pin(Guarded::new(
        move || {
            let reply = model.stream(request, deltas);
            Box::pin(async { Ok(reply.await?) })
        },
        crashed,
    ))
}

async fn before(hook: &dyn ModelHook, asked: &mut PreparedRequest<'_>) -> ControlFlow<String> {
    let broken = |Panic(message)| ControlFlow::Break(format!("a hook panicked: {message}"));
    Guarded::new(|| hook.before_request(asked), broken).await
}

async fn after(hook: &dyn ModelHook, reply: &mut ChatReply) -> ControlFlow<String> {
    let broken = |Panic(message)| ControlFlow::Break(format!("a hook panicked: {message}"));
    Guarded::new(|| hook.after_reply(reply), broken).await
}

/// What is asked on this turn.
pub(super) fn asked<'q>(
    request: ChatRequest<'q>,
    options: Cow<'q, ChatOptions>,
) -> PreparedRequest<'q> {
    PreparedRequest { options, ..PreparedRequest::from(request) }
}
