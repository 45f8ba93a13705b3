//! Drives a [`Turn`] with a model and a dispatcher.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::choice::{choose, found, full_name};
use super::paused::{Paused, PendingCall};
use super::{Agent, Answer, Outcome, Prompt, Step, StopReason, Stopped, Turn};
use crate::dispatch::{Batch, Dispatcher};
use crate::event::{
    EventKind, ModelEvent, Origin, RunEvent, RunId, ToolEvent, ToolExecution, micros,
};
use crate::guard::{Boxed, Guarded, Panic};
use crate::message::{Message, ToolCall, ToolResult};
use crate::models::{ChatModel, ChatOptions, ChatReply, ChatRequest, ToolChoice};
use crate::registry::Snapshot;
use crate::span;
use crate::tool::{Decision, ToolDefinition, ToolErrorKind};

pub(super) async fn run(agent: &Agent, prompt: Prompt) -> Result<Answer, Stopped> {
    let turn = prompt.into_turn(agent.system.as_deref(), agent.max_iterations);
    Run::new(agent, RunId::random(), turn, BTreeMap::new()).finish().await
}

pub(super) async fn resume(agent: &Agent, paused: Paused) -> Result<Answer, Stopped> {
    let approved = paused.approved();
    let Paused { run, turn, decisions, .. } = paused;
    let run = Run::new(agent, run, turn, approved);
    Run { decisions, ..run }.finish().await
}

struct Run<'a> {
    agent: &'a Agent,
    dispatcher: Dispatcher,
    run: RunId,
    turn: Turn,
    /// What was decided while the run waited.
    decisions: Vec<Decision>,
}

impl<'a> Run<'a> {
    fn new(agent: &'a Agent, run: RunId, turn: Turn, approved: BTreeMap<String, String>) -> Self {
        let registry = agent.registry.clone().unwrap_or_default();
        let dispatcher = agent.dispatcher.for_run(registry, approved);
        Self { agent, dispatcher, run, turn, decisions: Vec::new() }
    }

    async fn finish(mut self) -> Result<Answer, Stopped> {
        let started = Instant::now();
        self.tell(|| RunEvent::Started);
        let ended = span::within(span::invoke_agent(), self.drive(), StopReason::error).await;
        self.tell(|| RunEvent::Finished {
            error: ended.as_ref().err().map(ToString::to_string),
            took: micros::in_full(started.elapsed()),
        });
        let (transcript, offered) = self.turn.into_parts();
        match ended {
            Ok(()) => {
                let text = transcript.last().map(Message::text).unwrap_or_default();
                Ok(Answer { text, transcript, offered })
            }
            Err(why) => Err(Stopped { why, transcript, offered }),
        }
    }

    async fn drive(&mut self) -> Result<(), StopReason> {
        if self.turn.next() == Step::Done(Outcome::Answered) {
            return Err(StopReason::NothingAsked);
        }
        if let Err(error) = &self.agent.registry {
            return Err(error.clone().into());
        }
        // What was offered on a turn is what its calls are looked up in.
        let mut tools = self.dispatcher.registry().snapshot();
        let calls = self.turn.transcript().iter().flat_map(Message::calls);
        self.dispatcher.look_out(&tools, calls);
        loop {
            if self.agent.stop.as_ref().is_some_and(CancellationToken::is_cancelled) {
                return Err(StopReason::Cancelled);
            }
            match self.turn.next() {
                Step::Ask => {
                    tools = self.dispatcher.registry().snapshot();
                    self.dispatcher.look_out(&tools, iter::empty());
                    let choice = choose(self.agent, &mut self.turn, &self.dispatcher, &tools);
                    let offered = match &self.agent.stop {
                        None => choice.await,
                        Some(stop) => {
                            let offered = stop.run_until_cancelled(choice).await;
                            offered.ok_or(StopReason::Cancelled)?
                        }
                    };
                    self.ask(&offered).await?;
                }
                Step::Call(calls) => self.call(&tools, calls).await?,
                Step::Done(Outcome::Answered) => return Ok(()),
                Step::Done(Outcome::Cut(finish)) => return Err(StopReason::Cut(finish)),
                Step::Done(Outcome::Silent) => return Err(StopReason::Silent),
                Step::Done(Outcome::MaxIterations) => {
                    return Err(StopReason::MaxIterations(self.turn.iterations()));
                }
            }
        }
    }

    async fn call(&mut self, tools: &Snapshot, calls: Vec<ToolCall>) -> Result<(), StopReason> {
        let mut batch = Batch::from(calls.clone());
        batch.origin = self.origin();
        batch.conversation = Some(self.turn.shared_transcript());
        batch.stop = self.agent.stop.clone();
        batch.decisions = std::mem::take(&mut self.decisions);
        let done = match &self.agent.elsewhere {
            None => self.dispatcher.dispatch_on(tools, batch).await,
            Some(elsewhere) => {
                self.dispatcher.look_out(tools, calls.iter());
                for call in &calls {
                    self.tell(|| ToolEvent::Started { call: call.clone() });
                }
                let done = Guarded::new(|| elsewhere.dispatch(batch), |Panic(_)| Vec::new()).await;
                let mut done = self.each_once(calls, done);
                for execution in &mut done {
                    self.dispatcher.hide_in_result(execution);
                    self.dispatcher.tell_end(&self.origin(), execution);
                }
                done
            }
        };
        self.turn.pull_in(done.iter().flat_map(|execution| found(execution, tools)));
        let halted = self.dispatcher.halted_at(&done).and_then(|at| done.get(at)).cloned();
        let (pending, done): (Vec<_>, Vec<_>) =
            done.into_iter().partition(ToolExecution::is_pending);
        self.turn.on_some_results(done.into_iter().map(|execution| execution.result).collect())?;
        let paused = (!pending.is_empty()).then(|| {
            Box::new(Paused {
                run: self.run,
                turn: self.turn.clone(),
                pending: pending.iter().map(|execution| waiting(execution, tools)).collect(),
                decisions: Vec::new(),
                approved: self.dispatcher.approved(),
            })
        });
        if paused.is_some() {
            // Whoever doesn't resume the run has a conversation to go on with all the same.
            let results = pending.into_iter().map(|execution| execution.result).collect();
            self.turn.on_some_results(results)?;
        }
        match (halted, paused) {
            (Some(execution), _) => Err(StopReason::Halted(Box::new(execution))),
            (None, Some(paused)) => Err(StopReason::AwaitingApproval(paused)),
            (None, None) => Ok(()),
        }
    }

    async fn ask(&mut self, offered: &[&ToolDefinition]) -> Result<(), StopReason> {
        let asked = Origin::new(self.run, self.turn.iterations() + 1);
        self.dispatcher.tell(&asked, || ModelEvent::Asked);
        let started = Instant::now();
        let options = self.options();
        let request = ChatRequest::new(self.turn.transcript()).tools(offered).options(&options);
        let reply = reply_of(self.agent.model.as_ref(), request);
        let reply = async {
            match &self.agent.stop {
                None => reply.await,
                Some(stop) => {
                    stop.run_until_cancelled(reply).await.unwrap_or(Err(StopReason::Cancelled))
                }
            }
        };
        let reply = span::within(span::chat(), reply, StopReason::error).await?;
        let took = micros::in_full(started.elapsed());

        let (before, usage) = (self.turn.transcript().len(), reply.usage);
        self.turn.on_reply(reply)?;
        // Told of what was taken into the transcript: there the calls have the ids that they run under.
        let mut told = self.turn.transcript().iter().skip(before);
        let Some(said) = told.next() else { return Ok(()) };
        self.dispatcher.tell(&asked, || {
            let calls = said.calls().cloned().collect();
            ModelEvent::Replied { text: said.text(), calls, usage, took }
        });
        // Calls that the turn answered itself have their result now.
        if let Some(Message::Tool { results }) = told.next() {
            for (call, result) in said.calls().zip(results) {
                let unrun = || self.dispatcher.unrun(call.clone(), result.clone());
                self.dispatcher.tell(&asked, || ToolEvent::Finished(unrun()));
            }
        }
        Ok(())
    }

    /// One execution for each call, whatever foreign code gives back.
    fn each_once(&self, calls: Vec<ToolCall>, mut done: Vec<ToolExecution>) -> Vec<ToolExecution> {
        let of_call = |call: ToolCall| {
            let place = done.iter().position(|execution| execution.result.call == call.id);
            place.map(|place| done.swap_remove(place)).unwrap_or_else(|| {
                let text = "The result of this call was lost; it may have had effects.";
                let code = ToolErrorKind::Indeterminate.code();
                let result = ToolResult::failure(&call, code, text);
                self.dispatcher.unrun(call, result)
            })
        };
        calls.into_iter().map(of_call).collect()
    }

    /// A model that always has to call a tool would never come to an end: it has to once.
    fn options(&self) -> Cow<'a, ChatOptions> {
        let options = &self.agent.options;
        match options.tool_choice {
            ToolChoice::Required | ToolChoice::Tool(_) if self.turn.iterations() > 0 => {
                Cow::Owned(options.clone().tool_choice(ToolChoice::Auto))
            }
            _ => Cow::Borrowed(options),
        }
    }

    fn origin(&self) -> Origin {
        Origin::new(self.run, self.turn.iterations())
    }

    fn tell<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        self.dispatcher.tell(&self.origin(), kind);
    }
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
        |Panic(message)| Err(StopReason::ModelPanicked(message)),
    ))
}

fn waiting(execution: &ToolExecution, tools: &Snapshot) -> PendingCall {
    let ran = execution.changed.as_deref().unwrap_or(&execution.call);
    let tool = full_name(&ran.name, tools);
    let arguments = execution.arguments().unwrap_or_default();
    PendingCall { call: execution.call.clone(), tool, arguments }
}
