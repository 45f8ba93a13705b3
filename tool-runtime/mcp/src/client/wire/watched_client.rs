//! An HTTP client that signals when the stream of a session is open, and keeps it open.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_core::Stream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use super::StreamChange;
use super::notification_stream::{Open, OpenError, keep_open};
use super::paced_stream::PacedStream;
use super::readable_stream::ReadableStream;
use super::sse::SseStream;
use crate::client::connect::failure_reason::failure_reason;
use crate::client::wire::traffic::Traffic;

/// The number of events, and of changes, that wait for the connection.
const CAPACITY: usize = 16;

type Headers = HashMap<HeaderName, HeaderValue>;
type PostResult<E> = Result<StreamableHttpPostResponse, StreamableHttpError<E>>;

/// The state of the stream on which a server sends notifications and requests.
#[derive(Clone)]
pub(super) struct StreamState {
    has_session: Arc<AtomicBool>,
    /// Cancelled when the stream is open, or was refused.
    answered: CancellationToken,
    changes: Sender<StreamChange>,
}

impl StreamState {
    /// Creates a state and the receiver of its changes.
    pub(super) fn new() -> (Self, Receiver<StreamChange>) {
        let (changes, changed) = channel(CAPACITY);
        (Self { has_session: Arc::default(), answered: CancellationToken::new(), changes }, changed)
    }

    /// Waits until the stream of a session is open or refused. Without a session there is none.
    pub(super) async fn ready(self) {
        if self.has_session.load(Ordering::Relaxed) {
            self.answered.cancelled().await;
        }
    }
}

/// Passes everything to another client.
#[derive(Clone)]
pub(super) struct WatchedClient<C> {
    pub(super) client: C,
    pub(super) traffic: Arc<Traffic>,
    pub(super) stream: StreamState,
}

impl<C> WatchedClient<C> {
    /// Returns the events of a stream that the SDK may decode, at a bounded pace.
    fn readable(&self, stream: SseStream, request: Option<RequestId>) -> SseStream {
        let readable = ReadableStream::new(stream, Arc::clone(&self.traffic), request);
        Box::pin(PacedStream::new(Box::pin(readable)))
    }

    /// Returns a response that the SDK may decode.
    ///
    /// A body of one message, and a stream that begins with a list, are decoded here. The SDK can
    /// end the stream of a response before it has noted the tools of a list in it, and then it
    /// sends no header for their arguments.
    async fn readable_response(
        &self,
        stream: SseStream,
        request: Option<RequestId>,
        session: Option<String>,
    ) -> StreamableHttpPostResponse {
        let is_one_message = stream.size_hint() == (1, Some(1));
        let is_list = request.as_ref().is_some_and(|id| self.traffic.page_limits(id).is_some());
        let mut stream = self.readable(stream, request.clone());
        if !is_one_message && !is_list {
            return StreamableHttpPostResponse::Sse(stream, session);
        }
        let mut first = VecDeque::new();
        while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            let data = event.as_ref().map(|event| event.data.as_deref().unwrap_or_default());
            let is_last = data.as_ref().map_or(true, |data| !data.is_empty());
            let message = data.ok().and_then(|data| serde_json::from_str(data).ok());
            if let Some(message) = message
                && (is_one_message || answers(&message, request.as_ref()))
            {
                return StreamableHttpPostResponse::Json(message, session);
            }
            first.push_back(event);
            if is_last {
                break;
            }
        }
        StreamableHttpPostResponse::Sse(Box::pin(Resumed { first, rest: stream }), session)
    }
}

/// Returns whether a message is the answer to a request.
fn answers(message: &ServerJsonRpcMessage, request: Option<&RequestId>) -> bool {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id) == request,
        JsonRpcMessage::Error(error) => error.id.as_ref() == request,
        _ => false,
    }
}

/// A stream of which the first events were read.
struct Resumed {
    first: VecDeque<Result<Sse, SseError>>,
    rest: SseStream,
}

impl Stream for Resumed {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.first.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None => self.rest.as_mut().poll_next(cx),
        }
    }
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for WatchedClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        headers: Headers,
    ) -> PostResult<C::Error> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> PostResult<C::Error> {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let posted = self.client.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            headers,
            limits,
        );
        let mut response = posted.await?;
        if let StreamableHttpPostResponse::Json(_, Some(_))
        | StreamableHttpPostResponse::Sse(_, Some(_)) = &response
        {
            self.stream.has_session.store(true, Ordering::Relaxed);
        }
        if let StreamableHttpPostResponse::Sse(stream, session) = response {
            response = self.readable_response(stream, request, session).await;
        }
        Ok(response)
    }

    fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Result<(), StreamableHttpError<C::Error>>> + Send + '_ {
        self.client.delete_session(uri, session_id, auth_header, headers)
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Result<SseStream, StreamableHttpError<C::Error>>> + Send + '_ {
        let max_bytes = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            headers,
            max_bytes,
        )
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<SseStream, StreamableHttpError<C::Error>> {
        let client = self.client.clone();
        let open = move |after| {
            let (client, uri, session_id) = (client.clone(), Arc::clone(&uri), session_id.clone());
            let (auth_header, headers) = (auth_header.clone(), headers.clone());
            async move {
                let opened = client.get_stream_with_max_sse_event_size(
                    uri,
                    session_id,
                    after,
                    auth_header,
                    headers,
                    max_sse_event_size,
                );
                opened.await
            }
        };
        // Only the stream of a response is opened from an event, since that has a position.
        if last_event_id.is_some() {
            return Ok(self.readable(open(last_event_id).await?, None));
        }
        let opened = open(None).await;
        self.stream.answered.cancel();
        if matches!(opened, Err(StreamableHttpError::ServerDoesNotSupportSse)) {
            return opened;
        }
        let (events, received) = channel(CAPACITY);
        let reopen: Open = Box::new(move |after| {
            let opened = open(after);
            Box::pin(async move { opened.await.map_err(|error| open_error(&error)) })
        });
        let opened = opened.map_err(|error| open_error(&error));
        tokio::spawn(keep_open(opened, reopen, events, self.stream.changes.clone()));
        let events = Box::pin(Events(received));
        Ok(Box::pin(ReadableStream::new(events, Arc::clone(&self.traffic), None)))
    }
}

fn open_error<E>(error: &StreamableHttpError<E>) -> OpenError
where
    E: std::error::Error + Send + Sync + 'static,
{
    let is_not_found = match error {
        StreamableHttpError::SessionExpired => true,
        StreamableHttpError::Client(error) => {
            let error: &(dyn std::error::Error + 'static) = error;
            let status = error.downcast_ref().and_then(reqwest::Error::status);
            status == Some(reqwest::StatusCode::NOT_FOUND)
        }
        _ => false,
    };
    OpenError { reason: failure_reason(error), is_not_found }
}

/// The events of a stream that is kept open.
struct Events(Receiver<Result<Sse, SseError>>);

impl Stream for Events {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
