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
/// The states of a run before each of its steps: calls succeed, fail, panic, are repaired and
/// retried, and one needs approval.
const STATES: &str = include_str!("../../golden/agent/states.jsonl");

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
        waiting.decide_each(|_| Approval::Once, "Grace");
        let mut bound = paused(agent.resume(waiting).finish().await.unwrap_err());
        assert_eq!(paid.0.load(Ordering::Relaxed), 0);
        bound.decide_each(|_| Approval::Once, "Grace");
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

/// The tools of the run.
mod tools_of_states {
    use tool_runtime::{ToolOutput, tool};

    /// Pays a bill.
    #[tool(permission = "ask")]
    pub async fn pay(to: String, #[arg(secret)] pin: String) -> String {
        format!("{to} {}", pin.len())
    }

    /// Tries.
    #[tool(idempotent, retries = 2)]
    pub async fn attempt(n: u8) -> String {
        n.to_string()
    }

    /// Paints.
    #[tool(effect = "read")]
    pub async fn paint() -> ToolOutput {
        ToolOutput::text("a picture")
    }

    /// Crashes.
    #[tool]
    pub async fn crash() -> Result<String, &'static str> {
        Err("no")
    }

    /// Steers.
    #[tool(effect = "write")]
    pub async fn steer() -> &'static str {
        "ok"
    }
}

#[tokio::test]
async fn run_is_resumed_from_each_state_of_an_earlier_version() {
    use tools_of_states::{attempt, crash, paint, pay, steer};
    let states: Vec<_> = STATES.lines().collect();
    for (at, json) in states.iter().enumerate() {
        let state: RunState = serde_json::from_str(json).unwrap();
        let before: serde_json::Value = serde_json::from_str(json).unwrap();
        let before = before["turn"]["transcript"].as_array().unwrap();
        let agent = Agent::new(
            script([ChatReply::text("Done.")]),
            tools![pay, attempt, paint, crash, steer],
        );
        let resumed = agent.policy(Policy::new().approver(AskLater)).resume(state).finish().await;
        let transcript = match resumed {
            Ok(answer) if at + 1 < states.len() => answer.transcript,
            Err(stopped) if at + 1 == states.len() => {
                let transcript = stopped.transcript.clone();
                assert_eq!(
                    paused(stopped).pending()[0].redacted_arguments_json(),
                    r#"{"to":"Ada","pin":"[redacted]"}"#
                );
                transcript
            }
            other => panic!("state {at}: {other:?}"),
        };
        let written = serde_json::to_value(&transcript[..before.len()]).unwrap();
        assert_eq!(written.as_array(), Some(before), "state {at}");
        assert_complete(&transcript);
    }
    assert_eq!(states.len(), 7);
}
