//! Drives a [`Turn`] with a model and a dispatcher.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::time::Instant;

use super::{Agent, Answer, Outcome, Prompt, Step, StopReason, Stopped, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{EffectRecord, Event, ToolExecution};
use crate::guard::{Guarded, Panic, guarded};
use crate::message::Message;
use crate::models::ChatRequest;
use crate::registry::{AllTools, Selection, Selector, Snapshot};
use crate::tool::ToolDefinition;

pub(super) async fn run(agent: &Agent, prompt: Prompt) -> Result<Answer, Stopped> {
    let mut turn = Turn::new(prompt.into_transcript(agent.system.as_deref()), agent.max_iterations);
    match drive(agent, &mut turn).await {
        Ok(()) => {
            let transcript = turn.into_transcript();
            let text = transcript.last().map(Message::text).unwrap_or_default();
            Ok(Answer { text, transcript })
        }
        Err(why) => Err(Stopped { why, transcript: turn.into_transcript() }),
    }
}

async fn drive(agent: &Agent, turn: &mut Turn) -> Result<(), StopReason> {
    if turn.next() == Step::Done(Outcome::Answered) {
        return Err(StopReason::NothingAsked);
    }
    let registry = agent.registry.clone()?;
    let mut dispatcher = Dispatcher::new(registry)
        .permissions(agent.permissions.clone())
        .observers(agent.observers.clone())
        .extensions(agent.extensions.clone())
        .grant(agent.granted.iter().cloned());
    if let Some(approver) = &agent.approver {
        dispatcher = dispatcher.shared_approver(Arc::clone(approver));
    }
    for interceptor in &agent.interceptors {
        dispatcher = dispatcher.shared_interceptor(Arc::clone(interceptor));
    }
    if let Some(limits) = &agent.concurrency {
        dispatcher = dispatcher.concurrency(limits.clone());
    }
    if let Some(bytes) = agent.output_limit {
        dispatcher = dispatcher.output_limit(bytes);
    }
    // What was offered on a turn is what its calls are looked up in.
    let mut tools = dispatcher.registry().snapshot();
    loop {
        match turn.next() {
            Step::Ask => {
                tools = dispatcher.registry().snapshot();
                let offered = select(agent, turn, &dispatcher.offered(&tools));
                ask(agent, turn, &offered).await?;
            }
            Step::Call(calls) => {
                let done = dispatcher.dispatch_on(&tools, calls).await;
                turn.pull_in(done.iter().flat_map(|execution| found(execution, &tools)));
                turn.on_results(done.into_iter().map(|execution| execution.result).collect())?;
            }
            Step::Done(Outcome::Answered) => return Ok(()),
            Step::Done(Outcome::Cut(finish)) => return Err(StopReason::Cut(finish)),
            Step::Done(Outcome::Silent) => return Err(StopReason::Silent),
            Step::Done(Outcome::MaxIterations) => {
                return Err(StopReason::MaxIterations(turn.iterations()));
            }
        }
    }
}

/// What goes out on this turn, in its order. A selector is foreign code: one that panics has chosen
/// nothing in particular.
fn select<'t>(
    agent: &Agent,
    turn: &mut Turn,
    tools: &[&'t ToolDefinition],
) -> Vec<&'t ToolDefinition> {
    let asked = turn.transcript().iter().rev().find(|said| matches!(said, Message::User { .. }));
    let asked = asked.map(Message::text).unwrap_or_default();
    let names = turn.pulled_in();
    let selection = Selection::new(tools).asked(&asked).pulled_in(names);
    let chosen: Vec<_> = match guarded(|| agent.selector.select(selection)) {
        Ok(chosen) => chosen.iter().map(|tool| tool.name.clone()).collect(),
        Err(_) => AllTools.select(selection).iter().map(|tool| tool.name.clone()).collect(),
    };
    let chosen: HashSet<_> = chosen.into_iter().collect();
    turn.offer(tools.iter().copied().filter(|tool| chosen.contains(&tool.name)).collect())
}

/// The full names of the tools that a call found. One that says what models call them by now means
/// those that are called so now.
fn found(execution: &ToolExecution, tools: &Snapshot) -> impl Iterator<Item = String> {
    let names = execution.effects.iter().filter_map(|effect| match effect {
        EffectRecord::ToolsFound { names } => Some(names.clone()),
        _ => None,
    });
    let full = |name: String| {
        tools.entry(&name).map_or_else(|| name.clone(), |entry| entry.full_name().to_owned())
    };
    names.flatten().map(full)
}

async fn ask(
    agent: &Agent,
    turn: &mut Turn,
    offered: &[&ToolDefinition],
) -> Result<(), StopReason> {
    let iteration = turn.iterations() + 1;
    agent.observers.tell(|| Event::ModelAsked { iteration });
    let started = Instant::now();
    let request = ChatRequest::new(turn.transcript()).tools(offered);
    let reply = Guarded::new(
        || {
            let reply = agent.model.reply(request);
            Box::pin(async { Ok(reply.await?) })
        },
        |Panic(message)| Err(StopReason::ModelPanicked(message)),
    );
    let reply = reply.await?;
    let took = started.elapsed();

    let asked = turn.transcript().len();
    turn.on_reply(reply)?;
    // Told of what was taken into the transcript: there the calls have the ids that they run under.
    let mut told = turn.transcript().iter().skip(asked);
    let Some(said) = told.next() else { return Ok(()) };
    agent.observers.tell(|| {
        let calls = said.calls().cloned().collect();
        Event::ModelReplied { iteration, text: said.text(), calls, took }
    });
    // Calls that the turn answered itself have their result now.
    if let Some(Message::Tool { results }) = told.next() {
        for (call, result) in said.calls().zip(results) {
            agent
                .observers
                .tell(|| Event::CallFinished(ToolExecution::new(call.clone(), result.clone())));
        }
    }
    Ok(())
}
