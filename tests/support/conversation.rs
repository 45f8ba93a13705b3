//! Shared by tests of whole runs: two tools, and the invariants of every transcript.

use serde_json::json;
use tool_runtime::{ChatReply, Message, ToolCall, ToolResult, tool};

/// Returns its argument.
#[tool(effect = "none")]
pub async fn echo(
    /// The text to return.
    text: String,
) -> String {
    text
}

/// Always fails.
#[tool]
pub async fn refuse() -> Result<(), &'static str> {
    Err("out of stock")
}

pub fn echo_call(text: &str) -> ChatReply {
    ChatReply::default().call("echo", json!({ "text": text }))
}

pub fn results(message: &Message) -> &[ToolResult] {
    match message {
        Message::Tool { results } => results,
        other => panic!("no results: {other:?}"),
    }
}

pub fn calls(transcript: &[Message]) -> Vec<&ToolCall> {
    transcript.iter().flat_map(Message::calls).collect()
}

/// Asserts that each call has its result in the next message, and that ids are unique.
pub fn assert_complete(transcript: &[Message]) {
    for (index, message) in transcript.iter().enumerate() {
        let call_ids: Vec<_> = message.calls().map(|call| &call.id).collect();
        if !call_ids.is_empty() {
            let answered: Vec<_> =
                results(&transcript[index + 1]).iter().map(|result| &result.call).collect();
            assert_eq!(call_ids, answered);
        }
    }
    let mut ids: Vec<_> = calls(transcript).iter().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    assert!(!ids.contains(&""));
}
