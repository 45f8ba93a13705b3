//! Decisions on the calls of a paused run are saved with its session before the run is resumed.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::agent::session::{
    MemorySessions, Session, SessionError, SessionQuery, SessionStatus, SessionStore,
};
use tool_runtime::agent::{CompletedStep, Paused};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::event::Recorder;
use tool_runtime::{
    Agent, ChatReply, Message, Policy, ScriptedModel, StopReason, ToolContext, ToolError, tool,
    tools,
};

use super::process::Process;

/// Pays a person.
#[tool(effect = "external", permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

/// Asks for a color.
#[tool(effect = "external")]
async fn paint(ctx: &ToolContext) -> Result<String, ToolError> {
    match ctx.resumed() {
        Some(resumed) => Ok(format!("painted {}", resumed.answer_as::<String>()?)),
        None => Err(ToolError::suspended("Which color?", json!({}))),
    }
}

mod changed {
    /// Pays anyone.
    #[tool_runtime::tool(effect = "external", permission = "ask")]
    pub(super) async fn pay(to: String) -> String {
        format!("{to} is paid")
    }
}

fn calls(people: &[&str]) -> ChatReply {
    let call = |reply: ChatReply, to: &&str| reply.call("pay", json!({ "to": to }).to_string());
    people.iter().fold(ChatReply::default(), call)
}

struct Fixture {
    store: MemorySessions,
    recorder: Recorder,
    agent: Agent,
}

impl Fixture {
    fn new(replies: impl IntoIterator<Item = ChatReply>) -> Self {
        let recorder = Recorder::new(1_000);
        let agent = Agent::new(ScriptedModel::new(replies), tools![pay, paint])
            .policy(Policy::new().approver(AskLater))
            .observer(recorder.clone());
        Self { store: MemorySessions::new(), recorder, agent }
    }

    /// Returns the session as a new process has it.
    fn process(&self) -> Session {
        self.agent.session(Process::of(&self.store), "s")
    }

    /// Lets another process decide on the call to pay this person.
    async fn decide(&self, to: &str, approval: Approval, by: &str) -> Result<Paused, SessionError> {
        let session = self.process();
        let mut paused = session.paused().await?.expect("the run is paused");
        decide(&mut paused, to, approval, by);
        session.save_decisions(&paused).await
    }

    async fn status(&self) -> SessionStatus {
        self.store.list(SessionQuery::all()).await.unwrap()[0].status
    }

    fn count(&self, event: &str) -> usize {
        self.recorder.filter(|it| it.name() == event).len()
    }
}

fn decide(paused: &mut Paused, to: &str, approval: Approval, by: &str) {
    let mut pending = paused.pending().iter();
    let call = pending.find(|it| it.arguments["to"] == to).unwrap().call.id.clone();
    paused.decide(&call, approval, by).unwrap();
}

fn is_stale<T>(result: &Result<T, SessionError>, reason: &str) -> bool {
    matches!(result, Err(SessionError::StaleDecision { reason: found, .. }) if found.contains(reason))
}

#[tokio::test]
async fn each_call_is_decided_in_a_separate_process_and_resumed_in_another() {
    let fixture = Fixture::new([calls(&["Ada", "Bob"]), ChatReply::text("Done.")]);
    fixture.process().run("Pay them.").await.unwrap_err();
    let finished = fixture.count("tool.finished");

    let paused = fixture.decide("Ada", Approval::Once, "Grace").await.unwrap();
    assert!(paused.is_waiting());
    assert_eq!(fixture.status().await, SessionStatus::Paused);
    let paused = fixture.decide("Bob", Approval::Deny("no".into()), "Joan").await.unwrap();
    assert!(!paused.is_waiting());
    assert_eq!(fixture.status().await, SessionStatus::Interrupted);
    let ada = paused.pending()[0].call.id.clone();
    assert_eq!(paused.decision_on(&ada), Some((&Approval::Once, "Grace")));
    // Nothing was run, and nothing emitted.
    assert_eq!((fixture.count("tool.approved"), fixture.count("tool.finished")), (0, finished));

    let run = fixture.process().resume().await.unwrap().unwrap();
    let answer = run.finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
    let Message::Tool { results } = &answer.transcript[2] else { panic!("{answer:?}") };
    let results: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
    assert!(results[0] == "Ada is paid" && results[1].contains("no"), "{results:?}");
    let events = ["tool.approval_requested", "tool.approved", "tool.blocked"];
    assert_eq!(events.map(|event| fixture.count(event)), [2, 1, 3]);
    assert_eq!(fixture.status().await, SessionStatus::Idle);
}

#[tokio::test]
async fn resumed_run_applies_what_is_saved_and_pauses_for_the_rest() {
    let fixture = Fixture::new([calls(&["Ada", "Bob"]), ChatReply::text("Done.")]);
    fixture.process().run("Pay them.").await.unwrap_err();
    fixture.decide("Bob", Approval::Once, "Grace").await.unwrap();
    let run = fixture.process().resume().await.unwrap().unwrap();
    let stopped = run.finish().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::AwaitingApproval(_)), "{stopped}");
    assert_eq!((fixture.count("tool.approval_requested"), fixture.count("tool.approved")), (2, 1));
    assert_eq!(fixture.status().await, SessionStatus::Paused);

    // The other call is decided by `resume_with`, which needs no saved decision.
    let session = fixture.process();
    let mut paused = session.paused().await.unwrap().unwrap();
    assert_eq!(paused.pending().len(), 1);
    decide(&mut paused, "Ada", Approval::Once, "Grace");
    session.resume_with(paused).await.unwrap().finish().await.unwrap();
    assert_eq!((fixture.count("tool.approval_requested"), fixture.count("tool.approved")), (2, 2));
}

#[tokio::test]
async fn decision_that_is_saved_can_be_repeated_and_not_changed() {
    let fixture = Fixture::new([calls(&["Ada", "Bob"]), ChatReply::text("Done.")]);
    let session = fixture.process();
    session.run("Pay them.").await.unwrap_err();
    let early = session.paused().await.unwrap().unwrap();
    fixture.decide("Ada", Approval::Once, "Grace").await.unwrap();
    let saved = fixture.store.load("s").await.unwrap();
    fixture.decide("Ada", Approval::Once, "Grace").await.unwrap();
    assert_eq!(fixture.store.load("s").await.unwrap(), saved, "nothing is written");

    for (approval, by) in [(Approval::Deny("no".into()), "Grace"), (Approval::Once, "Joan")] {
        let mut copy = early.clone();
        decide(&mut copy, "Ada", approval, by);
        decide(&mut copy, "Bob", Approval::Once, "Joan");
        let refused = session.save_decisions(&copy).await;
        assert!(is_stale(&refused, "was already decided by `Grace`"), "{refused:?}");
        let stopped = session.resume_with(copy).await.unwrap_err();
        assert!(stopped.to_string().contains("was already decided by `Grace`"), "{stopped}");
    }
    assert_eq!(fixture.store.load("s").await.unwrap(), saved, "nothing is written");

    // A copy without the saved decision does not undo it.
    let mut copy = early;
    decide(&mut copy, "Bob", Approval::Once, "Joan");
    let run = session.resume_with(copy).await.unwrap();
    assert_eq!(run.finish().await.unwrap().text, "Done.");
    assert_eq!(fixture.count("tool.approved"), 2);
}

#[tokio::test]
async fn decision_on_a_call_that_is_not_pending_is_refused() {
    let fixture = Fixture::new([calls(&["Ada"]), ChatReply::text("Done.")]);
    let session = fixture.process();
    session.run("Pay Ada.").await.unwrap_err();
    let mut paused = session.paused().await.unwrap().unwrap();
    decide(&mut paused, "Ada", Approval::Once, "Grace");
    let saved = fixture.store.load("s").await.unwrap();

    let stored = serde_json::to_value(&paused).unwrap();
    for (member, value) in [
        ("call", json!("call_other")),
        ("tool", json!("other")),
        ("arguments", json!(r#"{"to":"Bob"}"#)),
        ("fingerprint", json!(null)),
    ] {
        let mut altered = stored.clone();
        altered["decisions"][0][member] = value;
        let altered: Paused = serde_json::from_value(altered).unwrap();
        let refused = session.save_decisions(&altered).await;
        assert!(is_stale(&refused, "is not pending with these arguments"), "{member}: {refused:?}");
    }
    let other = fixture.agent.session(fixture.store.clone(), "t").save_decisions(&paused).await;
    assert!(is_stale(&other, "belongs to the session `s`"), "{other:?}");
    assert_eq!(fixture.store.load("s").await.unwrap(), saved);

    session.resume_with(paused.clone()).await.unwrap().finish().await.unwrap();
    let late = session.save_decisions(&paused).await;
    assert!(is_stale(&late, "the run was resumed before"), "{late:?}");
}

#[tokio::test]
async fn saved_decision_is_void_if_the_definition_changed() {
    let fixture = Fixture::new([calls(&["Ada"])]);
    fixture.process().run("Pay Ada.").await.unwrap_err();
    fixture.decide("Ada", Approval::Once, "Grace").await.unwrap();
    let agent = Agent::new(ScriptedModel::default(), tools![changed::pay])
        .policy(Policy::new().approver(AskLater));
    let run = agent.session(fixture.store.clone(), "s").resume().await.unwrap().unwrap();
    let StopReason::AwaitingApproval(paused) = run.finish().await.unwrap_err().reason else {
        panic!("the call ran");
    };
    let void = paused.pending()[0].void_decision.clone().unwrap();
    assert!(void.contains("the definition of `pay` changed"), "{void}");
}

#[tokio::test]
async fn prompt_is_refused_until_saved_decisions_are_applied() {
    let fixture = Fixture::new([calls(&["Ada"]), ChatReply::text("It is noon.")]);
    let session = fixture.process();
    session.run("Pay Ada.").await.unwrap_err();
    fixture.decide("Ada", Approval::Once, "Grace").await.unwrap();
    assert!(session.paused().await.unwrap().is_none(), "no call waits");
    let refused = session.run("What time is it?").await.unwrap_err();
    let StopReason::PromptRefused(paused) = refused.reason else { panic!("{refused}") };
    assert!(!paused.is_waiting());
    let session = session.abandon_paused();
    assert_eq!(session.run("What time is it?").await.unwrap().text, "It is noon.");
    let late = session.save_decisions(&paused).await;
    assert!(is_stale(&late, "the conversation has continued"), "{late:?}");
}

#[tokio::test]
async fn answers_and_decisions_of_nested_runs_are_saved() {
    let small = ScriptedModel::new([
        ChatReply::default().call("pay", r#"{"to": "Ada"}"#).call("paint", "{}"),
        ChatReply::text("Both are done."),
    ]);
    let nested = Agent::new(small, tools![pay, paint])
        .policy(Policy::new().approver(AskLater))
        .into_tool("cashier", "Sees to money.");
    let model = ScriptedModel::new([
        ChatReply::default().call("cashier", r#"{"task": "Go."}"#).call("paint", "{}"),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![paint].with(nested));
    let store = MemorySessions::new();
    let session = agent.session(store.clone(), "s");
    session.run("Go.").await.unwrap_err();
    // Each call in a separate copy.
    let early = session.paused().await.unwrap().unwrap();
    let waiting: Vec<_> = early
        .pending_all()
        .iter()
        .map(|(run, it)| (*run, it.call.id.clone(), it.tool.clone()))
        .collect();
    assert_eq!(waiting.len(), 3);
    for (index, (run, call, tool)) in waiting.iter().enumerate() {
        let mut copy = early.clone();
        if tool == "pay" {
            copy.decide_at(*run, call, Approval::Once, "Grace").unwrap();
        } else {
            copy.answer_at(*run, call, "red", "Grace").unwrap();
        }
        let paused = session.save_decisions(&copy).await.unwrap();
        assert_eq!(paused.is_waiting(), index < 2);
        if tool == "paint" {
            copy.answer_at(*run, call, "blue", "Grace").unwrap();
            let refused = session.save_decisions(&copy).await;
            assert!(is_stale(&refused, "was already answered by `Grace`"), "{refused:?}");
        }
    }
    let mut run = session.resume().await.unwrap().unwrap();
    let Some(CompletedStep::Called(executions)) = run.next().await else { panic!("it paused") };
    let results: Vec<_> = executions.iter().map(|it| it.result.text.as_str()).collect();
    assert_eq!(results, ["Both are done.", "painted red"]);
    assert_eq!(run.finish().await.unwrap().text, "Done.");
}

#[tokio::test]
async fn decision_is_saved_only_under_the_lease_of_the_session() {
    let fixture = Fixture::new([calls(&["Ada"])]);
    let session = fixture.process();
    session.run("Pay Ada.").await.unwrap_err();
    let mut paused = session.paused().await.unwrap().unwrap();
    decide(&mut paused, "Ada", Approval::Once, "Grace");
    let resumed_run = fixture.process().resume().await.unwrap().unwrap();
    let busy = fixture.process().fail_if_busy().save_decisions(&paused).await;
    assert!(matches!(busy, Err(SessionError::Busy { .. })), "{busy:?}");
    drop(resumed_run);
    let store: Arc<dyn SessionStore> = Arc::new(fixture.store.clone());
    fixture.agent.session(store, "s").save_decisions(&paused).await.unwrap();
}

/// The process that resumes with the decisions dies somewhere.
#[tokio::test]
async fn saved_denial_is_not_replaced_once_the_run_has_resumed() {
    for polls in 0..12 {
        let fixture = Fixture::new([calls(&["Ada"]), ChatReply::text("Done.")]);
        fixture.process().run("Pay.").await.unwrap_err();
        let mut early = fixture.process().paused().await.unwrap().unwrap();
        fixture.decide("Ada", Approval::Deny("no".into()), "Grace").await.unwrap();
        let mut run = fixture.process().resume().await.unwrap().unwrap();
        {
            let mut step = std::pin::pin!(run.next());
            for _ in 0..polls {
                let waker = std::task::Waker::noop();
                if step.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        drop(run);
        tokio::task::yield_now().await;
        decide(&mut early, "Ada", Approval::Once, "Mallory");
        let replaced = fixture.process().resume_with(early).await;
        assert!(replaced.is_err(), "after {polls} polls");
    }
}

/// Returns its key.
#[tool(effect = "external")]
async fn key(ctx: &ToolContext) -> String {
    ctx.idempotency_key()
}

/// Asks between two nested calls.
#[tool(effect = "external")]
async fn book(ctx: &ToolContext) -> Result<String, ToolError> {
    let call = tool_runtime::ToolCall::new("x", "key", "{}");
    let key = ctx.dispatch(vec![call]).await.remove(0).result.text;
    match ctx.resumed() {
        Some(resumed) => Ok(format!("{} {key}", resumed.state_as::<String>()?)),
        None => Err(ToolError::suspended("Which?", key)),
    }
}

#[tokio::test]
async fn nested_calls_of_both_halves_of_a_call_have_their_own_keys() {
    let model =
        ScriptedModel::new([ChatReply::default().call("book", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![book, key]).policy(Policy::new().approver(AskLater));
    let stopped = agent.run("Go.").await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!("{stopped}") };
    let call = paused.pending()[0].call.id.clone();
    paused.answer(&call, "this", "Ada").unwrap();
    let answer = agent.resume(*paused).finish().await.unwrap();
    let text = answer.transcript[2].text();
    let (first, second) = text.split_once(' ').unwrap();
    assert_ne!(first, second);
}
