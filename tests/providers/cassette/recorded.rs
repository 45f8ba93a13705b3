//! Replies of a real model (Qwen2.5-Coder-0.5B behind llama.cpp), recorded once and replayed since.
//!
//! To record again: `RECORD_FROM=http://127.0.0.1:8091/v1 cargo test -p tool-tests --features
//! providers --test providers recorded`, with a server whose name for the model (llama.cpp's
//! `--alias`) contains no path, because replies repeat it.

use std::env;
use std::path::Path;

use tool_runtime::http::{Cassette, ReqwestTransport};
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatRequest, Delta, Dispatcher, Message, Registry, tool, tools};

/// Base URL, which is part of the recording.
const BASE: &str = "http://127.0.0.1:8091/v1";

/// Multiplies two numbers.
#[tool(effect = "read")]
async fn multiply(
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
) -> i64 {
    left * right
}

fn cassette(name: &str) -> Cassette {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cassettes").join(name);
    match env::var("RECORD_FROM") {
        Ok(from) => {
            assert_eq!(from, BASE, "the base URL is part of the recording");
            Cassette::record(path, ReqwestTransport::new())
        }
        Err(_) => Cassette::replay(path).unwrap(),
    }
}

fn model(cassette: &Cassette) -> OpenAi {
    OpenAi::new(BASE, "qwen2.5-coder-0.5b-instruct").transport(cassette.clone())
}

/// The model calls the tool and continues from its result.
#[tokio::test]
async fn question_is_answered_with_a_tool() {
    let cassette = cassette("multiply.json");
    let model = model(&cassette);
    let registry = Registry::try_from(tools![multiply]).unwrap();
    let snapshot = registry.snapshot();
    let tools = snapshot.definitions();
    let mut messages = vec![Message::user("What is 1234 times 5678?")];
    let reply = model.reply(ChatRequest::new(&messages).tools(&tools)).await.unwrap();
    messages.push(Message::Assistant { id: None, parts: reply.parts });
    let calls: Vec<_> = messages[1].calls().cloned().collect();
    let executions = Dispatcher::new(registry).dispatch(calls).await;
    let results: Vec<_> = executions.into_iter().map(|execution| execution.result).collect();
    assert_eq!(results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>(), ["7006652"]);
    messages.push(Message::Tool { results });
    messages.push(Message::user("So, in one sentence: what is 1234 times 5678?"));
    // With the tool, this model would call it again.
    let answer = model.reply(ChatRequest::new(&messages)).await.unwrap();
    let text = Message::Assistant { id: None, parts: answer.parts }.text();
    assert!(text.replace(',', "").contains("7006652"), "{text}");
    assert_eq!(cassette.unplayed_count(), 0);
}

#[tokio::test]
async fn call_is_streamed_in_pieces() {
    let cassette = cassette("multiply_streamed.json");
    let snapshot = Registry::try_from(tools![multiply]).unwrap().snapshot();
    let tools = snapshot.definitions();
    let messages = [Message::user("What is 12 times 34? Use the tool.")];
    let mut pieces = Vec::new();
    let mut keep = |delta: Delta<'_>| {
        if let Delta::Arguments { text, .. } = delta {
            pieces.push(text.to_owned());
        }
    };
    let request = ChatRequest::new(&messages).tools(&tools);
    let reply = model(&cassette).stream(request, &mut keep).await.unwrap();
    let assistant = Message::Assistant { id: None, parts: reply.parts };
    let [call] = assistant.calls().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(pieces.concat(), call.arguments.to_text());
    assert!(pieces.len() > 1, "{pieces:?}");
    assert!(reply.usage.unwrap().output_tokens > 0);
}
