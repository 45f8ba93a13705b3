//! What came of a stream, and what was told on the way.

use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError};

#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub text: String,
    pub reasoning: String,
    /// Name and arguments.
    pub calls: Vec<[String; 2]>,
}

pub async fn streamed(model: &dyn ChatModel) -> (Result<ChatReply, ModelError>, Told) {
    let mut told = Told::default();
    let messages = [Message::user("Hello")];
    let reply = model
        .stream(ChatRequest::new(&messages), &mut |delta| match delta {
            Delta::Text(text) => told.text += text,
            Delta::Reasoning(text) => told.reasoning += text,
            Delta::Call { place, name } => {
                assert!(place <= told.calls.len());
                told.calls.truncate(place);
                told.calls.push([name.to_owned(), String::new()]);
            }
            Delta::Arguments { place, text } => told.calls[place][1] += text,
            other => panic!("{other:?}"),
        })
        .await;
    (reply, told)
}

/// Every way to cut a text in two, and one piece for each byte.
pub fn cuts(bytes: &[u8]) -> impl Iterator<Item = Vec<Vec<u8>>> {
    let single = bytes.chunks(1).map(<[u8]>::to_vec).collect();
    let halves = |at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()];
    (0..=bytes.len()).map(halves).chain([single])
}
