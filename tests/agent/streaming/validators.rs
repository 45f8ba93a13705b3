//! An answer that a validator may reject is not streamed before it is accepted.

use tool_runtime::agent::{AnswerValidator, StreamItem};
use tool_runtime::event::{ModelEvent, Observer, Recorder};
use tool_runtime::{Agent, ChatReply, Event, RunContext, async_trait, tools};

use super::{Pieces, lines, model_event};
use support::conversation::{echo, echo_call};

/// Accepts answers with a source.
struct NamesSource {
    holds_back: bool,
}

#[async_trait]
impl AnswerValidator for NamesSource {
    async fn validate(&self, answer: &str, _: &RunContext<'_>) -> Result<(), String> {
        tokio::task::yield_now().await;
        match answer.contains("Source:") {
            true => Ok(()),
            false => Err("Name your source.".into()),
        }
    }

    fn holds_back_answers(&self) -> bool {
        self.holds_back
    }
}

fn agent(holds_back: bool, bytes: usize) -> Agent {
    let mut call = echo_call("a");
    call.parts.insert(0, ChatReply::text("Let me see.").parts.remove(0));
    let replies =
        [call, ChatReply::text("It is 4."), ChatReply::text("It is 4. Source: the census.")];
    Agent::new(Pieces::new(replies, bytes), tools![echo])
        .answer_validator(NamesSource { holds_back })
}

#[tokio::test]
async fn rejected_answer_is_not_streamed() {
    for bytes in [1, 4, 100] {
        let lines = lines(&mut agent(true, bytes).stream("Go")).await;
        let expected = [
            "model.requested",
            // A reply with calls is no answer.
            "text Let me see.",
            "model.replied",
            "tool.started",
            "tool.running",
            "tool.finished",
            "model.requested",
            "model.replied",
            "model.validation_failed",
            "model.requested",
            "text It is 4. Source: the census.",
            "model.replied",
            "run.finished",
        ];
        assert_eq!(lines[2..], expected);
    }
}

#[tokio::test]
async fn rejected_answer_that_was_streamed_is_named_by_its_event() {
    let mut stream = agent(false, 4).stream("Go");
    let (mut streamed, mut rejected) = (String::new(), None);
    while let Some(item) = stream.next().await {
        if let Some(ModelEvent::ValidationFailed { text, .. }) = model_event(&item) {
            rejected = Some(text.clone());
        }
        if let StreamItem::Text(more) = item {
            streamed.push_str(&more);
        }
    }
    assert_eq!(streamed, "Let me see.It is 4.It is 4. Source: the census.");
    assert_eq!(rejected.as_deref(), Some("It is 4."));
}

/// Never decides.
struct Hangs;

#[async_trait]
impl AnswerValidator for Hangs {
    async fn validate(&self, _: &str, _: &RunContext<'_>) -> Result<(), String> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn reply_that_awaits_its_validators_has_its_event_however_the_run_ends() {
    let model = Pieces::new([ChatReply::text("It is 4.")], 3);
    let agent = Agent::new(model, tools![echo])
        .answer_validator(Hangs)
        .run_timeout(std::time::Duration::from_secs(1));
    let lines = lines(&mut agent.stream("Go")).await;
    assert_eq!(lines[2..], ["model.requested", "model.replied", "run.finished"]);
}

/// Decides at the second attempt: the first one is dropped.
struct DecidesLater(std::sync::atomic::AtomicBool);

#[async_trait]
impl AnswerValidator for DecidesLater {
    async fn validate(&self, _: &str, _: &RunContext<'_>) -> Result<(), String> {
        if !self.0.swap(true, std::sync::atomic::Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn answer_of_a_dropped_step_is_validated_and_emitted_by_the_next_one() {
    let recorder = Recorder::new(100);
    let agent = Agent::new(Pieces::new([ChatReply::text("It is 4.")], 3), tools![echo])
        .answer_validator(DecidesLater(false.into()))
        .observer(Streams)
        .observer(recorder.clone());
    let mut run = agent.start("Go");
    let step = tokio::time::timeout(std::time::Duration::from_secs(1), run.next()).await;
    assert!(step.is_err());
    assert_eq!(run.finish().await.unwrap().text, "It is 4.");
    let names: Vec<_> = recorder.events().iter().map(|event| event.name()).collect();
    assert_eq!(names[2..], ["model.requested", "model.replied", "run.finished"]);
}

/// Makes the model stream.
struct Streams;

impl Observer for Streams {
    fn observe(&self, _: &Event) {}

    fn receives_deltas(&self) -> bool {
        true
    }
}
