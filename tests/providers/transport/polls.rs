//! Reading a body yields to the runtime, so that time limits fire while bytes keep arriving.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread::{self, ThreadId};

use serde_json::Value;
use tool_runtime::http::{
    BodyStream, HttpBody, HttpRequest, HttpResponse, Transport, TransportError,
};
use tool_runtime::models::{DeltaSink, NameRules, WireNames};
use tool_runtime::providers::Client;
use tool_runtime::providers::codec::{Api, Assemble, Codec, DecodeError, Framing};

use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError, async_trait};

use super::exchange_kinds;
use crate::provider::{Setup, Shared};

/// The highest number of chunks that may be read in one poll.
const MAX_CHUNKS: usize = 300;

/// Transport whose response begins with `start` and then repeats a chunk that is always ready.
struct Endless {
    status: u16,
    start: String,
    chunk: String,
    read: Arc<AtomicUsize>,
}

struct EndlessBody {
    start: Option<String>,
    chunk: String,
    read: Arc<AtomicUsize>,
}

#[async_trait]
impl Transport for Endless {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let (start, chunk) = (Some(self.start.clone()), self.chunk.clone());
        let body = EndlessBody { start, chunk, read: Arc::clone(&self.read) };
        Ok(HttpResponse::new(self.status, HttpBody::new(body)))
    }
}

#[async_trait]
impl BodyStream for EndlessBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let count = self.read.fetch_add(1, Ordering::Relaxed);
        assert!(count <= MAX_CHUNKS, "more than {MAX_CHUNKS} chunks were read in one poll");
        Ok(Some(self.start.take().unwrap_or_else(|| self.chunk.clone()).into_bytes()))
    }
}

#[tokio::test]
async fn one_poll_reads_a_bounded_part_of_a_body() {
    for (provider, is_streamed) in exchange_kinds() {
        let whole = provider.good(true).1;
        for (status, start, chunk) in [
            (200, "\n", ""),
            (200, "\n", "\n"),
            (200, "\n", &*"\n".repeat(1_000)),
            // After the end of a stream, the rest of the connection is read.
            (200, &*whole, ""),
            // The body of an error.
            (500, "busy", ""),
        ] {
            let read = Arc::new(AtomicUsize::new(0));
            let (start, chunk) = (start.to_owned(), chunk.to_owned());
            let endless = Endless { status, start, chunk, read: Arc::clone(&read) };
            let transport = Some(Shared(Arc::new(endless)));
            let setup = Setup { transport, ..Setup::new("http://models.invalid/v1") };
            let mut reply = pin!(provider.send(is_streamed, setup));
            for _ in 0..3 {
                read.store(0, Ordering::Relaxed);
                let polled = poll_fn(|cx| Poll::Ready(reply.as_mut().poll(cx))).await;
                assert!(polled.is_pending(), "{} {status}: {polled:?}", provider.name);
            }
        }
    }
}

/// Codec of plain text that records the threads on which it decodes.
#[derive(Clone, Debug, Default)]
struct PlainText(Arc<Mutex<Vec<ThreadId>>>);

struct PlainTextAssembler(PlainText, String);

impl PlainText {
    fn record(&self) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

impl Api for PlainText {
    const ENV_PREFIX: &'static str = "PLAIN_TEXT";

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["generate"]
    }
}

impl Codec for PlainText {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const FRAMING: Framing = Framing::Lines;

    fn encode(
        &self,
        _: &str,
        _: ChatRequest<'_>,
        _: &WireNames,
        _: bool,
    ) -> Result<Value, ModelError> {
        Ok(Value::Null)
    }

    fn decode(&self, body: &str, _: &WireNames) -> Result<ChatReply, DecodeError> {
        self.record();
        Ok(ChatReply::text(body.trim()))
    }

    fn assembler(&self, _: WireNames) -> impl Assemble + use<> {
        PlainTextAssembler(self.clone(), String::new())
    }
}

impl Assemble for PlainTextAssembler {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        self.0.record();
        deltas(Delta::Text(message));
        self.1.push_str(message);
        Ok(())
    }

    fn finish(self) -> Result<ChatReply, DecodeError> {
        Ok(ChatReply::text(self.1))
    }
}

struct Lines(Vec<String>);

#[async_trait]
impl Transport for Lines {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse::new(200, HttpBody::from(self.0.join("\n").as_str())))
    }
}

/// Decoding of a large message takes long, and a poll that does it can't be stopped.
#[tokio::test]
async fn large_messages_are_decoded_on_other_threads() {
    let test_thread = thread::current().id();
    let (small, large) = ("a".repeat(1_000), "b".repeat(1 << 20));
    let messages = [Message::user("Hi")];
    for lines in [vec![small.clone()], vec![small.clone(), large.clone(), small], vec![large]] {
        let codec = PlainText::default();
        let client = Client::with_codec("http://models.invalid", "m", codec.clone());
        let client = client.transport(Lines(lines.clone()));
        let mut deltas = Vec::new();
        let mut sink = |delta: Delta<'_>| match delta {
            Delta::Text(text) => deltas.push(text.to_owned()),
            delta => panic!("{delta:?}"),
        };
        let reply = client.stream(ChatRequest::new(&messages), &mut sink).await.unwrap();
        assert!(reply.to_text() == lines.concat());
        assert!(deltas == lines);
        let threads = std::mem::take(&mut *codec.0.lock().unwrap());
        let is_own: Vec<_> = threads.iter().map(|thread| *thread == test_thread).collect();
        let is_small: Vec<_> = lines.iter().map(|line| line.len() < 10_000).collect();
        assert_eq!(is_own, is_small);

        let reply = client.reply(ChatRequest::new(&messages)).await.unwrap();
        assert!(reply.to_text() == lines.join("\n"));
        let threads = codec.0.lock().unwrap().clone();
        assert_eq!(threads.len(), 1);
        assert_eq!(threads[0] == test_thread, lines.len() == 1 && is_small[0]);
    }
}
