//! Forked, renamed and truncated sessions, and stores behind a pointer.

use tool_runtime::agent::Limits;
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionQuery, SessionStore};
use tool_runtime::dispatch::AskLater;
use tool_runtime::{Agent, ChatReply, Message, Policy, ScriptedModel, Tools, tool, tools};

/// Looks something up.
#[tool(effect = "read")]
async fn look() -> &'static str {
    "there"
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay() {}

fn agent(replies: impl IntoIterator<Item = ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![look, pay])
        .system("Be brief.")
        .policy(Policy::new().approver(AskLater))
}

/// Returns a conversation of seven messages, of which two are calls with results.
async fn conversation(store: &MemorySessions) -> Vec<Message> {
    let replies = [
        ChatReply::default().call("look", "{}"),
        ChatReply::text("There."),
        ChatReply::text("Bye."),
    ];
    let session = agent(replies).session(store.clone(), "ada");
    session.run("Look.").await.unwrap();
    session.run("Bye.").await.unwrap().transcript
}

/// Whether each call has a result right behind it.
fn has_no_open_calls(messages: &[Message]) -> bool {
    messages.iter().enumerate().all(|(index, message)| {
        message.calls().next().is_none()
            || matches!(messages.get(index + 1), Some(Message::Tool { .. }))
    })
}

#[tokio::test]
async fn fork_and_truncate_keep_the_first_messages_and_leave_no_open_call() {
    let all = conversation(&MemorySessions::new()).await;
    assert_eq!(all.len(), 7);
    for count in 0..=all.len() + 2 {
        let store = MemorySessions::new();
        conversation(&store).await;
        // A reply with calls is left out if its results are.
        let expected = if count == 3 { 2 } else { count.min(all.len()) };
        let session = agent([ChatReply::text("Again.")]).session(store.clone(), "ada");
        let fork = session.fork("fork", count).await.unwrap();
        assert_eq!(fork.name(), "fork");
        let forked = fork.messages().await.unwrap();
        assert_eq!(forked.len(), expected, "{count}");
        assert_eq!(session.messages().await.unwrap().len(), all.len(), "{count}");

        assert_eq!(session.truncate(count).await.unwrap(), expected, "{count}");
        let messages = session.messages().await.unwrap();
        assert!(messages == forked && has_no_open_calls(&messages), "{count}: {messages:?}");

        // Both are continued like any other conversation.
        let answer = session.run("Again?").await.unwrap();
        assert_eq!(answer.text, "Again.", "{count}");
        assert_eq!(session.messages().await.unwrap(), answer.transcript, "{count}");
    }
}

#[tokio::test]
async fn truncated_prompt_is_answered_anew() {
    let store = MemorySessions::new();
    conversation(&store).await;
    let session = agent([ChatReply::text("So long.")]).session(store, "ada");
    session.truncate(6).await.unwrap();
    let answer = session.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!((answer.text.as_str(), answer.transcript.len()), ("So long.", 7));
    assert!(session.resume().await.unwrap().is_none());
}

#[tokio::test]
async fn open_calls_of_unfinished_and_paused_runs_are_left_out() {
    let store = MemorySessions::new();
    let pays = || agent([ChatReply::default().call("pay", "{}"), ChatReply::text("Fine.")]);
    let paused = pays().session(store.clone(), "paused");
    paused.run("Pay.").await.unwrap_err();
    let unfinished = agent([ChatReply::default().call("look", "{}"), ChatReply::text("Fine.")])
        .session(store.clone(), "unfinished");
    let mut run = unfinished.start("Look.").await.unwrap();
    run.next().await;
    drop(run);
    for session in [paused, unfinished] {
        let name = session.name().to_owned();
        let fork = session.fork(format!("{name} fork"), usize::MAX).await.unwrap();
        assert_eq!(fork.messages().await.unwrap().len(), 2, "{name}");
        assert_eq!(session.truncate(usize::MAX).await.unwrap(), 2, "{name}");
        assert!(session.paused().await.unwrap().is_none(), "{name}");
        assert_eq!(session.run("Well?").await.unwrap().text, "Fine.", "{name}");
    }
}

#[tokio::test]
async fn edits_of_missing_and_existing_sessions_are_errors() {
    let store = MemorySessions::new();
    conversation(&store).await;
    let [ada, none] = ["ada", "none"].map(|name| agent([]).session(store.clone(), name));
    let other = ada.fork("other", 2).await.unwrap();
    for missing in [
        none.fork("new", 1).await.map(drop),
        none.truncate(1).await.map(drop),
        none.rename("new").await.map(drop),
    ] {
        let is_missing =
            matches!(&missing, Err(SessionError::NotFound { session }) if session == "none");
        assert!(is_missing, "{missing:?}");
    }
    for existing in [ada.fork("other", 1).await, ada.rename("other").await] {
        let Err(SessionError::AlreadyExists { session }) = existing else { panic!() };
        assert_eq!(session, "other");
    }
    let renamed = other.rename("renamed").await.unwrap();
    assert_eq!((renamed.name(), renamed.messages().await.unwrap().len()), ("renamed", 2));
    assert!(other.messages().await.unwrap().is_empty());
    let names = store.list(SessionQuery::all()).await.unwrap();
    assert!(names.iter().map(|info| info.session.as_str()).eq(["ada", "renamed"]));
}

#[tokio::test]
async fn boxed_store_serves_an_agent() {
    // A program chooses its store when it starts.
    let store: Box<dyn SessionStore> = Box::new(MemorySessions::new());
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    let session = agent.limits(Limits::default()).session(store, "ada");
    assert_eq!(session.run("Hello").await.unwrap().text, "Hi!");
}
