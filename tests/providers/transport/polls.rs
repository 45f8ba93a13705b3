//! Reading a body yields to the runtime, so that time limits fire while bytes keep arriving.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tool_runtime::async_trait;
use tool_runtime::http::{
    BodyStream, HttpBody, HttpRequest, HttpResponse, Transport, TransportError,
};

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
