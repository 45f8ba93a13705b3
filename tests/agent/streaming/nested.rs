//! Replies of sub-agents are streamed with their origin.

use std::sync::{Arc, Mutex};

use support::conversation::echo;
use tool_runtime::agent::StreamItem;
use tool_runtime::event::{Observer, Origin};
use tool_runtime::{Agent, ChatReply, Delta, Event, Policy, Tools, tools};

use super::Pieces;

/// Keeps the texts of all runs, each with the depth of its run.
#[derive(Clone, Default)]
struct Texts(Arc<Mutex<Vec<(u32, String)>>>);

impl Observer for Texts {
    fn observe(&self, _: &Event) {}

    fn receives_deltas(&self) -> bool {
        true
    }

    fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
        if let Delta::Text(text) = delta {
            let mut texts = self.0.lock().unwrap();
            match texts.last_mut().filter(|(depth, _)| *depth == origin.depth) {
                Some((_, last)) => last.push_str(text),
                None => texts.push((origin.depth, text.to_owned())),
            }
        }
    }
}

fn agent(bytes: usize, task: &str) -> Agent {
    let inner = ChatReply::text("I echo.").call("echo", r#"{"text": "a"}"#);
    let librarian =
        Agent::new(Pieces::new([inner, ChatReply::text("In 1815.")], bytes), tools![echo])
            .into_tool("librarian", "Looks things up.");
    let call = ChatReply::text("I ask.").call("librarian", format!(r#"{{"task": "{task}"}}"#));
    let model = Pieces::new([call, ChatReply::text("She was born in 1815.")], bytes);
    Agent::new(model, Tools::new().with(librarian))
}

#[tokio::test]
async fn nested_replies_are_streamed_with_the_call_that_they_serve() {
    for bytes in [1, 3, 100] {
        let mut stream = agent(bytes, "Look.").stream("When?");
        let (mut outer_text, mut nested, mut calls) = (String::new(), String::new(), Vec::new());
        let mut outer = None;
        while let Some(item) = stream.next().await {
            match item {
                StreamItem::Text(text) => outer_text.push_str(&text),
                StreamItem::Call { id, .. } => outer = Some(id),
                StreamItem::Nested { origin, item } => {
                    assert_eq!((origin.depth, &origin.parent), (1, &outer));
                    match *item {
                        StreamItem::Text(text) => nested.push_str(&text),
                        StreamItem::Call { name, .. } => calls.push(name),
                        StreamItem::Arguments { .. } => {}
                        item => panic!("{item:?}"),
                    }
                }
                _ => {}
            }
        }
        assert_eq!(outer_text, "I ask.She was born in 1815.");
        assert_eq!(nested, "I echo.In 1815.");
        assert_eq!(calls, ["echo"]);
    }
}

#[tokio::test]
async fn observer_of_deltas_makes_models_stream() {
    let texts = Texts::default();
    agent(2, "Look.").observer(texts.clone()).run("When?").await.unwrap();
    let expected = [(0, "I ask."), (1, "I echo.In 1815."), (0, "She was born in 1815.")]
        .map(|(depth, text)| (depth, text.to_owned()));
    assert_eq!(*texts.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn secrets_of_the_outer_agent_are_redacted_in_nested_replies() {
    for bytes in 1..=8 {
        let reply = ChatReply::text("The key is hunter22, or hunter2");
        let inner =
            Agent::new(Pieces::new([reply], bytes), Tools::new()).into_tool("inner", "Asks.");
        let call = ChatReply::default().call("inner", r#"{"task": "Go"}"#);
        let model = Pieces::new([call, ChatReply::text("Done.")], bytes);
        let texts = Texts::default();
        let agent = Agent::new(model, Tools::new().with(inner))
            .policy(Policy::new().secrets(["hunter22"]))
            .observer(texts.clone());
        agent.run("Go").await.unwrap();
        let nested = texts.0.lock().unwrap()[0].1.clone();
        assert_eq!(nested, "The key is [redacted], or hunter2", "{bytes} bytes");
    }
}
