//! The paused run of a session is read without being resumed.

use std::sync::{Arc, Mutex};

use tool_runtime::agent::Paused;
use tool_runtime::agent::session::{MemorySessions, Session, SessionError};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{
    Agent, ChatReply, Message, Policy, ScriptedModel, ScriptedTurn, Stopped, ToolContext,
    ToolResult, tool, tools,
};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String, ctx: &ToolContext) -> String {
    ctx.get::<Log>().unwrap().0.lock().unwrap().push(format!("pay {to}"));
    format!("{to} is paid")
}

/// Sends a mail.
#[tool(effect = "external")]
async fn mail(to: String, ctx: &ToolContext) -> String {
    ctx.get::<Log>().unwrap().0.lock().unwrap().push(format!("mail {to}"));
    format!("sent to {to}")
}

/// Never returns.
#[tool(effect = "external")]
async fn hang() -> &'static str {
    std::future::pending().await
}

fn session(store: &MemorySessions, log: &Log, turns: Vec<ScriptedTurn>) -> Session {
    let agent = Agent::new(ScriptedModel::new(turns), tools![pay, mail, hang])
        .policy(Policy::new().approver(AskLater))
        .extension(log.clone());
    agent.session(store.clone(), "ada")
}

fn reply(calls: &[(&str, &str)]) -> ScriptedTurn {
    let reply = calls
        .iter()
        .fold(ChatReply::default(), |reply, (tool, arguments)| reply.call(*tool, *arguments));
    reply.into()
}

const TO_ADA: &str = r#"{"to": "Ada"}"#;
const TO_BOB: &str = r#"{"to": "Bob"}"#;

fn last_results(messages: &[Message]) -> &[ToolResult] {
    match messages.last() {
        Some(Message::Tool { results }) => results,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn paused_run_is_read_in_another_process_and_decided() {
    let (store, log) = (MemorySessions::new(), Log::default());
    let first = session(&store, &log, vec![reply(&[("pay", TO_ADA), ("mail", TO_BOB)])]);
    assert!(first.paused().await.unwrap().is_none(), "the session does not exist yet");
    let stopped = first.run("Pay Ada and tell Bob.").await.unwrap_err();

    let second = session(&store, &log, vec![ChatReply::text("Done.").into()]);
    let read: Vec<Paused> = [second.paused().await, second.paused().await]
        .into_iter()
        .map(|paused| paused.unwrap().unwrap())
        .collect();
    // Reading changes nothing: no call is made, and the second reading returns the same run.
    assert_eq!(log.entries(), ["mail Bob"]);
    assert!(read[0] == read[1]);
    let tools: Vec<_> = read[0].pending().iter().map(|pending| pending.tool.as_str()).collect();
    assert_eq!(tools, ["pay"]);
    assert_eq!(read[0].session(), Some("ada"));

    // The messages are those of the stopped run, with a result for each call.
    let messages = second.messages().await.unwrap();
    let codes = |messages: &[Message]| -> Vec<_> {
        last_results(messages).iter().map(|result| result.error.clone()).collect()
    };
    assert_eq!(codes(&messages), codes(&stopped.transcript));
    assert_eq!(messages.len(), stopped.transcript.len());
    assert_eq!(last_results(&messages)[1].text, "sent to Bob");

    let mut paused = read.into_iter().next().unwrap();
    paused.decide_each(|_| Approval::Once, "Grace");
    let answer = second.resume_with(paused).await.unwrap().finish().await.unwrap();
    assert_eq!(answer.to_string(), "Done.");
    assert_eq!(log.entries(), ["mail Bob", "pay Ada"]);
    assert!(second.paused().await.unwrap().is_none());
}

#[tokio::test]
async fn run_that_was_interrupted_is_not_paused() {
    let (store, log) = (MemorySessions::new(), Log::default());
    let first =
        session(&store, &log, vec![reply(&[("pay", TO_ADA), ("mail", TO_BOB), ("hang", "{}")])]);
    let run = tokio::spawn(async move { first.run("Pay Ada and tell Bob.").await });
    while log.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    run.abort();
    let _: Result<Result<_, Stopped>, _> = run.await;

    let second = session(&store, &log, vec![]);
    assert!(second.paused().await.unwrap().is_none());
    assert_eq!(log.entries(), ["mail Bob"], "reading runs nothing");
}

#[tokio::test]
async fn resumed_or_abandoned_run_is_not_paused() {
    let (store, log) = (MemorySessions::new(), Log::default());
    let calls = || reply(&[("pay", TO_ADA)]);
    let first = session(&store, &log, vec![calls(), calls(), ChatReply::text("Fine.").into()]);
    first.run("Pay Ada.").await.unwrap_err();
    let first = first.abandon_paused();
    first.run("Pay Ada now.").await.unwrap_err();
    let paused = first.paused().await.unwrap().unwrap();
    assert_eq!(paused.pending().len(), 1, "only the last run waits");
    first.run("Never mind.").await.unwrap();
    assert!(first.paused().await.unwrap().is_none());
    let stale = first.resume_with(paused).await.unwrap_err();
    assert!(stale.to_string().contains("the conversation has continued"), "{stale}");
}

#[tokio::test]
async fn unreadable_record_is_an_error() {
    use tool_runtime::agent::session::{SessionStore, SessionWrite};
    let (store, log) = (MemorySessions::new(), Log::default());
    store.save("ada", SessionWrite::create().state("no state")).await.unwrap();
    let paused = session(&store, &log, vec![]).paused().await;
    assert!(matches!(paused, Err(SessionError::Corrupt { .. })), "{paused:?}");
}
