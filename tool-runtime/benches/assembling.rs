//! Measures the assembly of streamed replies: arguments from small chunks, and many calls.
//!
//! The reference for arguments is one parse of the complete arguments.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "support/call_streams.rs"]
mod call_streams;
#[path = "../json/benches/documents.rs"]
mod documents;
#[path = "support/many_calls.rs"]
mod many_calls;
#[path = "../json/benches/rounds.rs"]
mod rounds;

use std::sync::Arc;

use documents::Style;
use rounds::Rounds;
use serde_json::json;
use tool_runtime::http::{
    BodyStream, HttpBody, HttpRequest, HttpResponse, Transport, TransportError,
};
use tool_runtime::json::{Partial, parse};
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatRequest, async_trait};

const ROUNDS: usize = 5;
const CHUNKS: [usize; 4] = [1, 4, 16, 64];
/// Divisors of the document of 1 MB.
const PARTS: [usize; 3] = [4, 2, 1];

fn main() {
    let list = Style::default().document();
    println!(
        "| bytes a chunk | Partial, × one parse | its exponent | stream, × one parse | × its own bytes' parse | its exponent |"
    );
    println!("|---|---|---|---|---|---|");
    for chunk in CHUNKS {
        let rows = PARTS.map(|part| measure(&list, part, chunk));
        let [first, _, last] = &rows;
        let growth = |column: usize| (last.0[column] / first.0[column]).log(last.1 / first.1);
        let [parse, partial, stream, bytes] = last.0;
        println!(
            "| {chunk} | {:.2} | {:.2} | {:.1} | {:.2} | {:.2} |",
            partial / parse,
            growth(1),
            stream / parse,
            stream / bytes,
            growth(2),
        );
    }
    many_calls::measure();
}

/// Returns four times and the length of the arguments.
///
/// The times are those of one parse, of parsing the growing text, of the whole stream, and of
/// parsing the messages of the stream with serde_json.
fn measure(list: &str, part: usize, chunk: usize) -> ([f64; 4], f64) {
    let mut text = list.get(..list.len() / part).unwrap().to_owned();
    text.truncate(text.rfind("},").unwrap() + 1);
    let text = format!("{{\"list\": {text}]}}");
    let body: Arc<str> = events(&text, chunk).into();
    let len = text.len() as f64;

    let mut rounds = Rounds::new(ROUNDS, 1);
    let whole = text.clone();
    rounds.add(move || parse(&whole).unwrap());
    rounds.add(move || {
        let mut partial = Partial::new();
        let mut values = 0;
        for piece in pieces(&text, chunk) {
            partial.push(piece);
            values += usize::from(partial.value().is_some());
        }
        (values, partial.finish().unwrap())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let model =
        OpenAi::new("http://models.invalid/v1", "m").transport(FixedResponse(Arc::clone(&body)));
    rounds.add(move || {
        let mut deltas = 0;
        let mut count = |_: tool_runtime::Delta<'_>| deltas += 1;
        let reply = runtime.block_on(model.stream(ChatRequest::new(&[]), &mut count)).unwrap();
        (deltas, reply)
    });
    rounds.add(move || {
        let messages = body.lines().filter_map(|line| line.strip_prefix("data: {"));
        let parsed =
            messages.map(|rest| serde_json::from_str::<serde_json::Value>(&format!("{{{rest}")));
        parsed.filter(Result::is_ok).count()
    });
    (rounds.run().try_into().unwrap(), len)
}

/// Splits the text into chunks of `len` bytes, or of one character if that is longer.
fn pieces(text: &str, len: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (len.min(rest.len())..=rest.len()).find(|&end| rest.is_char_boundary(end))?;
        let (piece, tail) = rest.split_at_checked(end)?;
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the arguments as an event stream of OpenAI's API.
fn events(arguments: &str, chunk: usize) -> String {
    let event = |delta: serde_json::Value, finish: Option<&str>| {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let whole = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice] });
        format!("data: {whole}\n\n")
    };
    let call = |call: serde_json::Value| event(json!({ "tool_calls": [call] }), None);
    let mut text = call(json!({ "index": 0, "id": "c", "type": "function",
        "function": { "name": "f", "arguments": "" } }));
    for piece in pieces(arguments, chunk) {
        text += &call(json!({ "index": 0, "function": { "arguments": piece } }));
    }
    text + &event(json!({}), Some("tool_calls")) + "data: [DONE]\n\n"
}

/// Transport that returns a fixed response body.
struct FixedResponse(Arc<str>);

#[async_trait]
impl Transport for FixedResponse {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse::new(200, HttpBody::new(ChunkedBody { text: Arc::clone(&self.0), at: 0 })))
    }
}

/// Response body in pieces of the size that a connection delivers.
struct ChunkedBody {
    text: Arc<str>,
    at: usize,
}

#[async_trait]
impl BodyStream for ChunkedBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let rest = &self.text.as_bytes()[self.at..];
        let piece = &rest[..rest.len().min(16_384)];
        self.at += piece.len();
        Ok((!piece.is_empty()).then(|| piece.to_vec()))
    }
}
