//! Validators of answers.

use tool_runtime::agent::AnswerValidator;
use tool_runtime::{Policy, RunContext};

use super::*;

/// Accepts answers that contain a word; panics at `!`.
struct Contains(&'static str);

#[async_trait]
impl AnswerValidator for Contains {
    async fn validate(&self, answer: &str, _: &RunContext<'_>) -> Result<(), String> {
        assert!(!answer.contains('!'), "on purpose");
        if answer.contains(self.0) { Ok(()) } else { Err(format!("Say {}.", self.0)) }
    }
}

fn agent(model: ScriptedModel) -> Agent {
    Agent::new(model, tools![echo])
        .answer_validator(Contains("red"))
        .answer_validator(Contains("blue"))
}

#[tokio::test]
async fn rejected_answer_is_sent_back_with_the_feedback() {
    let recorder = Recorder::new(100);
    let model = script([
        ChatReply::text("green"),
        ChatReply::default().call("echo", r#"{"text": "red"}"#),
        ChatReply::text("red"),
        ChatReply::text("red and blue"),
    ]);
    let answer = agent(model).observer(recorder.clone()).run("Name colors.").await.unwrap();
    assert_eq!(answer.text, "red and blue");
    let texts: Vec<_> = answer.transcript.iter().map(Message::text).collect();
    let expected =
        ["Name colors.", "green", "Say red.", "", "red", "red", "Say blue.", "red and blue"];
    assert_eq!(texts, expected);
    let rejected: Vec<_> = recorder
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Model(ModelEvent::ValidationFailed { text, reason, attempt }) => {
                Some((text, reason, attempt))
            }
            EventKind::Run(RunEvent::MessageAdded { text, .. }) => {
                assert!(!text.starts_with("Say"), "the event has the feedback already");
                None
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        rejected,
        [("green".into(), "Say red.".into(), 1), ("red".into(), "Say blue.".into(), 2)]
    );
}

#[tokio::test]
async fn run_stops_after_too_many_rejections_in_a_row() {
    for attempts in [1, 2] {
        let replies = ["secret-77 one", "secret-77 two"].map(ChatReply::text);
        let policy = Policy::new().secrets(["secret-77"]);
        let agent = agent(script(replies)).max_answer_attempts(attempts).policy(policy);
        let stopped = agent.run("Go").await.unwrap_err();
        let StopReason::AnswerRejected { attempts: count, text, reason } = &stopped.reason else {
            panic!("{stopped}")
        };
        assert_eq!((*count, reason.as_str()), (attempts, "Say red."));
        assert!(text.starts_with("[redacted]"), "{text}");
        assert_eq!(stopped.reason.code(), "ANSWER_REJECTED");
    }
}

#[tokio::test]
async fn panic_of_a_validator_stops_the_run() {
    let stopped = agent(script([ChatReply::text("red!")])).run("Go").await.unwrap_err();
    let StopReason::AnswerRejected { reason, .. } = &stopped.reason else { panic!("{stopped}") };
    assert_eq!(reason, "an answer validator panicked: on purpose");
}

#[tokio::test]
async fn limit_of_requests_ends_the_rejections() {
    let replies = ["one", "two", "three"].map(ChatReply::text);
    let stopped = agent(script(replies))
        .max_answer_attempts(9)
        .max_iterations(2)
        .run("Go")
        .await
        .unwrap_err();
    assert!(matches!(stopped.reason, StopReason::IterationLimit(2)), "{stopped}");
}

#[tokio::test]
async fn rejections_are_counted_across_a_resume() {
    let replies = ["one", "two", "three"].map(ChatReply::text);
    let agent = agent(script(replies));
    let mut run = agent.start("Go");
    let mut saved = Vec::new();
    while run.next().await.is_some() {
        saved.push(serde_json::to_string(&run.state()).unwrap());
    }
    let state: RunState = serde_json::from_str(&saved[1]).unwrap();
    let stopped = agent_with("three").resume(state).finish().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::AnswerRejected { attempts: 3, .. }), "{stopped}");
}

fn agent_with(answer: &str) -> Agent {
    agent(script([ChatReply::text(answer)]))
}

#[tokio::test]
async fn value_is_validated_by_its_type_alone() {
    let value =
        agent(script([ChatReply::text("red and blue"), ChatReply::text(r#"{"value": 7}"#)]))
            .extract::<u32>("How many?")
            .await;
    assert_eq!(value.unwrap().value, 7);
}
