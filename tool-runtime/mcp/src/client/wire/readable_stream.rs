//! The events of a stream, as far as the SDK may decode them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use rmcp::model::RequestId;
use sse_stream::{Error as SseError, Sse};

use super::post::is_too_long;
use super::sse::SseStream;
use crate::client::wire::incoming::{Head, Incoming, TOO_LONG, failure};
use crate::client::wire::traffic::Traffic;
use crate::lines::Envelope;

/// Passes events on whose messages can be decoded within the limits.
///
/// An answer to no request is left out, since the SDK would take `"3"` for the answer to request 3.
/// An answer that is too long becomes an error.
pub(super) struct ReadableStream {
    inner: SseStream,
    traffic: Arc<Traffic>,
    /// The request that the stream answers.
    request: Option<RequestId>,
}

impl ReadableStream {
    pub(super) fn new(inner: SseStream, traffic: Arc<Traffic>, request: Option<RequestId>) -> Self {
        Self { inner, traffic, request }
    }

    /// Returns the data that replace those of an event, or `None` if the event is left out.
    fn read(&self, data: String) -> Option<String> {
        if let Ok(head) = Head::read(data.as_bytes())
            && let Some(id) = head.answered()
            && self.request.as_ref() != Some(id)
            && !self.traffic.contains(id)
        {
            return None;
        }
        match Incoming::of(data.as_bytes(), &self.traffic, true) {
            Incoming::Plain => Some(data),
            Incoming::Instead(message) => serde_json::to_string(&message).ok(),
            Incoming::TooLong(Envelope::Response(id)) => self.too_long(id),
            Incoming::TooLong(Envelope::Request(_) | Envelope::Notification) => None,
        }
    }

    /// Returns the error that stands for an answer to this request, or else to that of the stream.
    fn too_long(&self, id: Option<RequestId>) -> Option<String> {
        let id = id.filter(|id| self.traffic.contains(id)).or_else(|| self.request.clone())?;
        serde_json::to_string(&failure(TOO_LONG, id)).ok()
    }
}

impl Stream for ReadableStream {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.inner.as_mut().poll_next(cx)) {
                Some(Ok(mut event)) => {
                    let Some(data) = event.data.take().filter(|data| !data.is_empty()) else {
                        return Poll::Ready(Some(Ok(event)));
                    };
                    event.data = self.read(data);
                    // The position in the stream is that of an event without data, too.
                    if event.data.is_some() || event.id.is_some() || event.retry.is_some() {
                        return Poll::Ready(Some(Ok(event)));
                    }
                }
                Some(Err(error)) if is_too_long(&error) => {
                    let answer = self.too_long(None).map(|data| Sse::default().data(data));
                    return Poll::Ready(Some(answer.ok_or(error)));
                }
                other => return Poll::Ready(other),
            }
        }
    }
}
