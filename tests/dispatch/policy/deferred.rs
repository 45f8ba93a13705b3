//! Deferred approvals.

use tool_runtime::agent::{Paused, PendingCallError};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::{EventKind, Recorder, ToolEvent};
use tool_runtime::{Event, Policy, StopReason, Stopped};

use super::*;

#[derive(Clone, Default)]
struct Paid(Arc<Mutex<Vec<String>>>);

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String, ctx: &ToolContext) -> String {
    ctx.get::<Paid>().unwrap().0.lock().unwrap().push(to.clone());
    format!("{to} is paid")
}

/// Counts its calls.
#[tool]
async fn count(ctx: &ToolContext) -> &'static str {
    ctx.get::<Paid>().unwrap().0.lock().unwrap().push("counted".into());
    "counted"
}

/// Returns an agent whose model makes two payments and a count, and the list of payments.
fn agent() -> (Agent, Paid) {
    let paid = Paid::default();
    let model = ScriptedModel::new([
        ChatReply::default()
            .call("pay", r#"{'to': 'Ada'}"#)
            .call("count", "{}")
            .call("pay", r#"{"to": "Bob"}"#),
        ChatReply::text("Done."),
    ]);
    (
        Agent::new(model, tools![pay, count])
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater)),
        paid,
    )
}

fn paused(stopped: Stopped) -> Paused {
    assert_complete(&stopped.transcript);
    match stopped.reason {
        StopReason::AwaitingApproval(paused) => *paused,
        reason => panic!("{reason}"),
    }
}

#[tokio::test]
async fn run_pauses_until_decisions_arrive() {
    let (agent, paid) = agent();
    let stopped = agent.run("Pay them.").await.unwrap_err();
    assert_eq!(stopped.to_string(), "the run stopped: 2 calls await approval: pay");
    let open = results(&stopped.transcript[2]);
    let codes: Vec<_> = open.iter().map(|result| result.error.as_deref().unwrap_or("-")).collect();
    assert_eq!(codes, ["TOOL_AWAITING_APPROVAL", "-", "TOOL_AWAITING_APPROVAL"]);
    // The call beside them has run, and does not run again.
    assert_eq!(*paid.0.lock().unwrap(), ["counted"]);

    // The paused run is plain data, which another process can resume.
    let saved = serde_json::to_string(&paused(stopped)).unwrap();
    let mut paused: Paused = serde_json::from_str(&saved).unwrap();
    assert_eq!(serde_json::to_string(&paused).unwrap(), saved);
    let run = paused.run_id();
    let pending: Vec<_> = paused.pending().iter().map(|call| call.arguments.to_string()).collect();
    assert_eq!(pending, [r#"{"to":"Ada"}"#, r#"{"to":"Bob"}"#]);
    let [ada, bob] = [0, 1].map(|n| paused.pending()[n].call.id.clone());
    paused.decide(&ada, Approval::Deny("not today".into()), "Grace").unwrap();
    // As a web server receives it.
    let received: String = ada.to_string();
    paused.decide(&received, Approval::Once, "Grace").unwrap();
    paused.decide(&bob, Approval::Deny("never".into()), "Grace").unwrap();
    let unknown = paused.decide("call_9", Approval::Once, "Grace").unwrap_err();
    assert_eq!(unknown.to_string(), "no pending call with the id `call_9`");

    let events = Arc::<Mutex<Vec<Event>>>::default();
    let sink = Arc::clone(&events);
    let agent = agent.on_event(move |event| sink.lock().unwrap().push(event.clone()));
    let answer = agent.resume(paused).finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
    assert_complete(&answer.transcript);
    let texts: Vec<_> =
        results(&answer.transcript[2]).iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["Ada is paid", "counted", "`pay` was not approved: never"]);
    assert_eq!(*paid.0.lock().unwrap(), ["counted", "Ada"]);
    let events = events.lock().unwrap();
    assert!(events.iter().all(|event| event.origin.run == run));
    let finished: Vec<_> = events.iter().filter_map(Event::execution).collect();
    assert_eq!(
        finished.iter().filter_map(|execution| execution.decided_by()).collect::<Vec<_>>(),
        ["Grace", "Grace"]
    );
    assert!(finished.iter().any(|execution| execution.is_blocked()));
}

#[tokio::test]
async fn undecided_call_stays_pending() {
    let (agent, paid) = agent();
    let mut waiting = paused(agent.run("Pay them.").await.unwrap_err());
    let ada = waiting.pending()[0].call.id.clone();
    waiting.decide(&ada, Approval::Once, "Grace").unwrap();
    let waiting = paused(agent.resume(waiting).finish().await.unwrap_err());
    assert_eq!(waiting.pending().len(), 1);
    assert_eq!(waiting.pending()[0].arguments, json!({ "to": "Bob" }));
    assert_eq!(*paid.0.lock().unwrap(), ["counted", "Ada"]);
}

/// A screen shows each request once.
#[tokio::test]
async fn undecided_call_is_requested_again_only_if_it_changed() {
    let (agent, _) = agent();
    let recorder = Recorder::new(1_000);
    let agent = agent.observer(recorder.clone());
    let requests = || {
        recorder
            .filter(|event| {
                matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. }))
            })
            .len()
    };
    let mut waiting = paused(agent.run("Pay them.").await.unwrap_err());
    assert_eq!(requests(), 2);
    let ids: Vec<_> = waiting.pending().iter().map(|it| it.call.id.clone()).collect();

    // Nothing is recorded if one id of a form is wrong.
    let wrong = [(ids[0].clone(), Approval::Once), ("call_9".into(), Approval::Once)];
    let error = waiting.decide_calls(wrong, "Grace").unwrap_err();
    assert!(matches!(error, PendingCallError::Unknown(id) if id.as_str() == "call_9"));
    let waiting = paused(agent.resume(waiting).finish().await.unwrap_err());
    assert_eq!((waiting.pending().len(), requests()), (2, 2), "asked before");

    // A call that was changed while it was pending is another request.
    let saved = serde_json::to_string(&waiting).unwrap();
    let forged = saved.replacen(r#"{'to': 'Ada'}"#, r#"{'to': 'Eve'}"#, 1);
    assert_ne!(forged, saved);
    let changed = serde_json::from_str::<Paused>(&forged).unwrap();
    let mut waiting = paused(agent.resume(changed).finish().await.unwrap_err());
    assert_eq!((waiting.pending().len(), requests()), (2, 3));

    let form = ids.into_iter().map(|id| (id, Approval::Deny("no".into())));
    waiting.decide_calls(form, "Grace").unwrap();
    agent.resume(waiting).finish().await.unwrap();
    assert_eq!(requests(), 3);
}

#[tokio::test]
async fn decision_for_the_run_covers_all_calls_of_the_tool() {
    let (agent, paid) = agent();
    let mut waiting = paused(agent.run("Pay them.").await.unwrap_err());
    let ada = waiting.pending()[0].call.id.clone();
    waiting.decide(&ada, Approval::ForRun, "Grace").unwrap();
    agent.resume(waiting).finish().await.unwrap();
    let mut paid = paid.0.lock().unwrap().clone();
    paid.sort();
    assert_eq!(paid, ["Ada", "Bob", "counted"]);
}

#[tokio::test]
async fn decision_covers_only_the_approved_arguments() {
    let (agent, paid) = agent();
    let mut waiting = paused(agent.run("Pay them.").await.unwrap_err());
    let ada = waiting.pending()[0].call.id.clone();
    waiting.decide(&ada, Approval::Once, "Grace").unwrap();
    // The call is changed while it is pending.
    let saved = serde_json::to_string(&waiting).unwrap();
    let forged = saved.replacen(r#"{'to': 'Ada'}"#, r#"{'to': 'Eve'}"#, 1);
    assert_ne!(forged, saved);
    let waiting = paused(
        agent.resume(serde_json::from_str::<Paused>(&forged).unwrap()).finish().await.unwrap_err(),
    );
    assert_eq!(waiting.pending()[0].arguments, json!({ "to": "Eve" }));
    assert_eq!(*paid.0.lock().unwrap(), ["counted"]);
}

#[tokio::test]
async fn decision_on_a_call_overrides_the_approval_of_its_tool() {
    let (agent, paid) = agent();
    let mut waiting = paused(agent.run("Pay them.").await.unwrap_err());
    let [ada, bob] = [0, 1].map(|n| waiting.pending()[n].call.id.clone());
    waiting.decide(&ada, Approval::ForRun, "Grace").unwrap();
    waiting.decide(&bob, Approval::Deny("never".into()), "Grace").unwrap();
    let answer = agent.resume(waiting).finish().await.unwrap();
    assert_eq!(results(&answer.transcript[2])[2].text, "`pay` was not approved: never");
    assert_eq!(*paid.0.lock().unwrap(), ["counted", "Ada"]);
}

#[tokio::test]
async fn decision_covers_only_the_tool_that_was_asked_about() {
    for approval in [Approval::Once, Approval::ForRun] {
        let registry = Registry::new();
        registry.register_all_from("bank", tools![pay]).unwrap();
        let paid = Paid::default();
        let pay = || ChatReply::default().call("pay", r#"{"to": "Ada"}"#);
        let model = ScriptedModel::new([pay(), pay(), ChatReply::text("Done.")]);
        let agent = Agent::new(model, registry.clone())
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater));
        let mut waiting = paused(agent.run("Pay.").await.unwrap_err());
        assert_eq!(waiting.pending()[0].tool, "bank__pay");
        let call = waiting.pending()[0].call.id.clone();
        waiting.decide(&call, approval, "Grace").unwrap();
        // While the call is pending, its name becomes that of another tool.
        let _ = registry.unregister_provider("bank");
        registry.register_all_from("shop", tools![pay]).unwrap();
        let waiting = paused(agent.resume(waiting).finish().await.unwrap_err());
        assert_eq!(waiting.pending()[0].tool, "shop__pay");
        assert!(paid.0.lock().unwrap().is_empty());
    }
}

/// Pays by another tool, and continues without its result.
#[tool]
async fn shop(ctx: &ToolContext) -> String {
    let call = ToolCall::new("", "pay", r#"{"to": "Ada"}"#);
    ctx.dispatch(vec![call]).await.remove(0).result.text
}

#[tokio::test]
async fn nested_call_does_not_pause() {
    let reply = ChatReply::default().call("shop", "{}");
    let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![shop, pay]).policy(Policy::new().approver(AskLater));
    let answer = agent.run("Shop.").await.unwrap();
    let text = "`pay` was not run: it awaits approval.";
    assert_eq!(results(&answer.transcript[2])[0].text, text);
}
