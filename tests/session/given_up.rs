//! What those who watch are told of calls and runs whose process ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::MemoryStore;
use tool_runtime::dispatch::{AskLater, Batch, Dispatch};
use tool_runtime::event::{Event, EventKind, Recorder, RunEvent, RunId};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, Policy, ToolExecution,
    async_trait, tool, tools,
};

/// Sends a letter, which takes long.
#[tool(effect = "external")]
async fn send() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "sent"
}

/// Reads a letter, which takes long.
#[tool(effect = "read")]
async fn read() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "Dear Ada"
}

/// Asks first.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

/// Makes the calls that it is asked for by name, in ten seconds; then says that they are done.
struct Does;

#[async_trait]
impl ChatModel for Does {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_secs(10)).await;
        let Some(said @ Message::User { .. }) = request.messages.last() else {
            return Ok(ChatReply::text("Done."));
        };
        // What is said behind what has no answer joins it.
        let said = said.text().lines().last().unwrap_or_default().to_owned();
        if said.contains("fail") {
            return Err(ModelError::Setup("no".into()));
        }
        let named = ["send", "read", "pay"].into_iter().filter(|name| said.contains(name));
        let reply = named.fold(ChatReply::default(), |reply, name| reply.call(name, "{}"));
        Ok(if reply.calls().next().is_none() { ChatReply::text("Done.") } else { reply })
    }
}

fn agent() -> (Agent, Recorder) {
    let recorder = Recorder::new(1_000);
    let agent = Agent::new(Does, tools![send, read, pay]).policy(Policy::new().approver(AskLater));
    (agent.observer(recorder.clone()), recorder)
}

/// A session in which this was said, and whose process ended so many seconds later; and which run that was.
async fn ended(said: &str, after: u64) -> (Arc<MemoryStore>, RunId) {
    let store = Arc::new(MemoryStore::default());
    let (agent, told) = agent();
    let session = agent.session(Arc::clone(&store), "ada");
    let _ = timeout(Duration::from_secs(after), session.run(said)).await;
    let run = told.events()[0].origin.run;
    (store, run)
}

/// What was told of the ends of calls and runs, of this run.
fn ends(told: &Recorder, run: RunId) -> Vec<String> {
    let end = |event: &Event| match (&event.kind, event.finished()) {
        (EventKind::Run(RunEvent::Finished { code, .. }), _) => Some(format!("run {code:?}")),
        (_, Some(done)) => Some(format!("{} {:?}", done.call.name, done.result.error)),
        _ => None,
    };
    told.events().iter().filter(|event| event.origin.run == run).filter_map(end).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_settled_as_its_run_goes_on_has_an_end() {
    let (store, run) = ended("send, read", 20).await;
    let (agent, told) = agent();
    let answer =
        agent.session(store, "ada").resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!(answer.to_string(), "Done.");
    let wanted = [r#"send Some("TOOL_INDETERMINATE")"#, "read None", "run None"];
    assert_eq!(ends(&told, run), wanted);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_given_up_has_an_end() {
    let table: [(&str, u64, &[&str]); 4] = [
        // While the model was asked; while a call ran; while somebody was waited for.
        ("send", 5, &[r#"run Some("GIVEN_UP")"#]),
        ("send", 20, &[r#"send Some("TOOL_INDETERMINATE")"#, r#"run Some("GIVEN_UP")"#]),
        ("pay", 20, &[r#"pay Some("TOOL_CANCELLED")"#, r#"run Some("GIVEN_UP")"#]),
        // It was stopped, of which somebody was told.
        ("fail", 20, &[]),
    ];
    for (said, after, wanted) in table {
        let (store, run) = ended(said, after).await;
        let (agent, told) = agent();
        let session = agent.session(store, "ada");
        session.run("Hello").await.unwrap();
        assert_eq!(ends(&told, run), wanted, "{said} {after}");
        session.run("Hello again").await.unwrap();
        assert_eq!(ends(&told, run), wanted, "{said} {after}: told once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_step_is_dropped_has_one_end() {
    let (agent, told) = agent();
    let mut run = agent.start("send");
    run.next().await;
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let id = run.id();
    run.finish().await.unwrap();
    assert_eq!(ends(&told, id), [r#"send Some("TOOL_INDETERMINATE")"#, "run None"]);
}

/// In words, though it was asked for a value: whoever wants that may still have it.
#[tokio::test(start_paused = true)]
async fn a_run_that_was_gone_on_with_in_words_has_one_end() {
    let (agent, told) = agent();
    let session = agent.session(MemoryStore::default(), "ada");
    let soon = Duration::from_secs(5);
    assert!(timeout(soon, session.extract::<String>("Well?")).await.is_err());
    let run = told.events()[0].origin.run;
    session.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert!(session.resume().await.unwrap().is_some());
    session.run("Hello").await.unwrap();
    assert_eq!(ends(&told, run), [r#"run Some("DROPPED")"#, "run None"]);
}

/// Takes long.
struct Elsewhere;

#[async_trait]
impl Dispatch for Elsewhere {
    async fn dispatch(&self, _: Batch) -> Vec<ToolExecution> {
        sleep(Duration::from_secs(60)).await;
        Vec::new()
    }
}

/// As one has that is made here.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_elsewhere_has_one_end() {
    for drops in [true, false] {
        let (agent, told) = agent();
        let agent = agent.dispatch(Elsewhere);
        let mut run = agent.start("send");
        run.next().await;
        if drops {
            assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
        }
        let id = run.id();
        run.finish().await.unwrap();
        assert_eq!(ends(&told, id), [r#"send Some("TOOL_INDETERMINATE")"#, "run None"]);
    }
}
