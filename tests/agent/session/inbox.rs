//! Messages that are delivered once: by their keys, and from a store that all processes share.

use std::future::ready;
use std::sync::{Arc, Mutex};

use support::sessions::OnSave;
use tokio::task::yield_now;
use tool_runtime::agent::session::{
    MemorySessions, Session, SessionError, SessionStore, SessionWrite,
};
use tool_runtime::agent::{CompletedStep, Inbox, Steering};
use tool_runtime::event::Recorder;
use tool_runtime::records::{Expected, MemoryRecords, Records, StoreError};
use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, Tools, async_trait, tool, tools};

use super::process::Process;
use crate::intercepted::{Intercepted, Operation};

/// Looks something up.
#[tool(effect = "read")]
async fn look() -> &'static str {
    "there"
}

fn looks(count: usize) -> Vec<ChatReply> {
    let mut replies = vec![ChatReply::default().call("look", "{}"); count];
    replies.push(ChatReply::text("Done."));
    replies
}

fn agent(replies: Vec<ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![look])
}

/// Returns how often a text occurs in the messages of the user.
async fn count(session: &Session, text: &str) -> usize {
    let messages = session.messages().await.unwrap();
    let texts = messages.iter().filter(|message| matches!(message, Message::User { .. }));
    texts.map(|message| message.text().matches(text).count()).sum()
}

#[tokio::test]
async fn message_with_a_known_key_is_delivered_once() {
    let (store, steering) = (MemorySessions::new(), Steering::new());
    let session = |replies| agent(replies).steering(&steering).session(store.clone(), "s");
    let for_session = steering.for_session("s");
    let first = session(looks(3));
    for_session.push_once("1", "Be brief.").unwrap();
    for_session.push_once("1", "Be brief.").unwrap();
    assert_eq!(for_session.len(), 1);
    let mut run = first.start("Look.").await.unwrap();
    assert!(matches!(run.next().await, Some(CompletedStep::Steered)));
    for_session.push_once("1", "Be brief.").unwrap();
    for_session.push_once("2", "Be polite.").unwrap();
    run.next().await.unwrap();
    drop(run);

    // Another process takes the run over, and the sender repeats its message.
    for_session.push_once("1", "Be brief.").unwrap();
    session(looks(0)).resume().await.unwrap().unwrap().finish().await.unwrap();
    // The session remembers the keys in its next run, and after an edit.
    let last = session(vec![ChatReply::text("Hi."), ChatReply::text("Hi.")]);
    for_session.push_once("1", "Be brief.").unwrap();
    last.run("Hello").await.unwrap();
    last.truncate(usize::MAX).await.unwrap();
    for_session.push_once("1", "Be brief.").unwrap();
    last.run("Hello").await.unwrap();
    assert!(for_session.is_empty());
    assert_eq!((count(&last, "Be brief.").await, count(&last, "Be polite.").await), (1, 1));
}

#[tokio::test]
async fn run_without_a_session_remembers_its_keys() {
    let steering = Steering::new();
    let agent = agent(looks(2)).steering(&steering);
    let mut run = agent.start("Look.");
    steering.for_run(run.id()).push_once("1", "Be brief.").unwrap();
    run.next().await.unwrap();
    run.next().await.unwrap();
    let state = serde_json::to_string(&run.state()).unwrap();
    drop(run);
    let run = agent.resume(serde_json::from_str::<tool_runtime::agent::RunState>(&state).unwrap());
    steering.for_run(run.id()).push_once("1", "Be brief.").unwrap();
    let answer = run.finish().await.unwrap();
    let texts: String = answer.transcript.iter().map(Message::text).collect();
    assert_eq!(texts.matches("Be brief.").count(), 1, "{texts}");
}

#[tokio::test]
async fn message_in_the_store_reaches_a_run_in_progress_and_the_next_run() {
    let (store, records) = (MemorySessions::new(), MemoryRecords::new());
    // Two processes: handles with nothing in common but the stores.
    let (runner_inbox, sender_inbox) = (Inbox::new(records.clone()), Inbox::new(records.clone()));
    let session = agent(looks(1)).inbox(&runner_inbox).session(Process::of(&store), "s");
    let mut run = session.start("Look.").await.unwrap();
    run.next().await.unwrap();
    sender_inbox.push_once("s", "b", "And then?").await.unwrap();
    sender_inbox.push_once("s", "a", "Be brief.").await.unwrap();
    sender_inbox.push_once("t", "a", "Of another session.").await.unwrap();
    while run.next().await.is_some() {}
    run.finish().await.unwrap();
    let last = session.messages().await.unwrap();
    let user = last.iter().rev().find(|message| matches!(message, Message::User { .. }));
    assert_eq!(user.unwrap().text(), "And then?\n\nBe brief.", "in the order of their times");
    assert_eq!(
        (runner_inbox.count("s").await.unwrap(), runner_inbox.count("t").await.unwrap()),
        (0, 1)
    );

    // It waits while no run is in progress, and is not delivered again under its key.
    sender_inbox.push_once("s", "a", "Be brief.").await.unwrap();
    sender_inbox.push_once("s", "c", "Be polite.").await.unwrap();
    let session = agent(looks(0)).inbox(&runner_inbox).session(Process::of(&store), "s");
    session.run("Hello").await.unwrap();
    assert_eq!((count(&session, "Be brief.").await, count(&session, "Be polite.").await), (1, 1));
}

#[tokio::test]
async fn message_that_arrives_with_the_answer_continues_the_run() {
    let inbox = Inbox::new(MemoryRecords::new());
    let replies = vec![ChatReply::text("Oslo is cold."), ChatReply::text("Bergen is cold.")];
    let session = agent(replies).inbox(&inbox).session(MemorySessions::new(), "s");
    let mut run = session.start("How is Oslo?").await.unwrap();
    run.next().await.unwrap();
    inbox.push_once("s", "1", "I meant Bergen.").await.unwrap();
    assert_eq!(run.finish().await.unwrap().text, "Bergen is cold.");
}

#[tokio::test]
async fn names_and_keys_of_sessions_are_separate_and_deleted_with_the_session() {
    let inbox = Inbox::new(MemoryRecords::new());
    let names = ["s", "s\"", "s\",\"", "", "[\"s\",", "S"];
    for (index, name) in names.iter().enumerate() {
        for key in ["1", "\",\"1", ""] {
            inbox.push_once(name, key, format!("{index}")).await.unwrap();
        }
    }
    for name in names {
        assert_eq!(inbox.count(name).await.unwrap(), 3, "{name}");
    }
    let agent = Agent::new(ScriptedModel::default(), Tools::new()).inbox(&inbox);
    agent.session(MemorySessions::new(), "s").delete().await.unwrap();
    for name in names {
        assert_eq!(inbox.count(name).await.unwrap(), if name == "s" { 0 } else { 3 }, "{name}");
    }
}

#[tokio::test]
async fn inbox_that_fails_is_reported_once_and_stops_no_run() {
    #[derive(Clone)]
    struct Broken(Arc<Mutex<usize>>);
    let records = MemoryRecords::new();
    let fails = Broken(Arc::default());
    let store = {
        let (records, fails) = (records.clone(), fails.clone());
        Intercepted::new(records, move |operation, _| {
            let mut count = fails.0.lock().unwrap();
            *count += usize::from(operation == Operation::List);
            let is_cut_off = operation == Operation::List && *count <= 2;
            let cut_off = || StoreError::unavailable("the connection was cut off");
            ready(if is_cut_off { Err(cut_off()) } else { Ok(()) })
        })
    };
    let (inbox, recorder) = (Inbox::new(store), Recorder::new(1_000));
    records
        .save("inbox", "[\"s\",\"1\"]", Expected::Absent, "{\"text\":\"Be brief.\"}", Some(1))
        .await
        .unwrap();
    records.save("inbox", "[\"s\",\"2\"]", Expected::Absent, "no JSON", Some(2)).await.unwrap();
    let agent = agent(looks(3)).inbox(&inbox).observer(recorder.clone());
    let session = agent.session(MemorySessions::new(), "s");
    assert_eq!(session.run("Look.").await.unwrap().text, "Done.");
    // Two failures in a row, and then the message that can't be read.
    let errors = recorder.filter(|event| event.name() == "run.inbox_failed");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].to_string().contains("cut off"), "{}", errors[0]);
    assert_eq!(count(&session, "Be brief.").await, 1);
}

/// Ends a process at each await in turn: the future of its run is dropped after so many polls.
async fn deliver_with_kills<S: SessionStore + Clone + 'static>(
    store: S,
    records: impl Records + Clone + 'static,
    name: &str,
    polls: usize,
) {
    let inbox = Inbox::new(records);
    inbox.push_once(name, "1", "Be brief.").await.unwrap();
    let session = agent(looks(2)).inbox(&inbox).session(store.clone(), name);
    {
        let run = async {
            let mut run = session.start("Look.").await.unwrap();
            while run.next().await.is_some() {}
        };
        let mut run = std::pin::pin!(run);
        let mut left = polls;
        std::future::poll_fn(|cx| {
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            left -= 1;
            run.as_mut().poll(cx)
        })
        .await;
    }
    // The sender does not know whether its message has arrived.
    inbox.push_once(name, "1", "Be brief.").await.unwrap();
    let next = agent(looks(2)).inbox(&inbox).session(store.clone(), name);
    match next.resume().await.unwrap() {
        Some(run) => drop(run.finish().await.unwrap()),
        None => drop(next.run("Hello").await.unwrap()),
    }
    assert_eq!(count(&next, "Be brief.").await, 1, "after {polls} polls");
    let last = agent(looks(0)).inbox(&inbox).session(store, name);
    last.run("Hello").await.unwrap();
    assert_eq!(count(&last, "Be brief.").await, 1, "after {polls} polls");
    assert_eq!(inbox.count(name).await.unwrap(), 0, "after {polls} polls");
}

/// Waits before and after each save, so that a process can end there.
#[derive(Clone, Debug)]
struct SavesSlowly;

#[async_trait]
impl OnSave for SavesSlowly {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        yield_now().await;
        let saved = store.save(session, write).await;
        yield_now().await;
        saved
    }
}

#[tokio::test]
async fn message_is_delivered_once_wherever_its_process_ends() {
    let (store, records) = (MemorySessions::new(), MemoryRecords::new());
    for polls in 0..40 {
        let store = support::sessions::Intercepted { store: store.clone(), on_save: SavesSlowly };
        let records = Intercepted::new(records.clone(), |_, _| async {
            yield_now().await;
            Ok(())
        });
        deliver_with_kills(store, records, &format!("s{polls}"), polls).await;
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn message_in_a_shared_sqlite_file_is_delivered_once_wherever_its_process_ends() {
    let store = tool_runtime::store::Sqlite::in_memory().unwrap();
    let records = store.records().await.unwrap();
    for polls in 0..40 {
        deliver_with_kills(store.clone(), records.clone(), &format!("s{polls}"), polls).await;
    }
}

/// Each sender has its own keys, and many of one displace none of the other.
#[tokio::test]
async fn keys_of_steering_and_of_the_inbox_are_independent() {
    let (inbox, steering) = (Inbox::new(MemoryRecords::new()), Steering::new());
    let session =
        agent(looks(2)).inbox(&inbox).steering(&steering).session(MemorySessions::new(), "s");
    inbox.push_once("s", "1", "From the inbox.").await.unwrap();
    for number in 0..100 {
        steering
            .for_session("s")
            .push_once(number.to_string(), format!("Pushed {number}."))
            .unwrap();
    }
    session.run("Look.").await.unwrap();
    for text in ["From the inbox.", "Pushed 1.", "Pushed 99."] {
        assert_eq!(count(&session, text).await, 1, "{text}");
    }
    assert_eq!(inbox.count("s").await.unwrap(), 0);
}
