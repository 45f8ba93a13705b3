//! Streams, cut wherever they may be: in the end they say what a whole reply says.

use tool_runtime::ModelError;

use crate::canned::{Canned, Reply};
use crate::client;
use crate::recorded::play;
use crate::streamed::streamed;

#[tokio::test]
async fn what_was_recorded() {
    play("mistral", "stream.sse", |reply| Box::new(client(&Canned::new([reply])))).await;
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_no_reply() {
    let text = include_str!("../fixtures/mistral/signed_thinking_and_call/stream.sse");
    let end = text.find(r#""finish_reason":"tool_calls""#).unwrap();
    for at in (0..end).filter(|at| text.is_char_boundary(*at)) {
        let canned = Canned::new([Reply::text(200, &text[..at])]);
        let error = streamed(&client(&canned)).await.0.unwrap_err();
        assert!(matches!(error, ModelError::Malformed { .. }), "{at}: {error:?}");
    }
}

#[tokio::test]
async fn thoughts_are_told_apart_from_words() {
    let text = include_str!("../fixtures/mistral/references_in_thinking/stream.sse");
    let (_, told) = streamed(&client(&Canned::new([Reply::text(200, text)]))).await;
    assert_eq!([told.reasoning, told.text], ["See there.", "Yes."]);
}
