//! Streams of this provider only; `conformance` compares streams with whole replies.

use tool_runtime::{ChatModel, ChatRequest, ModelError};

use super::client;
use support::canned::{Canned, Reply};

#[tokio::test]
async fn truncated_stream_is_an_error() {
    let text = include_str!("../../fixtures/ollama/thinking_and_call/stream.jsonl");
    // After the brace of the last line, the stream is complete.
    for at in (0..text.len() - 1).filter(|at| text.is_char_boundary(*at)) {
        let canned = Canned::new([Reply::text(200, &text[..at])]);
        let streamed = client(&canned).stream(ChatRequest::new(&[]), &mut |_| {}).await;
        let error = streamed.unwrap_err();
        let is_cut = matches!(error, ModelError::Malformed { .. } | ModelError::Unreachable { .. });
        assert!(is_cut, "{at}: {error:?}");
    }
}
