//! Titles and principals of sessions.

use tool_runtime::agent::session::{
    MemorySessions, Session, SessionError, SessionQuery, SessionStore, default_title,
};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, StopReason, tool, tools};

/// Pays a person.
#[tool(effect = "external", permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

fn agent(replies: impl IntoIterator<Item = ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![pay]).policy(Policy::new().approver(AskLater))
}

async fn labels(session: &Session) -> (Option<String>, Option<String>) {
    let info = session.info().await.unwrap().unwrap();
    (info.principal, info.title)
}

fn owned(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn principal_and_title_stay_with_a_session_its_copies_and_its_new_names() {
    let store = MemorySessions::new();
    let agent = agent(["One.", "Two.", "Three."].map(ChatReply::text));
    let session = agent.session(store.clone(), "s").principal("ada");
    assert!(matches!(session.set_title("early").await, Err(SessionError::NotFound { .. })));
    session.run("What should I wear?").await.unwrap();
    assert_eq!(labels(&session).await, (owned("ada"), None));
    let title = default_title(&session.messages().await.unwrap());
    session.set_title(title.as_deref()).await.unwrap();

    // While a run is in progress, whose writes keep the title.
    let mut run = session.start("And in Oslo?").await.unwrap();
    session.set_title("Oslo").await.unwrap();
    while run.next().await.is_some() {}
    run.finish().await.unwrap();
    // A handle without a principal may continue it, and it stays that of the session.
    agent.session(store.clone(), "s").run("And in Rome?").await.unwrap();
    assert_eq!(labels(&session).await, (owned("ada"), owned("Oslo")));

    let copy = session.fork("copy", 2).await.unwrap();
    session.set_title(None).await.unwrap();
    let renamed = copy.rename("branch").await.unwrap();
    assert_eq!(labels(&renamed).await, (owned("ada"), owned("Oslo")));
    assert_eq!(labels(&session).await, (owned("ada"), None));
    renamed.truncate(1).await.unwrap();
    assert_eq!(labels(&renamed).await, (owned("ada"), owned("Oslo")));
    let of_ada = store.list(SessionQuery::all().principal("ada")).await.unwrap();
    assert_eq!(of_ada.len(), 2);
}

#[tokio::test]
async fn session_of_another_principal_is_refused_by_each_method() {
    let store = MemorySessions::new();
    let agent = agent([ChatReply::default().call("pay", r#"{"to": "Ada"}"#)]);
    let of_ada = agent.session(store.clone(), "s").principal("ada");
    of_ada.run("Pay Ada.").await.unwrap_err();
    let mut paused = of_ada.paused().await.unwrap().unwrap();
    paused.decide_each(|_| Approval::Once, "Grace");

    let of_bob = agent.session(store.clone(), "s").principal("bob");
    let refused = |result: Result<(), SessionError>| {
        assert!(
            matches!(result, Err(SessionError::OtherPrincipal { ref session }) if session == "s"),
            "{result:?}"
        );
    };
    refused(of_bob.info().await.map(drop));
    refused(of_bob.messages().await.map(drop));
    refused(of_bob.paused().await.map(drop));
    refused(of_bob.set_title("mine").await);
    refused(of_bob.fork("copy", 1).await.map(drop));
    refused(of_bob.truncate(0).await.map(drop));
    refused(of_bob.rename("mine").await.map(drop));
    refused(of_bob.delete().await);
    for stopped in [
        of_bob.run("Hello").await.unwrap_err(),
        of_bob.resume().await.unwrap_err(),
        of_bob.resume_failed().await.unwrap_err(),
        of_bob.resume_with(paused).await.unwrap_err(),
    ] {
        match stopped.reason {
            StopReason::Session(error) => refused(Err(error)),
            other => panic!("{other}"),
        }
    }
    // Nothing has changed, and the session is free.
    assert_eq!(labels(&of_ada).await, (owned("ada"), None));
    assert!(of_ada.paused().await.unwrap().is_some());
    assert!(store.locks().try_lock("s").is_some());
}

#[tokio::test]
async fn session_without_a_principal_accepts_every_principal() {
    let store = MemorySessions::new();
    let agent = agent(["One.", "Two."].map(ChatReply::text));
    agent.session(store.clone(), "s").run("Hello").await.unwrap();
    let session = agent.session(store.clone(), "s").principal("ada");
    session.run("Hello").await.unwrap();
    assert_eq!(labels(&session).await, (None, None));
}
