//! Thoughts, which come in chunks.

use serde_json::json;
use tool_runtime::{ChatModel, ChatRequest};

use super::client;
use support::canned::{Canned, Reply};

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
