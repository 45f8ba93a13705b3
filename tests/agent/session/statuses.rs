//! The status of a session through the life of its runs.

use tool_runtime::agent::session::{MemorySessions, SessionQuery, SessionStatus, SessionStore};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{
    Agent, CancellationToken, ChatReply, Policy, ScriptedModel, StopReason, tool, tools,
};

/// Pays a person.
#[tool(effect = "external", permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

/// Looks something up.
#[tool(effect = "read")]
async fn look() -> &'static str {
    "there"
}

fn agent(replies: impl IntoIterator<Item = ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![pay, look])
        .policy(Policy::new().approver(AskLater))
}

fn call(tool: &str) -> ChatReply {
    ChatReply::default().call(tool, r#"{"to": "Ada"}"#)
}

/// Returns the listed status and failure, and checks that a query for the status finds the session.
async fn listed(store: &MemorySessions) -> (SessionStatus, Option<String>) {
    let all = store.list(SessionQuery::all()).await.unwrap();
    let [info] = all.as_slice() else { panic!("{all:?}") };
    let found = store.list(SessionQuery::all().status(info.status)).await.unwrap();
    assert_eq!(found, all);
    (info.status, info.failure.clone())
}

#[tokio::test]
async fn session_is_listed_by_what_its_run_waits_for() {
    let store = MemorySessions::new();
    let agent = agent([
        call("look"),
        ChatReply::text("There."),
        call("pay"),
        ChatReply::text("Paid."),
        ChatReply::default(),
        ChatReply::text("Hi."),
    ]);
    let session = agent.session(store.clone(), "s");
    let mut run = session.start("Look.").await.unwrap();
    run.next().await;
    assert_eq!(listed(&store).await, (SessionStatus::Running, None));
    drop(run);
    tokio::task::yield_now().await;
    assert_eq!(listed(&store).await, (SessionStatus::Interrupted, None));
    session.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!(listed(&store).await, (SessionStatus::Idle, None));

    session.run("Pay.").await.unwrap_err();
    assert_eq!(listed(&store).await, (SessionStatus::Paused, None));
    let refused = session.run("And now?").await.unwrap_err();
    assert!(matches!(refused.reason, StopReason::PromptRefused(_)), "{refused}");
    assert_eq!(listed(&store).await, (SessionStatus::Paused, None));
    let mut paused = session.paused().await.unwrap().unwrap();
    paused.decide_each(|_| Approval::Once, "Grace");
    session.resume_with(paused).await.unwrap().finish().await.unwrap();
    assert_eq!(listed(&store).await, (SessionStatus::Idle, None));

    session.run("Hello").await.unwrap_err();
    assert_eq!(listed(&store).await, (SessionStatus::Failed, Some("EMPTY_REPLY".into())));
    session.run("Hello again").await.unwrap();
    assert_eq!(listed(&store).await, (SessionStatus::Idle, None));
}

/// A service that starts again and again does not resume a run that failed.
#[tokio::test]
async fn failed_run_is_not_resumed_at_each_start() {
    let store = MemorySessions::new();
    let limited = agent([call("look"), call("look")]).max_iterations(1);
    let session = limited.session(store.clone(), "s");
    session.run("Look.").await.unwrap_err();
    for _start in 0..3 {
        assert!(session.resume().await.unwrap().is_none());
        assert_eq!(listed(&store).await, (SessionStatus::Failed, Some("ITERATION_LIMIT".into())));
    }
    let raised = agent([ChatReply::text("There.")]).session(store.clone(), "s");
    let run = raised.resume_failed().await.unwrap().unwrap();
    assert_eq!(run.finish().await.unwrap().text, "There.");
    assert_eq!(listed(&store).await, (SessionStatus::Idle, None));
}

#[tokio::test]
async fn cancelled_run_is_listed_as_interrupted() {
    let (store, stop) = (MemorySessions::new(), CancellationToken::new());
    let first = agent([call("look")]).cancellation(stop.clone()).session(store.clone(), "s");
    let mut run = first.start("Look.").await.unwrap();
    run.next().await;
    stop.cancel();
    assert_eq!(run.finish().await.unwrap_err().reason.code(), "CANCELLED");
    assert_eq!(listed(&store).await, (SessionStatus::Interrupted, None));
    let next = agent([ChatReply::text("There.")]).session(store, "s");
    assert_eq!(next.resume().await.unwrap().unwrap().finish().await.unwrap().text, "There.");
}

#[tokio::test]
async fn truncated_session_waits_for_a_reply_or_for_a_prompt() {
    let store = MemorySessions::new();
    let agent = agent([call("look"), ChatReply::text("There."), ChatReply::text("Here.")]);
    let session = agent.session(store.clone(), "s");
    session.run("Look.").await.unwrap();
    // The prompt, the reply with a call, its result, and the answer.
    for (count, remaining, status) in [
        (4, 4, SessionStatus::Idle),
        (3, 3, SessionStatus::Interrupted),
        (2, 1, SessionStatus::Interrupted),
        (0, 0, SessionStatus::Idle),
    ] {
        assert_eq!(session.truncate(count).await.unwrap(), remaining);
        assert_eq!(listed(&store).await, (status, None), "{count}");
    }
    assert!(session.resume().await.unwrap().is_none(), "there is nothing to answer");
    assert!(session.resume_failed().await.unwrap().is_none());
}
