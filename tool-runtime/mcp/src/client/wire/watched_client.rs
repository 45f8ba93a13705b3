//! An HTTP client that signals when the stream of a session is open.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_core::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};
use tokio_util::sync::CancellationToken;

type Headers = HashMap<HeaderName, HeaderValue>;
type SseStream = BoxStream<'static, Result<Sse, SseError>>;
type PostResult<E> = Result<StreamableHttpPostResponse, StreamableHttpError<E>>;

/// The state of the stream on which a server sends notifications and requests.
#[derive(Clone, Default)]
pub(super) struct StreamState {
    has_session: Arc<AtomicBool>,
    /// Cancelled when the stream is open, or was refused.
    answered: CancellationToken,
}

impl StreamState {
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
    pub(super) stream: StreamState,
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
        let posted = self.client.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            headers,
            limits,
        );
        let response = posted.await?;
        if let StreamableHttpPostResponse::Json(_, Some(_))
        | StreamableHttpPostResponse::Sse(_, Some(_)) = &response
        {
            self.stream.has_session.store(true, Ordering::Relaxed);
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
        let opened = self.client.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            headers,
            max_sse_event_size,
        );
        let opened = opened.await;
        self.stream.answered.cancel();
        opened
    }
}
