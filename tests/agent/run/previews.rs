//! Previews of pending calls: saved with the run, without secrets.

use tool_runtime::agent::Paused;
use tool_runtime::dispatch::{ApprovalRequest, Previewer};
use tool_runtime::event::ToolEvent;
use tool_runtime::{Policy, async_trait};

use super::*;

const SECRET: &str = "k3y-0f-th3-h0us3";
const MAX_BYTES: usize = 256 * 1024;

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

/// Delegates a payment.
#[tool(permission = "ask")]
async fn delegate(to: String) -> String {
    to
}

/// Describes a payment by a text that repeats the name, and counts the texts.
#[derive(Clone, Default)]
struct Describes(Arc<Mutex<usize>>);

#[async_trait]
impl Previewer for Describes {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        if request.tool.name != "pay" {
            return None;
        }
        let mut count = self.0.lock().unwrap();
        *count += 1;
        Some(format!("{count}: {} \u{202e}with {SECRET}", request.arguments["to"].as_str()?))
    }
}

fn agent(replies: impl IntoIterator<Item = ChatReply>, recorder: &Recorder) -> Agent {
    let policy = Policy::new().approver(AskLater).previewer(Describes::default()).secrets([SECRET]);
    Agent::new(ScriptedModel::new(replies), tools![pay, delegate])
        .policy(policy)
        .observer(recorder.clone())
}

fn paused(outcome: Result<Answer, Stopped>) -> Paused {
    match outcome.unwrap_err().reason {
        StopReason::AwaitingApproval(paused) => *paused,
        other => panic!("{other}"),
    }
}

fn previews(recorder: &Recorder) -> Vec<Option<String>> {
    let events = recorder.events();
    let previews = events.iter().filter_map(|event| match event.tool_event()? {
        ToolEvent::ApprovalRequested { preview, .. } => Some(preview.clone()),
        _ => None,
    });
    previews.collect()
}

#[tokio::test]
async fn preview_of_a_pending_call_is_saved_without_secrets() {
    let recorder = Recorder::new(1_000);
    let calls = ChatReply::default()
        .call("pay", json!({ "to": "Ada" }))
        .call("delegate", json!({ "to": "Ben" }));
    let waiting = paused(agent([calls], &recorder).run("Pay.").await);
    let saved = serde_json::to_string(&waiting).unwrap();
    assert!(!saved.contains(SECRET), "{saved}");
    let loaded: Paused = serde_json::from_str(&saved).unwrap();
    let expected = [Some("1: Ada <U+202E>with [redacted]"), None];
    assert_eq!(loaded.pending().iter().map(|it| it.preview()).collect::<Vec<_>>(), expected);
    let events = previews(&recorder);
    assert_eq!(events.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn preview_is_computed_again_when_the_run_resumes_without_a_decision() {
    let recorder = Recorder::new(1_000);
    let agent = agent([ChatReply::default().call("pay", json!({ "to": "Ada" }))], &recorder);
    let first = paused(agent.run("Pay.").await);
    let second = paused(agent.resume(first).finish().await);
    assert_eq!(second.pending()[0].preview(), Some("2: Ada <U+202E>with [redacted]"));
    assert_eq!(previews(&recorder).len(), 1, "the request is not emitted twice");
}

#[tokio::test]
async fn secret_at_the_end_of_a_long_preview_is_redacted_before_the_text_is_cut() {
    let recorder = Recorder::new(1_000);
    // The limit is within the secret.
    let name = "a".repeat(MAX_BYTES - 20);
    let call = ChatReply::default().call("pay", json!({ "to": name }));
    let waiting = paused(agent([call], &recorder).run("Pay.").await);
    let preview = waiting.pending()[0].preview().unwrap();
    let (beginning, more) = preview.rsplit_once('\n').unwrap();
    assert_eq!(beginning.len(), MAX_BYTES);
    assert!(more.ends_with(" more bytes]") && !preview.contains(&SECRET[..3]), "{more}");
}
