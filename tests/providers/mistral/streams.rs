//! Streams of this provider only; `conformance` compares streams with whole replies.

use serde_json::json;
use tool_runtime::{ChatModel, ChatRequest, ModelError};

use super::client;
use support::canned::{Canned, Reply};

#[tokio::test]
async fn truncated_stream_is_an_error() {
    let text = include_str!("../../fixtures/mistral/signed_thinking_and_call/stream.sse");
    let end = text.find(r#""finish_reason":"tool_calls""#).unwrap();
    for at in (0..end).filter(|at| text.is_char_boundary(*at)) {
        let canned = Canned::new([Reply::text(200, &text[..at])]);
        let streamed = client(&canned).stream(ChatRequest::new(&[]), &mut |_| {}).await;
        let error = streamed.unwrap_err();
        let is_cut = matches!(error, ModelError::Malformed { .. } | ModelError::Unreachable { .. });
        assert!(is_cut, "{at}: {error:?}");
    }
}

/// Adjacent thoughts become one, in any chunks.
#[tokio::test]
async fn adjacent_thoughts_are_joined() {
    let thought =
        |text: &str| json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
    let choice = |member: &str, chunks: &[serde_json::Value]| {
        let choice = json!({ "index": 0, member: { "content": chunks }, "finish_reason": "stop" });
        json!({ "choices": [choice] }).to_string()
    };
    let [first, second] = ["H", "m"].map(thought);
    let body = choice("message", &[first.clone(), second.clone()]);
    let canned = Canned::new([Reply::text(200, &body)]);
    let whole = client(&canned).reply(ChatRequest::new(&[])).await.unwrap();
    assert_eq!(whole.parts.len(), 1);
    for pieces in
        [&[vec![first.clone()], vec![second.clone()]][..], &[vec![first.clone(), second.clone()]]]
    {
        let event = |chunks: &Vec<_>| format!("data: {}\n\n", choice("delta", chunks));
        let text: String = pieces.iter().map(event).collect();
        let canned = Canned::new([Reply::text(200, &text)]);
        let reply = client(&canned).stream(ChatRequest::new(&[]), &mut |_| {}).await.unwrap();
        assert_eq!(reply, whole);
    }
}
