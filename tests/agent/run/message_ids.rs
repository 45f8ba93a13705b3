//! Messages have ids that are the same while they are streamed, saved and loaded.

use tool_runtime::message::MessageId;
use tool_runtime::{AssistantPart, ToolCall};

use super::*;

/// Returns the ids of user messages and replies.
fn ids(messages: &[Message]) -> Vec<MessageId> {
    let identified =
        messages.iter().filter(|it| matches!(it, Message::User { .. } | Message::Assistant { .. }));
    identified
        .map(|message| message.id().unwrap_or_else(|| panic!("{messages:?}")).clone())
        .collect()
}

/// Returns the ids in events, in order, without repetitions.
fn event_ids(events: &[Event]) -> Vec<MessageId> {
    let ids = events.iter().filter_map(|event| match &event.kind {
        EventKind::Run(RunEvent::MessageAdded { message, .. })
        | EventKind::Model(
            ModelEvent::Requested { message } | ModelEvent::Replied { message, .. },
        ) => message.clone(),
        _ => None,
    });
    let mut ids: Vec<_> = ids.collect();
    ids.dedup();
    ids
}

#[tokio::test]
async fn ids_are_the_same_in_events_and_in_the_loaded_session_and_are_never_used_again() {
    let (store, recorder) = (MemorySessions::new(), Recorder::new(1_000));
    let replies = [
        echo_call("a"),
        ChatReply::text("First."),
        ChatReply::text("Second."),
        ChatReply::text("Third."),
    ];
    let agent = Agent::new(script(replies), tools![echo]).observer(recorder.clone());
    let session = agent.session(store.clone(), "ada");
    session.run("One").await.unwrap();
    session.run("Two").await.unwrap();
    let stored = ids(&session.messages().await.unwrap());
    assert_eq!(stored.len(), 5, "two prompts and three replies");
    assert_eq!(event_ids(&recorder.events()), stored);
    let distinct: std::collections::BTreeSet<_> = stored.iter().collect();
    assert_eq!(distinct.len(), 5);

    // A fork has the same ids, and new ones from there on; so has an edited conversation.
    let messages = session.messages().await.unwrap();
    let count = messages.iter().position(|message| message.id() == Some(&stored[3])).unwrap();
    let fork = session.fork("fork", count).await.unwrap();
    fork.run("Other").await.unwrap();
    let forked = ids(&fork.messages().await.unwrap());
    assert_eq!(forked[..3], stored[..3]);
    assert!(forked[3..].iter().all(|id| !stored.contains(id)), "{forked:?}");
    assert_eq!(ids(&session.messages().await.unwrap()), stored);
}

#[tokio::test]
async fn ids_of_the_program_are_kept_and_growing_messages_keep_theirs() {
    let steering = Steering::new();
    let agent = Agent::new(script([echo_call("a"), ChatReply::text("Done.")]), tools![echo])
        .steering(&steering);
    let mut run = agent.start(vec![Message::user("Go").with_id("browser-1")]);
    steering.push("And hurry.").unwrap();
    while run.next().await.is_some() {}
    let transcript = run.finish().await.unwrap().transcript;
    assert_eq!(transcript[0].id().unwrap().as_str(), "browser-1");
    assert_eq!(transcript[0].text(), "Go\n\nAnd hurry.");
    let answer = Message::assistant("Done.");
    assert_eq!(*transcript.last().unwrap(), answer, "ids are not compared");
    assert_eq!(answer.id(), None);
}

#[tokio::test]
async fn edited_and_resumed_runs_use_no_id_twice() {
    let agent = Agent::new(script([echo_call("a"), echo_call("b")]), tools![echo]);
    let mut run = agent.start("Go");
    run.next().await;
    run.next().await;
    run.turn_mut().edit(|messages| {
        messages.truncate(1);
        messages.push(Message::assistant("In short."));
        messages.push(Message::user("Again"));
    });
    let saved = serde_json::to_string(&run.state()).unwrap();
    let before = ids(run.turn().transcript());
    let agent = Agent::new(script([ChatReply::text("Done.")]), tools![echo]);
    let state: RunState = serde_json::from_str(&saved).unwrap();
    let transcript = agent.resume(state).finish().await.unwrap().transcript;
    let after = ids(&transcript);
    assert_eq!(after[..3], before);
    let numbers: Vec<_> = after.iter().map(|id| id.as_str().rsplit('-').next().unwrap()).collect();
    // A message of the program has a number, and a reply has its turn: the first was removed.
    assert_eq!(numbers, ["m1", "m2", "m3", "2"]);
}

#[tokio::test]
async fn id_of_a_prompt_is_kept_in_a_session_and_after_a_repair() {
    let store = MemorySessions::new();
    let agent =
        Agent::new(script([ChatReply::text("One."), ChatReply::text("Two.")]), tools![echo]);
    let session = agent.session(store, "ada");
    session.run(vec![Message::user("a").with_id("first")]).await.unwrap();
    session.run(vec![Message::user("b").with_id("second")]).await.unwrap();
    let stored = ids(&session.messages().await.unwrap());
    assert_eq!((stored[0].as_str(), stored[2].as_str()), ("first", "second"));

    // An empty reply before the prompt is left out, and a lost result is added.
    let call = Message::reply(vec![AssistantPart::Call(ToolCall::new("c1", "echo", "{}"))]);
    let history = vec![
        Message::user("a").with_id("first"),
        Message::reply(Vec::new()).with_id("empty"),
        Message::user("b").with_id("second"),
        call.with_id("third"),
        Message::user("c").with_id("fourth"),
    ];
    let agent = Agent::new(script([ChatReply::text("Done.")]), tools![echo]);
    let transcript = agent.run(history).await.unwrap().transcript;
    let ids_after: Vec<_> = ids(&transcript).iter().map(|id| id.as_str().to_owned()).collect();
    assert_eq!(ids_after[..3], ["first", "third", "fourth"], "the second message joins the first");
}
