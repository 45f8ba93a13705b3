//! Sessions that earlier versions have written are read and continued.
//!
//! `tests/golden/sessions` has a session of each kind, as an SQLite file and as JSON, and a paused
//! run.

use serde_json::Value;
use tool_runtime::agent::Paused;
use tool_runtime::agent::session::{MemoryStore, SessionRecord, SessionStore, SessionWrite};
use tool_runtime::agent::window::Window;
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{Agent, ChatReply, Message, Policy, ScriptedModel, StopReason, tool, tools};

/// Returns the weather.
#[tool(effect = "read")]
async fn forecast(city: String) -> String {
    format!("{city}: light rain")
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String, #[arg(secret)] pin: String) -> String {
    format!("{to} is paid with {} digits", pin.len())
}

/// Waits.
#[tool]
async fn wait() -> String {
    std::future::pending().await
}

fn agent() -> Agent {
    let model = ScriptedModel::new(["Done.", "Done again."].map(ChatReply::text));
    Agent::new(model, tools![forecast, pay, wait])
        .system("Be brief.")
        .policy(Policy::new().approver(AskLater))
}

/// Returns the records of the JSON file by name.
fn records() -> Vec<(String, SessionRecord)> {
    let records: Vec<Value> =
        serde_json::from_str(include_str!("../../golden/sessions/records.json")).unwrap();
    let record = |record: &Value| {
        let messages: Vec<Message> = serde_json::from_value(record["messages"].clone()).unwrap();
        let [session, state] = ["session", "state"].map(|key| record[key].as_str().unwrap());
        let revision = record["revision"].as_u64().unwrap();
        (session.to_owned(), SessionRecord::new(messages, state, revision))
    };
    records.iter().map(record).collect()
}

/// Returns a store with the records of the JSON file.
async fn store() -> MemoryStore {
    let store = MemoryStore::new();
    for (session, record) in records() {
        let write = SessionWrite::create().messages(0, &record.messages).state(&record.state);
        store.save(&session, write).await.unwrap();
    }
    store
}

/// Checks that each session continues as it was left.
async fn check(store: impl SessionStore + Clone + 'static) {
    let session = |name: &str| agent().session(store.clone(), name);
    for name in ["answered", "windowed"] {
        let before = session(name).messages().await.unwrap();
        assert!(session(name).resume().await.unwrap().is_none(), "{name}");
        let answer = session(name).run("And now?").await.unwrap();
        assert_eq!(answer.text, "Done.", "{name}");
        assert_eq!(answer.transcript[..before.len()], before, "{name}");
    }
    for (name, results) in [
        ("interrupted", vec!["Oslo: light rain".to_owned()]),
        ("in_flight", vec!["Oslo: light rain".into(), "TOOL_INDETERMINATE".into()]),
    ] {
        let run = session(name).resume().await.unwrap().unwrap();
        let answer = run.finish().await.unwrap();
        assert_eq!(answer.text, "Done.", "{name}");
        let found = answer.transcript.iter().rev().find_map(|message| match message {
            Message::Tool { results } => Some(results),
            _ => None,
        });
        let found = found.into_iter().flatten();
        let found: Vec<_> =
            found.map(|it| it.error.clone().unwrap_or_else(|| it.text.clone())).collect();
        assert_eq!(found, results, "{name}");
    }
    let loaded = session("paused").paused().await.unwrap().unwrap();
    let pending: Vec<_> = loaded.pending().iter().map(|it| it.arguments["to"].clone()).collect();
    assert_eq!(pending, ["Ada", "Grace"]);
    // The paused run was stored apart, with a decision on the first call.
    let mut paused: Paused =
        serde_json::from_str(include_str!("../../golden/sessions/paused.json")).unwrap();
    paused.decide_each(|_| Approval::Deny("not today".into()), "Grace");
    let resumed = session("paused").resume_with(paused).await.unwrap().finish().await;
    // An earlier version did not record the definitions of the tools, so the calls are asked again.
    let StopReason::AwaitingApproval(mut paused) = resumed.unwrap_err().reason else { panic!() };
    paused.decide_each(|_| Approval::Deny("not today".into()), "Grace");
    let answer = session("paused").resume_with(*paused).await.unwrap().finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
}

#[tokio::test]
async fn records_of_an_earlier_version_are_continued() {
    check(store().await).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn file_of_an_earlier_version_is_continued() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden");
    std::fs::create_dir_all(&folder).unwrap();
    for (version, bytes) in [
        (1, &include_bytes!("../../golden/sessions/sessions.db")[..]),
        // With checksums.
        (2, include_bytes!("../../golden/sessions/sessions_2.db")),
        // With checksums that are bound to the sessions.
        (3, include_bytes!("../../golden/sessions/sessions_3.db")),
    ] {
        let file = folder.join(format!("sessions-{version}-{}.db", std::process::id()));
        std::fs::write(&file, bytes).unwrap();
        let store = tool_runtime::store::Sqlite::open(&file).await.unwrap();
        for (session, record) in records() {
            let loaded = store.load(&session).await.unwrap();
            assert_eq!(loaded, Some(record), "{session} of version {version}");
        }
        check(store).await;
        std::fs::remove_file(file).unwrap();
    }
}

/// The second prompt loads the window only: the first one has stored what that takes.
#[tokio::test]
async fn windowed_session_of_an_earlier_version_is_loaded_in_parts() {
    let model = ScriptedModel::new(["Done.", "Done again."].map(ChatReply::text));
    let agent = Agent::new(model, tools![forecast]).window(Window::new().max_tokens(300));
    let session = agent.session(store().await, "windowed");
    let all = session.messages().await.unwrap().len();
    assert_eq!(session.run("And now?").await.unwrap().transcript.len(), all + 2);
    let answer = session.run("And then?").await.unwrap();
    assert!(answer.transcript.len() < all, "{}", answer.transcript.len());
    assert_eq!(session.messages().await.unwrap().len(), all + 4);
}
