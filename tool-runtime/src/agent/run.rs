//! Drives a [`Turn`] with a model and a dispatcher.

use tokio::time::Instant;

use super::{Agent, Answer, Outcome, Prompt, Step, StopReason, Stopped, Turn};
use crate::dispatch::Dispatcher;
use crate::event::Event;
use crate::message::{Message, ToolCall};
use crate::models::{ChatReply, ChatRequest};
use crate::registry::Snapshot;

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
    let registry = agent.registry.clone()?;
    let dispatcher = Dispatcher::new(registry).observers(agent.observers.clone());
    // What was offered on a turn is what its calls are looked up in.
    let mut tools = dispatcher.registry().snapshot();
    loop {
        match turn.next() {
            Step::Ask => {
                tools = dispatcher.registry().snapshot();
                let reply = ask(agent, turn, &tools).await?;
                turn.on_reply(reply)?;
            }
            Step::Call(calls) => {
                let done = dispatcher.dispatch_on(&tools, calls).await;
                turn.on_results(done.into_iter().map(|execution| execution.result).collect())?;
            }
            Step::Done(Outcome::Answered) => return Ok(()),
            Step::Done(Outcome::MaxIterations) => {
                return Err(StopReason::MaxIterations(turn.iterations()));
            }
        }
    }
}

async fn ask(agent: &Agent, turn: &Turn, tools: &Snapshot) -> Result<ChatReply, StopReason> {
    let iteration = turn.iterations() + 1;
    agent.observers.tell(|| Event::ModelAsked { iteration });
    let started = Instant::now();
    let definitions = tools.definitions();
    let request = ChatRequest::new(turn.transcript()).tools(&definitions);
    let reply = agent.model.reply(request).await?;
    agent.observers.tell(|| {
        let said = Message::Assistant { parts: reply.parts.clone() };
        let calls: Vec<ToolCall> = said.calls().cloned().collect();
        Event::ModelReplied { iteration, text: said.text(), calls, took: started.elapsed() }
    });
    Ok(reply)
}
