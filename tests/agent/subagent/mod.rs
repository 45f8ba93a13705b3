//! Sub-agents: what they share with their caller, and what is their own.

mod approval;
mod calls;
mod effects;
mod interruptions;
mod isolation;
mod policies;
mod prices;
mod resuming;
mod sessions;
mod usage;
mod usage_by_model;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use support::conversation::{assert_complete, echo, echo_call, refuse, results};
use tool_runtime::agent::{Paused, SubAgent};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::{EventKind, ModelEvent, RunEvent};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Event, Message, ModelError, Policy, ScriptedModel,
    StopReason, Stopped, ToolContext, Tools, Usage, async_trait, tool, tools,
};

/// A model whose reply depends on the length of the conversation only: the same in every process.
struct Story(Vec<ChatReply>);

/// Each reply uses ten input tokens and one output token.
fn story<const N: usize>(replies: [ChatReply; N]) -> Story {
    Story(replies.into_iter().map(|reply| reply.usage(Usage::new(10, 1))).collect())
}

#[async_trait]
impl ChatModel for Story {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let message = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. }));
        let reply = self.0.get(message.count()).cloned();
        reply.ok_or_else(|| ModelError::Setup("the script has no further reply".into()))
    }
}

/// Makes one call with this usage, then never replies again.
struct Stuck(AtomicUsize, Usage);

fn stuck_behind(usage: Usage) -> Stuck {
    Stuck(AtomicUsize::new(0), usage)
}

#[async_trait]
impl ChatModel for Stuck {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        if self.0.fetch_add(1, Ordering::SeqCst) > 0 {
            std::future::pending::<()>().await;
        }
        Ok(echo_call("a").usage(self.1))
    }
}

/// The recipients of payments.
#[derive(Clone, Default)]
struct Paid(Arc<Mutex<Vec<String>>>);

impl Paid {
    fn all(&self) -> Vec<String> {
        let mut paid = self.0.lock().unwrap().clone();
        paid.sort_unstable();
        paid
    }
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String, ctx: &ToolContext) -> String {
    ctx.get::<Paid>().unwrap().0.lock().unwrap().push(to.clone());
    format!("{to} is paid")
}

fn pay_call(to: &str) -> ChatReply {
    ChatReply::default().call("pay", json!({ "to": to }))
}

fn ask(tool: &str) -> ChatReply {
    ChatReply::default().call(tool, r#"{"task": "Go on."}"#)
}

/// Pays Ada, once that is approved.
fn cashier(paid: &Paid) -> SubAgent {
    let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
    Agent::new(model, tools![pay])
        .extension(paid.clone())
        .policy(Policy::new().approver(AskLater))
        .into_tool("cashier", "Sees to money.")
}

/// Calls this sub-agent once, then answers.
fn caller_of(tool: SubAgent, name: &str) -> Agent {
    Agent::new(story([ask(name), ChatReply::text("Done.")]), Tools::new().with(tool))
}

/// Returns the paused run after a round trip through JSON, as another process has it.
fn paused(stopped: Stopped) -> Paused {
    assert_complete(&stopped.transcript);
    let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!("{stopped}") };
    let copy = serde_json::to_string(&paused).unwrap();
    let read = serde_json::from_str(&copy).unwrap();
    assert_eq!(*paused, read);
    read
}

fn approve_all(paused: &mut Paused) {
    paused.decide_each(|_| Approval::Once, "Grace");
}

/// Records all events of an agent's runs.
fn with_recorder(agent: Agent) -> (Agent, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::<Mutex<Vec<Event>>>::default();
    let copy = Arc::clone(&events);
    (agent.on_event(move |event| copy.lock().unwrap().push(event.clone())), events)
}

/// Sums up the usage that the models report.
fn reported_usage(events: &[Event]) -> Usage {
    let mut sum = Usage::default();
    for event in events {
        if let EventKind::Model(ModelEvent::Replied { usage: Some(usage), .. }) = event.kind {
            sum += usage;
        }
    }
    sum
}
