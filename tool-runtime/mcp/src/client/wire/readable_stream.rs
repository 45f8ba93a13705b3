//! The events of a stream, as far as the SDK may decode them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sse_stream::{Error as SseError, Sse};

use super::post::is_too_long;
use super::sse::SseStream;
use crate::client::wire::incoming::{Incoming, TOO_LONG};
use crate::client::wire::traffic::Traffic;

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

/// The members of a message that identify the request which it answers.
#[derive(Deserialize)]
struct Answer {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

impl ReadableStream {
    pub(super) fn new(inner: SseStream, traffic: Arc<Traffic>, request: Option<RequestId>) -> Self {
        Self { inner, traffic, request }
    }

    /// Returns the data that replace those of an event, or `None` if the event is left out.
    fn read(&self, data: String) -> Option<String> {
        if let Ok(Answer { id: Some(id), method: None }) = serde_json::from_str(&data)
            && self.request.as_ref() != Some(&id)
            && !self.traffic.contains(&id)
        {
            return None;
        }
        match Incoming::of(data.as_bytes(), &self.traffic, true) {
            Incoming::Plain => Some(data),
            Incoming::Instead(message) => serde_json::to_string(&message).ok(),
            Incoming::Dropped => None,
        }
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
                    let Some(id) = self.request.clone() else {
                        return Poll::Ready(Some(Err(error)));
                    };
                    let reason = ErrorData::new(ErrorCode::INTERNAL_ERROR, TOO_LONG, None);
                    let answer: ServerJsonRpcMessage = JsonRpcMessage::error(reason, Some(id));
                    let data = serde_json::to_string(&answer).ok();
                    return Poll::Ready(data.map(|data| Ok(Sse::default().data(data))));
                }
                other => return Poll::Ready(other),
            }
        }
    }
}
