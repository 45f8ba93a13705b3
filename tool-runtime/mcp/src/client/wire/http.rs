//! Streamable HTTP, by the transport of the SDK.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::Transport as _;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::redacting_client::RedactingClient;
use super::watched_client::{StreamState, WatchedClient};
use super::{BoxFuture, Delivery, Received, StreamChange, Wire, WireError};
use crate::client::challenge::Authorizer;
use crate::client::wire::traffic::Traffic;
use crate::lines::{Sending, WriteError};

/// The number of requests that may be in flight at once on one connection.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// How long a reply or a cancellation may take to be accepted.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of a session may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The address of a server and what is sent with each request.
#[derive(Clone)]
pub(crate) struct HttpTarget {
    pub(crate) url: Arc<str>,
    pub(crate) bearer: Option<Arc<str>>,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) max_message_bytes: usize,
    /// The requests in flight on the connection. Each connection has its own.
    pub(crate) traffic: Arc<Traffic>,
}

/// Creates the connections to a server, with its authorization.
pub(crate) trait HttpConnector: Send + Sync {
    /// Creates a connection. Nothing is sent yet.
    fn connect(&self, target: &HttpTarget) -> BoxFuture<'_, Result<Box<dyn Wire>, WireError>>;

    /// Returns what answers the challenges of the server.
    fn authorizer(&self) -> Option<Arc<dyn Authorizer>> {
        None
    }

    /// Returns the secrets that servers received for the authorization so far.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Sends requests without adding an authorization.
pub(crate) struct Unauthorized(RedactingClient);

impl Unauthorized {
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        Ok(Self(RedactingClient(http_client()?)))
    }
}

impl HttpConnector for Unauthorized {
    fn connect(&self, target: &HttpTarget) -> BoxFuture<'_, Result<Box<dyn Wire>, WireError>> {
        let wire = wire(self.0.clone(), target);
        Box::pin(async move { Ok(wire) })
    }
}

/// Returns the client that all connections use: a redirect could send a token elsewhere.
pub(crate) fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    let redirects = reqwest::redirect::Policy::none();
    let connect_timeout = Duration::from_secs(10);
    reqwest::Client::builder()
        .redirect(redirects)
        .referer(false)
        .connect_timeout(connect_timeout)
        .build()
}

/// Creates a connection with this HTTP client of the SDK.
pub(crate) fn wire<C: StreamableHttpClient + Sync>(
    client: C,
    target: &HttpTarget,
) -> Box<dyn Wire> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&target.url))
        .max_concurrent_requests(MAX_CONCURRENT_REQUESTS)
        .control_request_timeout(CONTROL_TIMEOUT)
        .max_sse_event_size(target.max_message_bytes)
        .max_json_response_size(target.max_message_bytes)
        .custom_headers(target.headers.clone());
    config.retry_config = Arc::new(StreamRetries);
    if let Some(bearer) = &target.bearer {
        config = config.auth_header(&**bearer);
    }
    let (stream, changes) = StreamState::new();
    let traffic = Arc::clone(&target.traffic);
    let client = WatchedClient { client, traffic, stream: stream.clone() };
    let transport = Some(StreamableHttpClientTransport::with_client(client, config));
    Box::new(Http { transport, stream, changes })
}

/// How often the stream of a response is opened again, with growing delays.
#[derive(Debug)]
struct StreamRetries;

impl SseRetryPolicy for StreamRetries {
    fn retry(&self, current_times: usize) -> Option<Duration> {
        let doublings = u32::try_from(current_times).ok().filter(|times| *times < 8)?;
        Some(Duration::from_millis(500) * 2_u32.pow(doublings))
    }
}

/// Carries messages over HTTP.
struct Http<C: StreamableHttpClient> {
    /// `None` after the end.
    transport: Option<StreamableHttpClientTransport<C>>,
    stream: StreamState,
    changes: Receiver<StreamChange>,
}

impl<C: StreamableHttpClient + Sync> Wire for Http<C> {
    fn send(&mut self, message: ClientJsonRpcMessage) -> Delivery {
        let Some(transport) = &mut self.transport else {
            return Sending::Ready(Some(Err(WriteError::Closed.into())));
        };
        let sending = transport.send(message);
        let sending = async move { sending.await.map_err(|it| WireError::Http(Box::new(it))) };
        Sending::Waiting(Box::pin(sending))
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        let Some(transport) = &mut self.transport else { return Poll::Ready(None) };
        if let Poll::Ready(Some(change)) = self.changes.poll_recv(cx) {
            return Poll::Ready(Some(Received::Stream(change)));
        }
        // The future reads a channel, which keeps the waker.
        let message = ready!(pin!(transport.receive()).poll(cx));
        Poll::Ready(message.map(Received::Message))
    }

    fn ready(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.stream.clone().ready())
    }

    fn is_sequential(&self) -> bool {
        true
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(mut transport) = self.transport.take() {
                let _ = timeout(CLOSE_TIMEOUT, transport.close()).await;
            }
        })
    }
}
