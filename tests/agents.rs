//! Sub-agents: isolation, usage, approvals, sessions and cancellation of nested runs.

#[path = "agents/apart.rs"]
mod apart;
#[path = "agents/approval.rs"]
mod approval;
#[path = "agents/calls.rs"]
mod calls;
#[path = "support/conversation.rs"]
mod conversation;
#[path = "support/damage.rs"]
mod damage;
#[path = "agents/effects.rs"]
mod effects;
#[path = "agents/interrupted.rs"]
mod interrupted;
#[path = "agents/kept.rs"]
mod kept;
#[path = "agents/prices.rs"]
mod prices;
#[path = "agents/resumed.rs"]
mod resumed;
#[path = "agents/spent.rs"]
mod spent;
#[path = "agents/terms.rs"]
mod terms;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conversation::{assert_complete, echo, echo_call, refuse, results};
use serde_json::json;
use tool_runtime::agent::{Paused, SubAgent};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::{EventKind, ModelEvent, RunEvent};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Event, Message, ModelError, Policy, ScriptedModel,
    StopReason, Stopped, ToolContext, Tools, Usage, async_trait, tool, tools,
};

/// Model that selects its reply by the number of earlier replies, so it works across processes.
struct Story(Vec<ChatReply>);

/// Returns a model whose replies use ten input tokens and one output token each.
fn story<const N: usize>(replies: [ChatReply; N]) -> Story {
    Story(replies.into_iter().map(|reply| reply.usage(Usage::new(10, 1))).collect())
}

#[async_trait]
impl ChatModel for Story {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let said = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. }));
        let reply = self.0.get(said.count()).cloned();
        reply.ok_or_else(|| ModelError::Setup("the story is over".into()))
    }
}

/// Model that makes one call with the given usage and never replies again.
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

/// The recipients of all payments.
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

/// Returns a sub-agent that pays Ada with approval.
fn cashier(paid: &Paid) -> SubAgent {
    let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
    Agent::new(model, tools![pay])
        .extension(paid.clone())
        .policy(Policy::new().approver(AskLater))
        .into_tool("cashier", "Sees to money.")
}

/// Returns an agent that calls the given sub-agent and then answers.
fn above(tool: SubAgent, name: &str) -> Agent {
    Agent::new(story([ask(name), ChatReply::text("Done.")]), Tools::new().with(tool))
}

/// Returns the paused run after serialization, as another process would load it.
fn paused(stopped: Stopped) -> Paused {
    assert_complete(&stopped.transcript);
    let StopReason::AwaitingApproval(paused) = stopped.why else { panic!("{stopped}") };
    let kept = serde_json::to_string(&paused).unwrap();
    let read = serde_json::from_str(&kept).unwrap();
    assert_eq!(*paused, read);
    read
}

fn once(paused: &mut Paused) {
    paused.decide_each("Grace", |_| Approval::Once);
}

/// Returns the agent with an observer that records all events.
fn watched(agent: Agent) -> (Agent, Arc<Mutex<Vec<Event>>>) {
    let told = Arc::<Mutex<Vec<Event>>>::default();
    let kept = Arc::clone(&told);
    (agent.on_event(move |event| kept.lock().unwrap().push(event.clone())), told)
}

/// Returns the usage that the models reported.
fn counted(events: &[Event]) -> Usage {
    let mut sum = Usage::default();
    for event in events {
        if let EventKind::Model(ModelEvent::Replied { usage: Some(usage), .. }) = event.kind {
            sum += usage;
        }
    }
    sum
}
