//! Collects the reply and the deltas of a stream.

use tool_runtime::message::{GeneratedFile, Source};
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError};

#[derive(Debug, Default, PartialEq)]
pub struct Collected {
    pub text: String,
    pub reasoning: String,
    /// Name and arguments of each call.
    pub calls: Vec<[String; 2]>,
    /// The ids with which the calls started.
    pub ids: Vec<String>,
    pub sources: Vec<Source>,
    pub files: Vec<GeneratedFile>,
}

pub async fn streamed(model: &dyn ChatModel) -> (Result<ChatReply, ModelError>, Collected) {
    let mut collected = Collected::default();
    let messages = [Message::user("Hello")];
    let reply = model
        .stream(ChatRequest::new(&messages), &mut |delta| match delta {
            Delta::Text(text) => collected.text += text,
            Delta::Reasoning(text) => collected.reasoning += text,
            Delta::Call { index: place, id, name } => {
                assert!(place <= collected.calls.len());
                collected.calls.truncate(place);
                collected.ids.truncate(place);
                collected.ids.push(id.to_owned());
                collected.calls.push([name.to_owned(), String::new()]);
            }
            Delta::Arguments { index: place, text } => collected.calls[place][1] += text,
            Delta::File(file) => collected.files.push(file.clone()),
            Delta::Source(source) => collected.sources.push(source.clone()),
            other => panic!("{other:?}"),
        })
        .await;
    if let Ok(reply) = &reply {
        let mut ids: Vec<_> = reply.calls().map(|call| call.id.as_str()).collect();
        let mut started: Vec<_> = collected.ids.iter().map(String::as_str).collect();
        ids.sort_unstable();
        started.sort_unstable();
        assert_eq!(started, ids, "a call starts with its id");
    }
    (reply, collected)
}

/// Returns the distance between the places at which a test cuts a text, so that it tries about as
/// many as given. With the variable `EVERY_CUT`, it tries all places, which takes minutes.
pub fn cut_distance(places: usize, tried: usize) -> usize {
    if std::env::var_os("EVERY_CUT").is_some() { 1 } else { places / tried + 1 }
}

/// Returns cuts of a text into two pieces, and last a cut into single bytes. Texts of different
/// lengths are cut at different places.
pub fn cuts(bytes: &[u8]) -> impl Iterator<Item = Vec<Vec<u8>>> {
    let single = bytes.chunks(1).map(<[u8]>::to_vec).collect();
    let halves = |at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()];
    let distance = cut_distance(bytes.len(), 80);
    (bytes.len() % distance..=bytes.len()).step_by(distance).map(halves).chain([single])
}
