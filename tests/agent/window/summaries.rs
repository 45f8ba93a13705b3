//! Summaries of evicted messages, and failures of the summarizer.

use std::error::Error;
use std::sync::{Arc, Mutex};

use tool_runtime::__workspace::WindowState;
use tool_runtime::agent::window::{EvictedMessages, ModelSummarizer, Summarizer, Window};
use tool_runtime::{ChatReply, Message, ScriptedModel, async_trait};

use super::{call_and_result, long, outline};

/// Summarizer that records its input and fails on request.
#[derive(Clone, Default)]
struct RecordingSummarizer {
    inputs: Arc<Mutex<Vec<String>>>,
    behaviors: Arc<Mutex<Vec<Behavior>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Behavior {
    Works,
    Fails,
    Panics,
    Rambles,
}

#[async_trait]
impl Summarizer for RecordingSummarizer {
    async fn summarize(
        &self,
        evicted: &EvictedMessages,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let earlier = evicted.earlier_summary.clone().unwrap_or_default();
        let input = format!("{earlier}|{}", outline(&evicted.messages));
        let mut inputs = self.inputs.lock().unwrap();
        inputs.push(input);
        let number = inputs.len();
        drop(inputs);
        let behavior = self.behaviors.lock().unwrap().pop();
        match behavior.unwrap_or(Behavior::Works) {
            Behavior::Works => Ok(format!("s{number}")),
            Behavior::Fails => Err("no model today".into()),
            Behavior::Panics => panic!("out of words"),
            Behavior::Rambles => Ok("ßü".repeat(10_000)),
        }
    }
}

impl RecordingSummarizer {
    fn with(behaviors: impl IntoIterator<Item = Behavior>) -> Self {
        let mut behaviors: Vec<_> = behaviors.into_iter().collect();
        behaviors.reverse();
        Self { behaviors: Arc::new(Mutex::new(behaviors)), ..Self::default() }
    }
}

/// Returns a conversation of so many exchanges of a hundred tokens, and one more question.
fn exchanges(count: usize) -> (Vec<Message>, usize) {
    let mut messages = vec![Message::system("orders")];
    for number in 0..count {
        messages.push(long(Message::user, &format!("q{number}"), 45));
        messages.push(long(Message::assistant, &format!("a{number}"), 45));
    }
    messages.push(Message::user("go"));
    let run = messages.len() - 1;
    (messages, run)
}

#[tokio::test]
async fn evicted_messages_are_summarized_once() {
    let summarizer = RecordingSummarizer::default();
    let window = Window::new().max_tokens(500).summarizer(summarizer.clone());
    let mut state = WindowState::default();
    let mut texts = Vec::new();
    for count in 1..=9 {
        let (messages, run) = exchanges(count);
        for _ in 0..3 {
            // The state is stored between any two requests.
            state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            let (messages, summary_error) = window.fit(&messages, run, &mut state).await;
            assert!(summary_error.is_none());
            texts = messages.iter().map(Message::text).collect();
        }
    }
    let inputs = summarizer.inputs.lock().unwrap().clone();
    assert_eq!(inputs, ["|q0 a0 q1 a1 q2 a2", "s1|q3 a3 q4 a4 q5 a5"]);
    assert_eq!(state.summary(), Some("s2"));
    let summary = "[Summary of the earlier conversation, which is left out here]\ns2";
    assert_eq!(texts[..2], ["orders", summary]);
    assert!(texts[2].starts_with("q6"));
}

#[tokio::test]
async fn failed_summary_is_retried_with_the_next_eviction() {
    for behavior in [Behavior::Fails, Behavior::Panics] {
        let summarizer = RecordingSummarizer::with([Behavior::Works, behavior]);
        let window = Window::new().max_tokens(500).summarizer(summarizer.clone());
        let mut state = WindowState::default();
        let mut failures = Vec::new();
        for count in [5, 8, 9, 11] {
            let (messages, run) = exchanges(count);
            let (_, summary_error) = window.fit(&messages, run, &mut state).await;
            failures.push(summary_error.map(|error| error.to_string()));
        }
        let cause = match behavior {
            Behavior::Fails => "no model today",
            _ => "panicked: out of words",
        };
        let error = cause.to_owned();
        assert_eq!(failures, [None, Some(error), None, None]);
        // The summarizer is called again with the next eviction, which includes all messages.
        let inputs = summarizer.inputs.lock().unwrap().clone();
        assert_eq!(
            inputs,
            [
                "|q0 a0 q1 a1 q2 a2",
                "s1|q3 a3 q4 a4 q5 a5",
                "s1|q3 a3 q4 a4 q5 a5 q6 a6 q7 a7 q8 a8"
            ]
        );
    }
}

#[tokio::test]
async fn summary_is_truncated_to_a_quarter_of_the_limit() {
    let window =
        Window::new().max_tokens(500).summarizer(RecordingSummarizer::with([Behavior::Rambles]));
    let (messages, run) = exchanges(5);
    let mut state = WindowState::default();
    let (windowed, _) = window.fit(&messages, run, &mut state).await;
    let summary = state.summary().unwrap();
    assert!((300..500).contains(&summary.len()), "{}", summary.len());
    assert!(outline(&windowed).starts_with("orders [Summary q3"));
}

#[tokio::test]
async fn replies_of_the_current_run_are_summarized_after_it_ends() {
    let summarizer = RecordingSummarizer::default();
    let window = Window::new().max_tokens(300).summarizer(summarizer.clone());
    let mut messages = vec![Message::user("go")];
    messages.extend(call_and_result("c1", 200));
    messages.extend(call_and_result("c2", 200));
    let mut state = WindowState::default();
    let (windowed, _) = window.fit(&messages, 0, &mut state).await;
    assert_eq!(outline(&windowed), "go [To !c2 =c2");
    assert!(summarizer.inputs.lock().unwrap().is_empty());
    messages.extend([Message::assistant("done"), Message::user("thanks")]);
    let (windowed, _) = window.fit(&messages, 6, &mut state).await;
    assert_eq!(outline(&windowed), "[Summary thanks");
    assert_eq!(*summarizer.inputs.lock().unwrap(), ["|go !c1 =c1 !c2 =c2 done"]);
}

#[tokio::test]
async fn empty_model_summary_is_an_error() {
    let model = ScriptedModel::new([ChatReply::text(" \n")]);
    let evicted = EvictedMessages::new(vec![Message::user("Hello")], 100).earlier_summary("before");
    let error = ModelSummarizer::new(model).summarize(&evicted).await.unwrap_err();
    assert!(error.to_string().ends_with("the model returned an empty summary"), "{error}");
    // The source is the error of the model.
    let error = ModelSummarizer::new(ScriptedModel::default()).summarize(&evicted).await;
    assert!(error.unwrap_err().to_string().contains("script ends"));
}
