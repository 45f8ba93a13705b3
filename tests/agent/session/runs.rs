//! Runs of sessions: saved at each step, and resumed after an end at any moment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use support::sessions::{Intercepted, OnSave};
use tool_runtime::__workspace::Step;
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionQuery, SessionStore, SessionWrite,
};
use tool_runtime::agent::window::Window;
use tool_runtime::agent::{Limits, Paused, Prompt, RunState, Steering};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::{
    Agent, ChatReply, ContentPart, EffectRecord, Image, Message, Policy, ScriptedModel,
    ScriptedTurn, StopReason, Stopped, ToolContext, ToolOutput, Tools, args, async_trait, tool,
    tools,
};

/// The effects of tools.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

fn note(ctx: &ToolContext, entry: &str) {
    ctx.get::<Log>().unwrap().lock().unwrap().push(entry.to_owned());
}

/// Pays a person.
#[tool(effect = "external")]
async fn pay(to: String, ctx: &ToolContext) -> String {
    note(ctx, &to);
    format!("{to} is paid")
}

/// Looks something up.
#[tool(effect = "read")]
async fn look(ctx: &ToolContext) -> &'static str {
    note(ctx, "look");
    "there"
}

/// Pays a person, once that is approved.
#[tool(effect = "external", permission = "ask")]
async fn spend(ctx: &ToolContext) -> &'static str {
    note(ctx, "spend");
    "spent"
}

/// Replies by the length of the conversation: the same in every process.
struct Story;

#[async_trait]
impl tool_runtime::ChatModel for Story {
    async fn reply(
        &self,
        request: tool_runtime::ChatRequest<'_>,
    ) -> Result<ChatReply, tool_runtime::ModelError> {
        let replies = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. }));
        Ok(match replies.count() {
            0 => ChatReply::text("First.").call("pay", r#"{"to": "a"}"#).call("look", "{}"),
            1 => ChatReply::default().call("pay", r#"{"to": "b"}"#).call("pay", r#"{"to": "c"}"#),
            2 => ChatReply::default().call("look", "{}"),
            _ => ChatReply::text("Done."),
        })
    }
}

pub(super) fn agent(log: &Log) -> Agent {
    Agent::new(Story, tools![pay, look]).extension(Arc::clone(log))
}

/// A store whose process ends before or after the save of this number.
#[derive(Clone, Debug)]
struct Ending {
    saves: Arc<AtomicUsize>,
    dies_at: usize,
    persists: bool,
}

#[async_trait]
impl OnSave for Ending {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let dies = self.saves.fetch_add(1, Ordering::SeqCst) == self.dies_at;
        if dies && !self.persists {
            std::future::pending::<()>().await;
        }
        let saved = store.save(session, write).await;
        if dies {
            std::future::pending::<()>().await;
        }
        saved
    }
}

/// Returns the results by call, one line each.
fn result_lines(messages: &[Message]) -> Vec<String> {
    let results_of = |message: &Message| match message {
        Message::Tool { results } => {
            results.iter().map(|it| it.error.clone().unwrap_or_else(|| it.text.clone())).collect()
        }
        _ => Vec::new(),
    };
    messages.iter().flat_map(results_of).collect()
}

/// Whenever the process ends, the next one completes the run. Only a call that was in flight is
/// indeterminate; no other is lost or made twice.
#[tokio::test(start_paused = true)]
async fn run_resumes_after_an_end_before_or_after_every_save() {
    let mut ends = 0;
    for dies_at in 0..40 {
        for persists in [false, true] {
            let (log, inner) = (Log::default(), MemorySessions::default());
            let saves = Arc::new(AtomicUsize::new(0));
            let on_save = Ending { saves: Arc::clone(&saves), dies_at, persists };
            let store = Intercepted { store: inner.clone(), on_save };
            let session = agent(&log).session(store, "s");
            let wait = std::time::Duration::from_secs(1);
            let ended = tokio::time::timeout(wait, session.run("Go")).await.is_ok();
            if ended {
                assert!(saves.load(Ordering::SeqCst) <= dies_at);
                continue;
            }
            ends += 1;
            let session = agent(&log).session(inner.clone(), "s");
            let answer = match session.resume().await.unwrap() {
                Some(run) => run.finish().await.unwrap(),
                // It ended before the first save, or after the last.
                None => match session.messages().await.unwrap() {
                    none if none.is_empty() => session.run("Go").await.unwrap(),
                    all => {
                        assert_eq!(all.last().unwrap().text(), "Done.");
                        continue;
                    }
                },
            };
            assert_eq!(answer.text, "Done.");
            let results = result_lines(&answer.transcript);
            assert_eq!(results.len(), 5, "{results:?}");
            let log = log.lock().unwrap().clone();
            for (place, user) in [(0, "a"), (2, "b"), (3, "c")] {
                let times = log.iter().filter(|it| *it == user).count();
                match results[place].as_str() {
                    "TOOL_INDETERMINATE" => assert!(times <= 1, "{user} {times}"),
                    paid => assert_eq!((paid, times), (format!("{user} is paid").as_str(), 1)),
                }
            }
            assert_eq!((results[1].as_str(), results[4].as_str()), ("there", "there"));
            let copy = inner.load("s").await.unwrap().unwrap().messages;
            assert_eq!(copy, answer.transcript);
        }
    }
    assert!(ends > 20, "{ends}");
}

#[tokio::test]
async fn session_continues_from_run_to_run() {
    let store = MemorySessions::default();
    let model = Arc::new(ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text("Hi, Ada.")),
        ScriptedTurn::new(ChatReply::default().call("look", "{}")),
        ScriptedTurn::new(ChatReply::text("Ada.")).expect_last("there"),
        ScriptedTurn::new(ChatReply::text("Who?")),
    ]));
    let agent =
        Agent::new(Arc::clone(&model), tools![look]).extension(Log::default()).system("Be brief.");
    let ada = agent.session(store.clone(), "ada");
    ada.run("I am Ada.").await.unwrap();
    let answer = ada.run("Who am I?").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.transcript.len()), ("Ada.", 7));
    assert_eq!(ada.messages().await.unwrap(), answer.transcript);
    assert!(ada.resume().await.unwrap().is_none());
    let other = agent.session(store.clone(), "bob").run("Who am I?").await.unwrap();
    assert_eq!(other.transcript.len(), 3);
    assert_eq!(store.list(SessionQuery::all()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn unfinished_run_is_abandoned_by_the_next_prompt() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&log).session(store.clone(), "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    assert!(matches!(run.turn().next(), Step::RunCalls(_)));
    drop(run);
    let answer = session.run("Never mind.").await.unwrap();
    assert_eq!(result_lines(&answer.transcript)[..2], ["TOOL_CANCELLED", "TOOL_CANCELLED"]);
    assert_eq!(answer.transcript[3].text(), "Never mind.");
    assert!(!log.lock().unwrap().contains(&"a".to_owned()));
}

#[tokio::test]
async fn paused_run_is_saved_and_resumed_with_decisions() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let make = |replies: &[ChatReply]| {
        Agent::new(ScriptedModel::new(replies.to_vec()), tools![spend, look])
            .extension(Arc::clone(&log))
            .policy(Policy::new().approver(AskLater))
            .session(store.clone(), "s")
    };
    let two_calls = ChatReply::default().call("look", "{}").call("spend", "{}");
    let stopped = make(&[two_calls]).run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::AwaitingApproval(_)));
    // Resumed in another process without decisions: it pauses again, and no call is made twice.
    let session = make(&[ChatReply::text("Done.")]);
    let Stopped { reason: StopReason::AwaitingApproval(mut paused), .. } =
        session.resume().await.unwrap().unwrap().finish().await.unwrap_err()
    else {
        panic!()
    };
    let call = paused.pending()[0].call.id.clone();
    paused.decide(&call, Approval::Once, "Grace").unwrap();
    let answer = session.resume_with(*paused).await.unwrap().stream().finish().await.unwrap();
    assert_eq!(
        (answer.text.as_str(), result_lines(&answer.transcript)),
        ("Done.", vec!["there".to_owned(), "spent".into()])
    );
    assert_eq!(*log.lock().unwrap(), ["look", "spend"]);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

#[tokio::test]
async fn session_continues_after_a_stopped_run() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let agent = agent(&log).limits(Limits::default().max_iterations(2));
    let session = agent.session(store, "s");
    let stopped = session.run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::IterationLimit(2)));
    assert_eq!(session.messages().await.unwrap(), stopped.transcript);
    assert!(session.resume().await.unwrap().is_none());
    assert_eq!(session.run("On.").await.unwrap().text, "Done.");
}

/// An empty reply is not emitted again, and the next prompt is saved in one message with the one
/// before.
#[tokio::test]
async fn session_continues_after_an_empty_reply() {
    let store = MemorySessions::default();
    let model = ScriptedModel::new(["", "Yes?", "Fine."].map(ChatReply::text));
    let session = Agent::new(model, Tools::new()).session(store, "s");
    assert!(matches!(session.run("One").await.unwrap_err().reason, StopReason::EmptyReply));
    for text in ["Two", "Three"] {
        let answer = session.run(text).await.unwrap();
        assert_eq!(session.messages().await.unwrap(), answer.transcript);
    }
    let messages = session.messages().await.unwrap();
    let texts: Vec<_> = messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["One\n\nTwo", "Yes?", "Three", "Fine."]);
}

#[tokio::test]
async fn late_decision_is_refused_and_overwrites_nothing() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let replies = [ChatReply::default().call("spend", "{}"), ChatReply::text("As you like.")];
    let session = Agent::new(ScriptedModel::new(replies), tools![spend])
        .extension(Arc::clone(&log))
        .policy(Policy::new().approver(AskLater))
        .session(store, "s");
    let Stopped { reason: StopReason::AwaitingApproval(mut paused), .. } =
        session.run("Go").await.unwrap_err()
    else {
        panic!()
    };
    let refused = session.run("Never mind.").await.unwrap_err();
    let StopReason::PromptRefused(refused_run) = refused.reason else { panic!() };
    assert_eq!(refused_run.pending(), paused.pending());
    let answer = session.clone().abandon_paused().run("Never mind.").await.unwrap();
    let call = paused.pending()[0].call.id.clone();
    paused.decide(&call, Approval::Once, "Grace").unwrap();
    let late = session.resume_with(*paused).await.unwrap_err();
    assert_eq!(
        late.reason.to_string(),
        "session `s` does not wait for these decisions: the conversation has continued without the run"
    );
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
    assert!(log.lock().unwrap().is_empty());
}

/// A paused run of a session is resumed there, once.
#[tokio::test]
async fn run_of_a_session_resumes_only_there_and_once() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let replies = [ChatReply::default().call("spend", "{}"), ChatReply::text("Done.")];
    let agent = Agent::new(ScriptedModel::new(replies), tools![spend])
        .extension(Arc::clone(&log))
        .policy(Policy::new().approver(AskLater));
    let session = agent.session(store.clone(), "s");
    let mut run = session.start("Go").await.unwrap();
    while run.next().await.is_some() {}
    let state = run.state();
    let StopReason::AwaitingApproval(mut paused) = run.finish().await.unwrap_err().reason else {
        panic!()
    };
    paused.decide_each(|_| Approval::Once, "Grace");
    assert_eq!(paused.session(), Some("s"));
    let copy = serde_json::to_string(&paused).unwrap();
    let paused: Paused = serde_json::from_str(&copy).unwrap();
    let other_session =
        [agent.resume(paused.clone()).finish().await, agent.resume(state.clone()).finish().await];
    let values = [paused.clone().into(), state].map(|state: RunState| agent.resume(state));
    for stopped in other_session.map(Result::unwrap_err) {
        assert_eq!(stopped.reason.code(), "BELONGS_TO_SESSION");
        let output = stopped.reason.to_string();
        assert!(
            output.contains("session `s`") && output.contains("session.resume_with(paused)"),
            "{output}"
        );
    }
    for run in values {
        assert_eq!(run.extract::<u8>().await.unwrap_err().reason.code(), "BELONGS_TO_SESSION");
    }
    assert!(log.lock().unwrap().is_empty());
    // Another session refuses it.
    let other_store =
        agent.session(store.clone(), "t").resume_with(paused.clone()).await.unwrap_err();
    assert_eq!(
        other_store.reason.to_string(),
        "session `t` does not wait for these decisions: the run belongs to the session `s`"
    );

    assert_eq!(
        session.resume_with(paused.clone()).await.unwrap().finish().await.unwrap().text,
        "Done."
    );
    let error = session.resume_with(paused).await.unwrap_err();
    let output = error.reason.to_string();
    assert!(
        output.starts_with(
            "session `s` does not wait for these decisions: the run was resumed before"
        ),
        "{output}"
    );
    assert_eq!(*log.lock().unwrap(), ["spend"]);
}

/// Requests a stop.
#[tool(effect = "none")]
async fn enough() -> ToolOutput {
    ToolOutput::text("enough").with_effect(EffectRecord::stop("it is late"))
}

#[tokio::test]
async fn stop_request_leaves_no_pending_call() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let two_calls = ChatReply::default().call("spend", "{}").call("enough", "{}");
    let session = Agent::new(ScriptedModel::new([two_calls]), tools![spend, enough])
        .extension(Arc::clone(&log))
        .policy(Policy::new().approver(AskLater))
        .session(store, "s");
    let stopped = session.run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::StopRequested { .. }), "{stopped}");
    assert_eq!(result_lines(&stopped.transcript), ["TOOL_CANCELLED", "enough"]);
    assert_eq!(session.messages().await.unwrap(), stopped.transcript);
    assert!(session.resume().await.unwrap().is_none());
}

#[tokio::test]
async fn edit_between_steps_is_saved() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&log).session(store, "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    run.turn_mut().edit(|messages| messages[0] = Message::user("Went"));
    let answer = run.finish().await.unwrap();
    assert_eq!(answer.transcript[0], Message::user("Went"));
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

/// The messages that a model received of a conversation of several runs.
#[tokio::test]
async fn window_sends_the_end_of_a_long_session() {
    let store = MemorySessions::default();
    let model = ScriptedModel::new((0..20).map(|turn| {
        let last = ScriptedTurn::new(ChatReply::text(format!("answer {turn} {}", "x".repeat(400))));
        last.expect_last(format!("question {turn}"))
    }));
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let agent = Agent::new(RecordsRequests(model, Arc::clone(&sizes)), Tools::new())
        .system("Be brief.")
        .window(Window::new().max_tokens(600));
    let session = agent.session(store, "s");
    for turn in 0..20 {
        session.run(format!("question {turn}")).await.unwrap();
    }
    assert_eq!(session.messages().await.unwrap().len(), 41, "all of it is kept");
    let sizes = sizes.lock().unwrap();
    assert!(sizes.iter().all(|(count, first)| *count <= 12 && first == "Be brief."), "{sizes:?}");
    // Evicted in steps, so that the provider's cache stays valid in between.
    let grows = sizes.windows(2).filter(|pair| pair[1].0 > pair[0].0).count();
    assert!(grows > 10, "{sizes:?}");
}

struct RecordsRequests(ScriptedModel, Arc<Mutex<Vec<(usize, String)>>>);

#[async_trait]
impl tool_runtime::ChatModel for RecordsRequests {
    async fn reply(
        &self,
        request: tool_runtime::ChatRequest<'_>,
    ) -> Result<ChatReply, tool_runtime::ModelError> {
        self.1.lock().unwrap().push((request.messages.len(), request.messages[0].text()));
        self.0.reply(request).await
    }
}

#[tokio::test]
async fn session_accepts_images() {
    let agent = |model: ScriptedModel| Agent::new(model, Tools::new());
    let store = MemorySessions::default();
    let model = ScriptedModel::new(["A cat.", "It is grey."].map(ChatReply::text));
    let session = agent(model).session(store.clone(), "s");
    let picture =
        ContentPart::Image(Image { media_type: "image/png".into(), base64: "AA==".into() });
    let text = ContentPart::Text { text: "What is this?".into() };
    let question = Message::User { id: None, parts: vec![text, picture] };
    session.run(question.clone()).await.unwrap();
    let answer = session.run(Prompt::from("Which colour?")).await.unwrap();
    assert_eq!((&answer.transcript[0], answer.transcript.len()), (&question, 4));
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
    // Several messages are appended.
    let more =
        vec![Message::user("And this?"), Message::assistant("A dog."), Message::user("Yes?")];
    let model = ScriptedModel::new([ChatReply::text("Yes.")]);
    let answer = agent(model).session(store, "s").run(more).await.unwrap();
    assert_eq!(answer.transcript.len(), 8);
}

/// A number of things.
#[args]
#[derive(Debug, PartialEq)]
struct Count {
    /// The number.
    count: u32,
}

#[tokio::test]
async fn session_extracts_a_value() {
    let store = MemorySessions::default();
    let replies = ["They are two.", r#"{"count": "two"}"#, r#"{"count": 2}"#, "Two, as I said."];
    let agent = Agent::new(ScriptedModel::new(replies.map(ChatReply::text)), tools![look]);
    let session = agent.session(store, "s");
    let value = session.extract::<Count>("How many?").await.unwrap();
    assert_eq!(value.value, Count { count: 2 });
    assert_eq!(session.messages().await.unwrap(), value.transcript);
    assert!(session.resume().await.unwrap().is_none());
    let answer = session.run("How many?").await.unwrap();
    assert_eq!(answer.transcript.len(), value.transcript.len() + 2);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

/// A text added to a saved user message is saved in one message with it.
#[tokio::test]
async fn message_added_to_a_saved_prompt_is_saved_with_it() {
    let steering = Steering::new();
    steering.push("Be brief.").unwrap();
    let model = ScriptedModel::new([ChatReply::text("Yes.")]);
    let agent = Agent::new(model, Tools::new()).steering(&steering);
    let session = agent.session(MemorySessions::default(), "s");
    let answer = session.run("Is it?").await.unwrap();
    let texts: Vec<_> = answer.transcript.iter().map(Message::text).collect();
    assert_eq!(texts, ["Is it?\n\nBe brief.", "Yes."]);
    assert_eq!(session.messages().await.unwrap(), answer.transcript);
}

#[tokio::test]
async fn session_resumes_as_a_stream() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&log).session(store, "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    drop(run);
    let stream = session.resume().await.unwrap().expect("there is something left").stream();
    assert_eq!(stream.finish().await.unwrap().text, "Done.");
    assert!(session.resume().await.unwrap().is_none());
}
