//! Extraction in sessions survives the end of the process.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::sessions::{Intercepted, OnSave};
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, ContentPart, Message, ModelError, ToolContext,
    async_trait, tool, tools,
};

/// Returns the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

/// Calls the clock, answers, and returns the value when it is requested; each takes ten seconds.
struct Slow;

#[async_trait]
impl ChatModel for Slow {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_secs(10)).await;
        Ok(match request.messages.last() {
            Some(message @ Message::User { .. }) if message.text().contains("JSON") => {
                ChatReply::text(r#"{"value": 12}"#)
            }
            Some(Message::User { .. }) => ChatReply::default().call("now", "{}"),
            _ => ChatReply::text("It is noon."),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn extraction_resumes_from_every_phase() {
    for ended_at in [5, 15, 25] {
        let session = Agent::new(Slow, tools![now]).session(MemorySessions::default(), "s");
        let time_limit = Duration::from_secs(ended_at);
        assert!(timeout(time_limit, session.extract::<u32>("What hour is it?")).await.is_err());
        let run = session.resume().await.unwrap();
        let run = run.unwrap_or_else(|| panic!("{ended_at}: no run can be resumed"));
        let value = run.extract::<u32>().await.unwrap();
        assert_eq!(value.value, 12);
        assert_eq!(session.messages().await.unwrap(), value.transcript);
    }
}

/// After its end, another process may run the session, so no request is added to the run.
#[tokio::test(start_paused = true)]
async fn extraction_after_the_end_of_a_run_is_refused() {
    let session = Agent::new(Slow, tools![now]).session(MemorySessions::default(), "s");
    let mut run = session.start("What hour is it?").await.unwrap();
    while run.next().await.is_some() {}
    let stopped = run.extract::<u32>().await.unwrap_err();
    assert!(stopped.to_string().contains("extract before its end"), "{stopped}");
    assert_eq!(session.messages().await.unwrap(), stopped.transcript);
}

#[tokio::test(start_paused = true)]
async fn message_added_between_steps_is_saved_before_the_next() {
    let session = Agent::new(Slow, tools![now]).session(MemorySessions::default(), "s");
    let mut run = session.start("What hour is it?").await.unwrap();
    run.next().await;
    run.next().await;
    run.turn_mut().add_user_parts(vec![ContentPart::Text { text: "Be quick.".into() }]).unwrap();
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let message = session.messages().await.unwrap();
    assert_eq!(message.last().map(Message::text).as_deref(), Some("Be quick."));
}

/// A store whose process ends after so many saves.
#[derive(Debug)]
struct Ending {
    saves: AtomicUsize,
}

#[async_trait]
impl OnSave for Ending {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let left = self
            .saves
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => store.save(session, write).await,
            Err(_) => pending().await,
        }
    }
}

/// Returns an invalid value the first time.
struct Careless;

#[async_trait]
impl ChatModel for Careless {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let message = request.messages.last().map(Message::text).unwrap_or_default();
        let is_over = request.messages.iter().any(|message| message.text().contains("12"));
        assert!(!is_over, "the value is there");
        match request.messages.last() {
            Some(Message::User { .. }) if message.starts_with("That is not it") => {
                Ok(ChatReply::text(r#"{"value": 12}"#))
            }
            Some(Message::User { .. }) if message.contains("JSON") => {
                Ok(ChatReply::text(r#"{"value": "noon"}"#))
            }
            _ => Slow.reply(request).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn extraction_resumes_after_every_save() {
    let time_limit = Duration::from_secs(1_000);
    let mut ends = 0;
    loop {
        let store = MemorySessions::default();
        let session = |saves: usize| {
            let store =
                Intercepted { store: store.clone(), on_save: Ending { saves: saves.into() } };
            Agent::new(Careless, tools![now]).session(store, "s")
        };
        ends += 1;
        let first = session(ends);
        let is_over = timeout(time_limit, first.extract::<u32>("What hour is it?")).await.is_ok();
        let resumed_session = session(usize::MAX);
        let run = resumed_session.resume().await.unwrap();
        if is_over {
            assert!(run.is_none(), "the extraction has ended, but a run was returned");
            break;
        }
        let run = run.unwrap_or_else(|| panic!("{ends}: no run can be resumed"));
        let value = run.extract::<u32>().await.unwrap();
        assert_eq!(value.value, 12);
        let requests =
            value.transcript.iter().filter(|message| message.text().contains("JSON")).count();
        assert_eq!(requests, 2, "{ends}: {:#?}", value.transcript);
        assert_eq!(resumed_session.messages().await.unwrap(), value.transcript);
        assert!(resumed_session.resume().await.unwrap().is_none());
    }
    assert!(ends > 7, "{ends} saves");
}

/// Rings the bell.
#[tool(effect = "external")]
async fn ring(ctx: &ToolContext) {
    ctx.get::<Arc<AtomicUsize>>().unwrap().fetch_add(1, Ordering::Relaxed);
}

/// Calls a tool when the value is requested.
struct CallsForValue;

#[async_trait]
impl ChatModel for CallsForValue {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(match request.messages.last() {
            Some(message @ Message::User { .. }) if message.text().contains("JSON") => {
                ChatReply::default().call("ring", "{}")
            }
            Some(Message::User { .. }) => ChatReply::text("It is noon."),
            _ => ChatReply::text(r#"{"value": 12}"#),
        })
    }
}

/// The request had no tools, and neither has that of the resuming process.
#[tokio::test(start_paused = true)]
async fn calls_in_the_value_phase_are_not_run_after_resuming() {
    let time_limit = Duration::from_secs(1_000);
    for saves in 1.. {
        let (store, rung) = (MemorySessions::default(), Arc::new(AtomicUsize::new(0)));
        let session = |saves: usize| {
            let store =
                Intercepted { store: store.clone(), on_save: Ending { saves: saves.into() } };
            Agent::new(CallsForValue, tools![ring]).extension(Arc::clone(&rung)).session(store, "s")
        };
        let first = session(saves);
        if timeout(time_limit, first.extract::<u32>("What hour is it?")).await.is_ok() {
            assert!(saves > 6, "{saves}");
            break;
        }
        let resumed_session = session(usize::MAX);
        let run = resumed_session.resume().await.unwrap().unwrap();
        assert_eq!(run.extract::<u32>().await.unwrap().value, 12);
        assert_eq!(rung.load(Ordering::Relaxed), 0, "{saves}");
    }
}

/// The next prompt is not answered as a value.
#[tokio::test(start_paused = true)]
async fn abandoned_extraction_leaves_no_request_for_a_value() {
    let asks = |message: &[Message]| message.iter().any(|message| message.text().contains("JSON"));
    for (tools, ended_at) in [(tools![now], 25), (tools![], 5)] {
        let session = Agent::new(Slow, tools).session(MemorySessions::default(), "s");
        let time_limit = Duration::from_secs(ended_at);
        assert!(timeout(time_limit, session.extract::<u32>("What hour is it?")).await.is_err());
        assert!(asks(&session.messages().await.unwrap()), "the session can be continued");
        let answer = session.run("Hello").await.unwrap();
        assert!(!asks(&answer.transcript), "{:?}", answer.transcript);
        assert!(answer.transcript[0].text().starts_with("What hour is it?"));
        assert_eq!(session.messages().await.unwrap(), answer.transcript);
    }
}
