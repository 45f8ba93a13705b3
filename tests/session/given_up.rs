//! Events of calls and runs whose process ended.

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

/// Sends a letter, slowly.
#[tool(effect = "external")]
async fn send() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "sent"
}

/// Reads a letter, slowly.
#[tool(effect = "read")]
async fn read() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "Dear Ada"
}

/// Pays with approval.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

/// Model that calls the tools named in the prompt after ten seconds, and then answers.
struct Does;

#[async_trait]
impl ChatModel for Does {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_secs(10)).await;
        let Some(said @ Message::User { .. }) = request.messages.last() else {
            return Ok(ChatReply::text("Done."));
        };
        // A prompt after an unanswered one is merged with it.
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

/// Starts a run in a session and ends the process after so many seconds. Returns the store and the
/// run.
async fn ended(said: &str, after: u64) -> (Arc<MemoryStore>, RunId) {
    let store = Arc::new(MemoryStore::default());
    let (agent, told) = agent();
    let session = agent.session(Arc::clone(&store), "ada");
    let _ = timeout(Duration::from_secs(after), session.run(said)).await;
    let run = told.events()[0].origin.run;
    (store, run)
}

/// Returns the emitted ends of the calls and of the run.
fn ends(told: &Recorder, run: RunId) -> Vec<String> {
    let end = |event: &Event| match (&event.kind, event.finished()) {
        (EventKind::Run(RunEvent::Finished { code, .. }), _) => Some(format!("run {code:?}")),
        (_, Some(done)) => Some(format!("{} {:?}", done.call.name, done.result.error)),
        _ => None,
    };
    told.events().iter().filter(|event| event.origin.run == run).filter_map(end).collect()
}

#[tokio::test(start_paused = true)]
async fn interrupted_call_emits_its_end_when_the_run_resumes() {
    let (store, run) = ended("send, read", 20).await;
    let (agent, told) = agent();
    let answer =
        agent.session(store, "ada").resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!(answer.to_string(), "Done.");
    let wanted = [r#"send Some("TOOL_INDETERMINATE")"#, "read None", "run None"];
    assert_eq!(ends(&told, run), wanted);
}

#[tokio::test(start_paused = true)]
async fn abandoned_run_emits_its_end() {
    let table: [(&str, u64, &[&str]); 4] = [
        // The process ended during a request, during a call, and while an approval was pending.
        ("send", 5, &[r#"run Some("GIVEN_UP")"#]),
        ("send", 20, &[r#"send Some("TOOL_INDETERMINATE")"#, r#"run Some("GIVEN_UP")"#]),
        ("pay", 20, &[r#"pay Some("TOOL_CANCELLED")"#, r#"run Some("GIVEN_UP")"#]),
        // The run was stopped, and its end was emitted.
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
async fn call_of_a_dropped_step_emits_one_end() {
    let (agent, told) = agent();
    let mut run = agent.start("send");
    run.next().await;
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let id = run.id();
    run.finish().await.unwrap();
    assert_eq!(ends(&told, id), [r#"send Some("TOOL_INDETERMINATE")"#, "run None"]);
}

/// An extraction is resumed as an ordinary run. The value can still be extracted later.
#[tokio::test(start_paused = true)]
async fn extraction_resumed_in_words_emits_one_end() {
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

/// Slow remote dispatcher.
struct Elsewhere;

#[async_trait]
impl Dispatch for Elsewhere {
    async fn dispatch(&self, _: Batch) -> Vec<ToolExecution> {
        sleep(Duration::from_secs(60)).await;
        Vec::new()
    }
}

/// Remote calls emit one end, like local ones.
#[tokio::test(start_paused = true)]
async fn remote_call_emits_one_end() {
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
