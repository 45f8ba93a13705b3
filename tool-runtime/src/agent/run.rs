//! Drives a [`Turn`] with a model and a dispatcher.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::{Agent, Answer, Offered, Outcome, Prompt, Step, StopReason, Stopped, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{EffectRecord, Event, ToolExecution};
use crate::guard::{Guarded, Panic, guarded};
use crate::message::Message;
use crate::models::ChatRequest;
use crate::registry::{AllTools, Selection, Selector, Snapshot};
use crate::tool::ToolDefinition;

pub(super) async fn run(agent: &Agent, prompt: Prompt) -> Result<Answer, Stopped> {
    let mut turn = prompt.into_turn(agent.system.as_deref(), agent.max_iterations);
    let driven = drive(agent, &mut turn).await;
    let (transcript, offered) = turn.into_parts();
    match driven {
        Ok(()) => {
            let text = transcript.last().map(Message::text).unwrap_or_default();
            Ok(Answer { text, transcript, offered })
        }
        Err(why) => Err(Stopped { why, transcript, offered }),
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
                let offered = select(agent, turn, &dispatcher, &tools).await;
                ask(agent, turn, &offered).await?;
            }
            Step::Call(calls) => {
                let done = dispatcher.dispatch_on(&tools, calls).await;
                turn.pull_in(done.iter().flat_map(found));
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

/// What goes out on this turn, in its order.
async fn select<'t>(
    agent: &Agent,
    turn: &mut Turn,
    dispatcher: &Dispatcher,
    tools: &'t Snapshot,
) -> Vec<&'t ToolDefinition> {
    let asked = turn.transcript().iter().rev().find(|said| matches!(said, Message::User { .. }));
    let asked = asked.map(Message::text).unwrap_or_default();
    let chosen = if agent.selector.blocking() {
        let (selector, dispatcher, tools) =
            (Arc::clone(&agent.selector), dispatcher.clone(), tools.clone());
        let offered = turn.offered().clone();
        let choose = move || chosen(&*selector, &dispatcher.offered(&tools), &asked, &offered);
        spawn_blocking(choose).await.unwrap_or_default()
    } else {
        chosen(&*agent.selector, &dispatcher.offered(tools), &asked, turn.offered())
    };
    turn.offer(chosen.iter().filter_map(|name| tools.definition(name)).collect())
}

/// The names of what a selector chooses. It is foreign code: one that panics has chosen nothing in
/// particular, and what nobody offered it is not taken.
fn chosen(
    selector: &dyn Selector,
    tools: &[&ToolDefinition],
    asked: &str,
    offered: &Offered,
) -> Vec<String> {
    let selection =
        Selection::new(tools).asked(asked).pulled_in(offered.pulled_in()).offered(offered.order());
    let chosen = guarded(|| selector.select(selection));
    let chosen = chosen.unwrap_or_else(|_| AllTools.select(selection));
    let names: HashSet<_> = chosen.iter().map(|tool| tool.name.as_str()).collect();
    let known = tools.iter().filter(|tool| names.contains(tool.name.as_str()));
    known.map(|tool| tool.name.clone()).collect()
}

/// The tools that a call found.
fn found(execution: &ToolExecution) -> impl Iterator<Item = String> {
    let names = execution.effects.iter().filter_map(|effect| match effect {
        EffectRecord::ToolsFound { names } => Some(names.clone()),
        _ => None,
    });
    names.flatten()
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
