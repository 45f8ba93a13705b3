//! Saved runs that earlier versions wrote are read.
//!
//! Approvals in them are not bound to a definition, so they are asked again.

use tool_runtime::Policy;
use tool_runtime::agent::Paused;

use super::*;

const PAUSED: &str = include_str!("../../golden/agent/paused.json");
const DECIDED: &str = include_str!("../../golden/agent/decided.json");
const NESTED: &str = include_str!("../../golden/agent/nested.json");
const NESTED_DECIDED: &str = include_str!("../../golden/agent/nested_decided.json");
/// A run in which a tool was approved for the rest of the run.
const APPROVED: &str = include_str!("../../golden/agent/run.json");

#[derive(Clone, Default)]
struct Paid(Arc<AtomicUsize>);

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String, ctx: &ToolContext) -> String {
    ctx.get::<Paid>().unwrap().0.fetch_add(1, Ordering::Relaxed);
    format!("{to} is paid")
}

fn payer(replies: Vec<ChatReply>, paid: &Paid) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![pay])
        .extension(paid.clone())
        .policy(Policy::new().approver(AskLater))
}

fn pay_ada() -> ChatReply {
    ChatReply::default().call("pay", r#"{"to": "Ada"}"#)
}

fn paused(stopped: Stopped) -> Paused {
    match stopped.reason {
        StopReason::AwaitingApproval(paused) => *paused,
        reason => panic!("{reason}"),
    }
}

#[tokio::test]
async fn paused_run_asks_once_more_and_goes_on() {
    for (json, is_nested) in
        [(PAUSED, false), (DECIDED, false), (NESTED, true), (NESTED_DECIDED, true)]
    {
        let paid = Paid::default();
        let agent = if is_nested {
            let cashier = payer(vec![ChatReply::text("Ada is paid.")], &paid);
            let cashier = cashier.into_tool("cashier", "Pays people.");
            Agent::new(script([ChatReply::text("Done.")]), Tools::new().with(cashier))
        } else {
            payer(vec![ChatReply::text("Done.")], &paid)
        };
        let mut waiting: Paused = serde_json::from_str(json).unwrap();
        waiting.decide_each("Grace", |_| Approval::Once);
        let mut bound = paused(agent.resume(waiting).finish().await.unwrap_err());
        assert_eq!(paid.0.load(Ordering::Relaxed), 0);
        bound.decide_each("Grace", |_| Approval::Once);
        assert_eq!(agent.resume(bound).finish().await.unwrap().text, "Done.");
        assert_eq!(paid.0.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn permission_of_an_earlier_version_for_the_run_is_asked_again() {
    let paid = Paid::default();
    let agent = payer(vec![pay_ada(), ChatReply::text("Done.")], &paid);
    let state: RunState = serde_json::from_str(APPROVED).unwrap();
    let waiting = paused(agent.resume(state).finish().await.unwrap_err());
    assert_eq!((waiting.pending().len(), paid.0.load(Ordering::Relaxed)), (1, 0));
}
