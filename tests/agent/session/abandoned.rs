//! The events of calls and runs whose process ended.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::sessions::{Intercepted, OnSave};
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};
use tool_runtime::agent::{Limits, StreamItem};
use tool_runtime::dispatch::{AskLater, Batch, Dispatch};
use tool_runtime::event::{EventKind, Recorder, RunEvent, RunId};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Event, Message, ModelError, Policy, ScriptedModel,
    ToolCall, ToolExecution, ToolResult, async_trait, tool, tools,
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

/// Stamps a letter, at once.
#[tool(effect = "external")]
async fn stamp() -> &'static str {
    "stamped"
}

/// Requires approval.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

/// Makes the calls named in the prompt after ten seconds, then answers.
struct CallsByName;

#[async_trait]
impl ChatModel for CallsByName {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_secs(10)).await;
        let Some(message @ Message::User { .. }) = request.messages.last() else {
            return Ok(ChatReply::text("Done."));
        };
        // A prompt after an unanswered one is appended to it.
        let message = message.text().lines().last().unwrap_or_default().to_owned();
        if message.contains("fail") {
            return Err(ModelError::Setup("no".into()));
        }
        let named =
            ["send", "read", "pay", "stamp"].into_iter().filter(|name| message.contains(name));
        let reply = named.fold(ChatReply::default(), |reply, name| reply.call(name, "{}"));
        Ok(if reply.calls().next().is_none() { ChatReply::text("Done.") } else { reply })
    }
}

fn agent() -> (Agent, Recorder) {
    let recorder = Recorder::new(1_000);
    let agent = Agent::new(CallsByName, tools![send, read, pay, stamp])
        .policy(Policy::new().approver(AskLater));
    (agent.observer(recorder.clone()), recorder)
}

/// Returns a session whose process ended so many seconds after this prompt, and the id of its run.
async fn ended(message: &str, after: u64) -> (Arc<MemorySessions>, RunId) {
    let store = Arc::new(MemorySessions::default());
    let (agent, output) = agent();
    let session = agent.session(Arc::clone(&store), "ada");
    let _ = timeout(Duration::from_secs(after), session.run(message)).await;
    let run = output.events()[0].origin.run;
    (store, run)
}

/// Returns the ends of calls and runs that were emitted for this run.
fn emitted_ends(output: &Recorder, run: RunId) -> Vec<String> {
    let end = |event: &Event| match (&event.kind, event.execution()) {
        (EventKind::Run(RunEvent::Finished { code, .. }), _) => Some(format!("run {code:?}")),
        (_, Some(execution)) => {
            Some(format!("{} {:?}", execution.call.name, execution.result.error))
        }
        _ => None,
    };
    output.events().iter().filter(|event| event.origin.run == run).filter_map(end).collect()
}

#[tokio::test(start_paused = true)]
async fn call_answered_on_resume_emits_its_end() {
    let (store, run) = ended("send, read", 20).await;
    let (agent, output) = agent();
    let answer =
        agent.session(store, "ada").resume().await.unwrap().unwrap().finish().await.unwrap();
    assert_eq!(answer.to_string(), "Done.");
    let expected = [r#"send Some("TOOL_INDETERMINATE")"#, "read None", "run None"];
    assert_eq!(emitted_ends(&output, run), expected);
}

#[tokio::test(start_paused = true)]
async fn abandoned_run_emits_its_end() {
    let table: [(&str, u64, &[&str]); 4] = [
        // During the model request, during a call, and while a call was pending.
        ("send", 5, &[r#"run Some("ABANDONED")"#]),
        ("send", 20, &[r#"send Some("TOOL_INDETERMINATE")"#, r#"run Some("ABANDONED")"#]),
        ("pay", 20, &[r#"pay Some("TOOL_CANCELLED")"#, r#"run Some("ABANDONED")"#]),
        // The run stopped, and its end was emitted.
        ("fail", 20, &[]),
    ];
    for (message, after, expected) in table {
        let (store, run) = ended(message, after).await;
        let (agent, output) = agent();
        let session = agent.session(store, "ada").abandon_paused();
        session.run("Hello").await.unwrap();
        assert_eq!(emitted_ends(&output, run), expected, "{message} {after}");
        session.run("Hello again").await.unwrap();
        assert_eq!(emitted_ends(&output, run), expected, "{message} {after}: told once");
    }
}

#[tokio::test(start_paused = true)]
async fn interrupted_call_mentions_effects_unless_it_is_repeatable() {
    let (agent, output) = agent();
    let session = agent.session(MemorySessions::default(), "ada");
    let _ = timeout(Duration::from_secs(20), session.run("send, read")).await;
    session.run("Hello").await.unwrap();
    let texts_of = |name: &str| -> Vec<_> {
        let events = output.events();
        let ends = events.iter().filter_map(Event::execution).filter(|it| it.call.name == name);
        let mut texts: Vec<_> = ends.map(|it| it.result.text.clone()).collect();
        texts.sort_unstable();
        texts
    };
    // The end of each is emitted once: here as its task is dropped, before the next prompt abandons
    // the run.
    assert_eq!(
        texts_of("send"),
        ["The call was stopped before it had a result; it may have had effects."]
    );
    assert_eq!(
        texts_of("read"),
        ["The call was stopped before it had a result. Call it again if you need the result."]
    );
    let messages = session.messages().await.unwrap();
    let results = messages.iter().find_map(|message| match message {
        Message::Tool { results } => Some(results),
        _ => None,
    });
    let texts: Vec<_> = results.unwrap().iter().map(|it| (&*it.tool, it.text.as_str())).collect();
    assert_eq!(
        texts,
        [
            (
                "send",
                "The run was interrupted while this call was running; it may have had effects."
            ),
            (
                "read",
                "The run was interrupted while this call was running. Call it again if you need \
                 the result."
            ),
        ]
    );
    assert!(results.unwrap().iter().all(|it| it.error.as_deref() == Some("TOOL_INDETERMINATE")));
}

#[tokio::test(start_paused = true)]
async fn call_of_a_dropped_step_emits_one_end() {
    let (agent, output) = agent();
    let mut run = agent.start("send");
    run.next().await;
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let id = run.id();
    run.finish().await.unwrap();
    assert_eq!(emitted_ends(&output, id), [r#"send Some("TOOL_INDETERMINATE")"#, "run None"]);
}

/// The result of a call that ended in a dropped step is known, so the model receives it.
#[tokio::test(start_paused = true)]
async fn finished_call_of_a_dropped_step_keeps_its_result() {
    let (agent, output) = agent();
    let mut run = agent.start("send, stamp");
    run.next().await;
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let id = run.id();
    let answer = run.finish().await.unwrap();
    let expected = ["stamp None", r#"send Some("TOOL_INDETERMINATE")"#, "run None"];
    assert_eq!(emitted_ends(&output, id), expected);
    let results = answer.transcript.iter().find_map(|message| match message {
        Message::Tool { results } => Some(results),
        _ => None,
    });
    let texts: Vec<_> = results.unwrap().iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts[1], "stamped", "{texts:?}");
}

/// A store that hangs in the first write after the end of a call was emitted.
#[derive(Clone, Debug)]
struct HangsOnce {
    output: Recorder,
    has_hung: Arc<AtomicBool>,
}

#[async_trait]
impl OnSave for HangsOnce {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let has_ended = self.output.events().iter().any(|event| event.execution().is_some());
        if has_ended && !self.has_hung.swap(true, Ordering::Relaxed) {
            pending::<()>().await;
        }
        store.save(session, write).await
    }
}

/// The calls of such a run have ended, but their results are lost with the write.
#[tokio::test(start_paused = true)]
async fn call_whose_result_was_not_saved_emits_one_end() {
    for (is_remote, abandons) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut agent, output) = agent();
        if is_remote {
            agent = agent.dispatch_with(PromptDispatch);
        }
        let store =
            Intercepted::new(HangsOnce { output: output.clone(), has_hung: Arc::default() });
        let session = agent.session(store, "ada");
        assert!(timeout(Duration::from_secs(20), session.run("stamp")).await.is_err());
        let run = output.events()[0].origin.run;
        if abandons {
            session.run("Hello").await.unwrap();
        } else {
            session.resume().await.unwrap().unwrap().finish().await.unwrap();
        }
        let ends = emitted_ends(&output, run);
        let of_call: Vec<_> = ends.iter().filter(|it| it.starts_with("stamp")).collect();
        assert_eq!(of_call, ["stamp None"], "{is_remote} {abandons}");
        let messages = session.messages().await.unwrap();
        let results = messages.iter().find_map(|message| match message {
            Message::Tool { results } => Some(results),
            _ => None,
        });
        assert_eq!(results.unwrap()[0].error.as_deref(), Some("TOOL_INDETERMINATE"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_of_a_large_dropped_step_emits_one_end() {
    const CALLS: u32 = 1_100;
    for resumes in [false, true] {
        let recorder = Recorder::new(10_000);
        let calls = (0..CALLS).fold(ChatReply::default(), |reply, _| reply.call("send", "{}"));
        let model = ScriptedModel::new([calls, ChatReply::text("Done.")]);
        let agent = Agent::new(model, tools![send])
            .limits(Limits::default().max_calls_per_reply(CALLS).max_repeats(None))
            .observer(recorder.clone());
        let mut run = agent.start("Go");
        run.next().await;
        assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
        if resumes {
            let state = run.state();
            drop(run);
            run = agent.resume(state);
        }
        run.finish().await.unwrap();
        // The runtime drops the tasks of the calls once it is idle.
        sleep(Duration::from_secs(1)).await;
        let ends = recorder.events().iter().filter(|event| event.execution().is_some()).count();
        assert_eq!(ends, usize::try_from(CALLS).unwrap(), "{resumes}");
    }
}

/// Resumed to its text although it owes a value, which can still be extracted.
#[tokio::test(start_paused = true)]
async fn extraction_resumed_to_text_emits_one_end() {
    let (agent, output) = agent();
    let session = agent.session(MemorySessions::default(), "ada");
    let limit = Duration::from_secs(5);
    assert!(timeout(limit, session.extract::<String>("Well?")).await.is_err());
    let run = output.events()[0].origin.run;
    session.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert!(session.resume().await.unwrap().is_some());
    session.run("Hello").await.unwrap();
    assert_eq!(emitted_ends(&output, run), [r#"run Some("DROPPED")"#, "run None"]);
}

/// Returns slowly.
struct RemoteDispatch;

#[async_trait]
impl Dispatch for RemoteDispatch {
    async fn dispatch(&self, _: Batch) -> Vec<ToolExecution> {
        sleep(Duration::from_secs(60)).await;
        Vec::new()
    }
}

/// Returns the results at once.
struct PromptDispatch;

#[async_trait]
impl Dispatch for PromptDispatch {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        let ended = |call: &ToolCall| {
            ToolExecution::new(call.clone(), ToolResult::success(call, "stamped"))
        };
        batch.calls.iter().map(ended).collect()
    }
}

/// The same for a local call.
#[tokio::test(start_paused = true)]
async fn remote_call_emits_one_end() {
    for drops in [true, false] {
        let (agent, output) = agent();
        let agent = agent.dispatch_with(RemoteDispatch);
        let mut run = agent.start("send");
        run.next().await;
        if drops {
            assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
        }
        let id = run.id();
        run.finish().await.unwrap();
        assert_eq!(emitted_ends(&output, id), [r#"send Some("TOOL_INDETERMINATE")"#, "run None"]);
    }
}

#[tokio::test(start_paused = true)]
async fn stream_has_no_events_of_the_run_that_it_replaces() {
    let (store, abandoned) = ended("send read", 15).await;
    let (agent, output) = agent();
    let mut stream = agent.session(store, "ada").stream("Hello").await.unwrap();
    let mut streamed = Vec::new();
    while let Some(item) = stream.next().await {
        if let StreamItem::Event(event) = item {
            streamed.push(event);
        }
    }
    stream.finish().await.unwrap();
    // Observers of the agent receive the end of the abandoned run; the stream is that of the new.
    assert!(!emitted_ends(&output, abandoned).is_empty());
    assert!(streamed.iter().all(|event| event.origin.run != abandoned), "{streamed:?}");
    let is_end = |event: &&Event| matches!(event.kind, EventKind::Run(RunEvent::Finished { .. }));
    assert_eq!(streamed.iter().filter(is_end).count(), 1);
    assert!(streamed.last().as_ref().is_some_and(is_end));
}
