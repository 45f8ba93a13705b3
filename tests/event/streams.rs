//! Redaction of the pieces of a stream, as that of events.

use std::collections::BTreeMap;

use serde_json::json;
use tool_runtime::Reasoning;
use tool_runtime::agent::StreamItem;
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, Policy,
    ScriptedModel, async_trait, models::DeltaSink, tool, tools,
};

const KEY: &str = "k3y \"0f\" the house";

/// A model that streams its replies in pieces of so many characters.
struct Pieces(ScriptedModel, usize);

#[async_trait]
impl ChatModel for Pieces {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.reply(request).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let mut emit = |delta: Delta<'_>| {
            let (text, with): (&str, Box<dyn for<'d> Fn(&'d str) -> Delta<'d>>) = match delta {
                Delta::Text(text) => (text, Box::new(|text| Delta::Text(text))),
                Delta::Reasoning(text) => (text, Box::new(|text| Delta::Reasoning(text))),
                Delta::Arguments { index, text } => {
                    (text, Box::new(move |text| Delta::Arguments { index, text }))
                }
                other => return deltas(other),
            };
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(self.1) {
                deltas(with(&piece.iter().collect::<String>()));
            }
        };
        self.0.stream(request, &mut emit).await
    }
}

/// Logs in.
#[tool(effect = "read")]
async fn login(user: String, #[arg(secret)] word: String) -> String {
    format!("{user} {}", word.len())
}

/// Says something.
#[tool(effect = "read")]
async fn echo(text: String) -> String {
    text
}

fn replies() -> [ChatReply; 3] {
    let mut first = ChatReply::text(format!("I take {KEY}, or {}.", json!(KEY)))
        .call("login", r#"{"user": "ada", "word": "hunter22"}"#)
        .call("echo", json!({ "text": format!("{KEY}!") }).to_string())
        .call("logn", r#"{"user": "ada", "word": "hunter33"}"#);
    let reasoning = Reasoning::new("", format!("The key is {KEY}"), json!(null));
    first.parts.insert(0, AssistantPart::Reasoning(reasoning));
    [
        first,
        ChatReply::text("hunter22 it was, in base64 aHVudGVyMjI= and hunter2"),
        ChatReply::text("Plain."),
    ]
}

#[tokio::test]
async fn streamed_pieces_are_redacted_like_events() {
    for size in [1, 2, 5, 1_000] {
        let model = Pieces(ScriptedModel::new(replies()), size);
        let agent = Agent::new(model, tools![login, echo]).policy(Policy::new().secrets([KEY]));
        let mut stream = agent.stream("Go");
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), BTreeMap::new());
        let (mut streamed, mut emitted) = (Vec::new(), Vec::new());
        while let Some(item) = stream.next().await {
            match item {
                StreamItem::Text(more) => text += &more,
                StreamItem::Reasoning(more) => reasoning += &more,
                StreamItem::Call { index, name, .. } => {
                    calls.insert(index, (name, String::new()));
                }
                StreamItem::Arguments { index, text } => calls.get_mut(&index).unwrap().1 += &text,
                StreamItem::Event(event) => {
                    assert!(!format!("{event:?}").contains("hunter22"), "{event:?}");
                    if let EventKind::Model(ModelEvent::Replied {
                        text: all,
                        calls: sent_calls,
                        ..
                    }) = event.kind
                    {
                        emitted.push((all, sent_calls.len()));
                        streamed.push((std::mem::take(&mut text), calls.len()));
                        if sent_calls.is_empty() {
                            continue;
                        }
                        let arguments = |index: usize| calls[&index].1.as_str();
                        assert_eq!(arguments(0), r#"{"user":"ada","word":"[redacted]"}"#);
                        assert_eq!(arguments(1), r#"{"text":"[redacted]!"}"#);
                        assert_eq!(arguments(2), "[redacted]");
                        calls.clear();
                    }
                }
                _ => {}
            }
        }
        assert_eq!(streamed, emitted, "in pieces of {size}");
        assert_eq!(streamed[0].0, "I take [redacted], or \"[redacted]\".");
        assert_eq!(streamed[1].0, "[redacted] it was, in base64 [redacted]= and hunter2");
        assert_eq!(reasoning, "The key is [redacted]");
        // The transcript keeps what the model wrote.
        let answer = stream.finish().await.unwrap();
        assert!(matches!(&answer.transcript[1], Message::Assistant { .. }));
        assert!(answer.transcript[1].text().contains(KEY));
    }
}
