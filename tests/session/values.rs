//! What is asked within a run, by whoever holds it, outlives the process that the model is asked in.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::Memory;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, UserPart, async_trait, tool,
    tools,
};

/// Tells the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

/// Looks at the clock, says what it saw, and gives it as a value where it is asked for one; each takes ten seconds.
struct Slow;

#[async_trait]
impl ChatModel for Slow {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_secs(10)).await;
        Ok(match request.messages.last() {
            Some(said @ Message::User { .. }) if said.text().contains("JSON") => {
                ChatReply::text(r#"{"value": 12}"#)
            }
            Some(Message::User { .. }) => ChatReply::default().call("now", "{}"),
            _ => ChatReply::text("It is noon."),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_is_gone_on_to_wherever_the_model_was() {
    for ended_at in [5, 15, 25] {
        let session = Agent::new(Slow, tools![now]).session(Memory::default(), "s");
        let soon = Duration::from_secs(ended_at);
        assert!(timeout(soon, session.extract::<u32>("What hour is it?")).await.is_err());
        let run = session.resume_iterate().await.unwrap();
        let run = run.unwrap_or_else(|| panic!("{ended_at}: there is nothing to go on with"));
        let given = run.extract::<u32>().await.unwrap();
        assert_eq!(given.value, 12);
        assert_eq!(session.messages().await.unwrap(), given.transcript);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_between_two_steps_is_kept_before_the_next() {
    let session = Agent::new(Slow, tools![now]).session(Memory::default(), "s");
    let mut run = session.iterate("What hour is it?").await.unwrap();
    run.next().await;
    run.next().await;
    run.turn_mut().add(vec![UserPart::Text { text: "Be quick.".into() }]).unwrap();
    assert!(timeout(Duration::from_secs(5), run.next()).await.is_err());
    let said = session.messages().await.unwrap();
    assert_eq!(said.last().map(Message::text).as_deref(), Some("Be quick."));
}
