//! What falls out is summed up once, and where that fails, the window does without.

use std::sync::{Arc, Mutex};

use tool_runtime::agent::window::{
    EvictedMessages, ModelSummarizer, Summarizer, SummaryError, Window, WindowState,
    WindowedMessages,
};
use tool_runtime::{ChatReply, Message, ScriptedModel, async_trait};

use super::{called, long, outline};

/// Says which it was given, and fails where told.
#[derive(Clone, Default)]
struct Noted {
    asked: Arc<Mutex<Vec<String>>>,
    ways: Arc<Mutex<Vec<Way>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Works,
    Fails,
    Panics,
    Rambles,
}

#[async_trait]
impl Summarizer for Noted {
    async fn summarize(&self, evicted: &EvictedMessages) -> Result<String, SummaryError> {
        let earlier = evicted.earlier_summary.clone().unwrap_or_default();
        let given = format!("{earlier}|{}", outline(&evicted.messages));
        let mut asked = self.asked.lock().unwrap();
        asked.push(given);
        let number = asked.len();
        drop(asked);
        let way = self.ways.lock().unwrap().pop();
        match way.unwrap_or(Way::Works) {
            Way::Works => Ok(format!("s{number}")),
            Way::Fails => Err(SummaryError::new("no model today")),
            Way::Panics => panic!("out of words"),
            Way::Rambles => Ok("ßü".repeat(10_000)),
        }
    }
}

impl Noted {
    fn ways(ways: impl IntoIterator<Item = Way>) -> Self {
        let mut ways: Vec<_> = ways.into_iter().collect();
        ways.reverse();
        Self { ways: Arc::new(Mutex::new(ways)), ..Self::default() }
    }
}

/// A conversation of so many exchanges of a hundred tokens, and one more question.
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
async fn what_falls_out_is_summed_up_once() {
    let noted = Noted::default();
    let window = Window::new().max_tokens(500).summarizer(noted.clone());
    let mut state = WindowState::default();
    let mut sent = Vec::new();
    for count in 1..=9 {
        let (messages, run) = exchanges(count);
        for _ in 0..3 {
            // Kept with the conversation between any two.
            state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            let WindowedMessages { messages, summary_error, .. } =
                window.fit(&messages, run, &mut state).await;
            assert!(summary_error.is_none());
            sent = messages.iter().map(Message::text).collect();
        }
    }
    let asked = noted.asked.lock().unwrap().clone();
    assert_eq!(asked, ["|q0 a0 q1 a1 q2 a2", "s1|q3 a3 q4 a4 q5 a5"]);
    assert_eq!(state.summary(), Some("s2"));
    let summary = "[Summary of the earlier conversation, which is left out here]\ns2";
    assert_eq!(sent[..2], ["orders", summary]);
    assert!(sent[2].starts_with("q6"));
}

#[tokio::test]
async fn where_it_fails_the_window_does_without() {
    for way in [Way::Fails, Way::Panics] {
        let noted = Noted::ways([Way::Works, way]);
        let window = Window::new().max_tokens(500).summarizer(noted.clone());
        let mut state = WindowState::default();
        let mut failures = Vec::new();
        for count in [5, 8, 9, 11] {
            let (messages, run) = exchanges(count);
            let fitted = window.fit(&messages, run, &mut state).await;
            failures.push(fitted.summary_error.map(|error| error.to_string()));
        }
        let told = match way {
            Way::Fails => "no model today",
            _ => "panicked: out of words",
        };
        let told = format!("evicted messages were not summarized: {told}");
        assert_eq!(failures, [None, Some(told), None, None]);
        // Not asked again until more falls out; then nothing is missing.
        let asked = noted.asked.lock().unwrap().clone();
        assert_eq!(
            asked,
            [
                "|q0 a0 q1 a1 q2 a2",
                "s1|q3 a3 q4 a4 q5 a5",
                "s1|q3 a3 q4 a4 q5 a5 q6 a6 q7 a7 q8 a8"
            ]
        );
    }
}

#[tokio::test]
async fn a_summary_takes_a_quarter_of_the_room_at_most() {
    let window = Window::new().max_tokens(500).summarizer(Noted::ways([Way::Rambles]));
    let (messages, run) = exchanges(5);
    let mut state = WindowState::default();
    let fitted = window.fit(&messages, run, &mut state).await;
    let summary = state.summary().unwrap();
    assert!((300..500).contains(&summary.len()), "{}", summary.len());
    assert!(outline(&fitted.messages).starts_with("orders [Summary q3"));
}

#[tokio::test]
async fn calls_of_the_run_itself_are_not_summed_up_before_it_is_over() {
    let noted = Noted::default();
    let window = Window::new().max_tokens(300).summarizer(noted.clone());
    let mut messages = vec![Message::user("go")];
    messages.extend(called("c1", 200));
    messages.extend(called("c2", 200));
    let mut state = WindowState::default();
    let fitted = window.fit(&messages, 0, &mut state).await;
    assert_eq!(outline(&fitted.messages), "go [To !c2 =c2");
    assert!(noted.asked.lock().unwrap().is_empty());
    messages.extend([Message::assistant("done"), Message::user("thanks")]);
    let fitted = window.fit(&messages, 6, &mut state).await;
    assert_eq!(outline(&fitted.messages), "[Summary thanks");
    assert_eq!(*noted.asked.lock().unwrap(), ["|go !c1 =c1 !c2 =c2 done"]);
}

#[tokio::test]
async fn a_model_that_says_nothing_has_not_summed_up() {
    let model = ScriptedModel::new([ChatReply::text(" \n")]);
    let evicted = EvictedMessages::new(vec![Message::user("Hello")], 100).earlier_summary("before");
    let error = ModelSummarizer::new(model).summarize(&evicted).await.unwrap_err();
    assert!(error.to_string().ends_with("the model returned an empty summary"), "{error}");
    // Why it failed is its source.
    let error = ModelSummarizer::new(ScriptedModel::default()).summarize(&evicted).await;
    assert!(error.unwrap_err().to_string().contains("script ends"));
}
