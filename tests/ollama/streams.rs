//! Streams, cut wherever they may be: in the end they say what a whole reply says.

use tool_runtime::ModelError;

use crate::canned::{Canned, Reply};
use crate::client;
use crate::recorded::play;
use crate::streamed::streamed;

#[tokio::test]
async fn what_was_recorded() {
    play("ollama", "stream.jsonl", |reply| Box::new(client(&Canned::new([reply])))).await;
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_no_reply() {
    let text = include_str!("../fixtures/ollama/thinking_and_call/stream.jsonl");
    // Behind the last line's brace it is whole.
    for at in (0..text.len() - 1).filter(|at| text.is_char_boundary(*at)) {
        let canned = Canned::new([Reply::text(200, &text[..at])]);
        let error = streamed(&client(&canned)).await.0.unwrap_err();
        assert!(matches!(error, ModelError::Malformed { .. }), "{at}: {error:?}");
    }
}
