//! What only this provider's streams do. That they say what whole replies say is for `fixtures.rs`.

use tool_runtime::{ChatModel, ChatRequest, ModelError};

use crate::canned::{Canned, Reply};
use crate::client;

#[tokio::test]
async fn a_stream_that_is_cut_off_is_no_reply() {
    let text = include_str!("../fixtures/ollama/thinking_and_call/stream.jsonl");
    // Behind the last line's brace it is whole.
    for at in (0..text.len() - 1).filter(|at| text.is_char_boundary(*at)) {
        let canned = Canned::new([Reply::text(200, &text[..at])]);
        let streamed = client(&canned).stream(ChatRequest::new(&[]), &mut |_| {}).await;
        let error = streamed.unwrap_err();
        let is_cut = matches!(error, ModelError::Malformed { .. } | ModelError::Unreachable { .. });
        assert!(is_cut, "{at}: {error:?}");
    }
}
