//! Drives a [`Turn`] with a model and a dispatcher.

use tokio::time::Instant;

use super::{Agent, Answer, Outcome, Prompt, Step, StopReason, Stopped, Turn};
use crate::dispatch::Dispatcher;
use crate::event::{Event, ToolExecution};
use crate::guard::{Guarded, Panic};
use crate::message::Message;
use crate::models::ChatRequest;
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
    let dispatcher = Dispatcher::new(registry)
        .observers(agent.observers.clone())
        .extensions(agent.extensions.clone())
        .grant(agent.granted.iter().cloned());
    // What was offered on a turn is what its calls are looked up in.
    let mut tools = dispatcher.registry().snapshot();
    loop {
        match turn.next() {
            Step::Ask => {
                tools = dispatcher.registry().snapshot();
                ask(agent, turn, &dispatcher.offered(&tools)).await?;
            }
            Step::Call(calls) => {
                let done = dispatcher.dispatch_on(&tools, calls).await;
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
