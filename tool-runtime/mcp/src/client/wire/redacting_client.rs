//! The HTTP client of all connections: the errors of its requests contain no secrets of these.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};

use super::post::Post;
use super::sse::SseStream;
use crate::client::connect::secrets::Secrets;

type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<reqwest::Error>;

/// The size of the answer to a discovery, which the SDK decodes without a limit on memory.
const MAX_DISCOVERY_BYTES: usize = 1 << 20;

/// Redacts the token, the headers and the query of a request in the texts of the server that are
/// part of its error. A server may return what it received.
#[derive(Clone, Debug)]
pub(crate) struct RedactingClient(pub(crate) reqwest::Client);

impl StreamableHttpClient for RedactingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        mut limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let request = RequestParts::new(&uri, token.as_ref(), &headers);
        let posted = if is_for_sdk(&message) {
            limits.max_json_response_size = limits.max_json_response_size.min(MAX_DISCOVERY_BYTES);
            self.0
                .post_message_with_response_limits(uri, message, session, token, headers, limits)
                .await
        } else {
            let (session, token) = (session.as_deref(), token.as_deref());
            Post { uri: &uri, session, token, headers }.send(&self.0, &message, limits).await
        };
        posted.map_err(|error| request.redact(error))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let request = RequestParts::new(&uri, token.as_ref(), &headers);
        let deleted = self.0.delete_session(uri, session, token, headers).await;
        deleted.map_err(|error| request.redact(error))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<SseStream, Failed> {
        let max_bytes = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event_id,
            token,
            headers,
            max_bytes,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
        max_bytes: usize,
    ) -> Result<SseStream, Failed> {
        let request = RequestParts::new(&uri, token.as_ref(), &headers);
        let client = &self.0;
        let opened = client
            .get_stream_with_max_sse_event_size(
                uri,
                session,
                last_event_id,
                token,
                headers,
                max_bytes,
            )
            .await;
        opened.map_err(|error| request.redact(error))
    }
}

/// Returns true for messages whose answer the SDK reads: the refusals of a discovery describe the
/// server to it, and messages that are no requests have no answer.
fn is_for_sdk(message: &ClientJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::DiscoverRequest(_))
        }
        _ => true,
    }
}

/// The parts of a request that may hold secrets.
struct RequestParts {
    uri: Arc<str>,
    token: Option<String>,
    headers: Headers,
}

impl RequestParts {
    fn new(uri: &Arc<str>, token: Option<&String>, headers: &Headers) -> Self {
        Self { uri: Arc::clone(uri), token: token.cloned(), headers: headers.clone() }
    }

    fn redact(&self, error: Failed) -> Failed {
        let secrets = || Secrets::of_request(&self.uri, self.token.as_deref(), &self.headers);
        match error {
            StreamableHttpError::UnexpectedServerResponse(text) => {
                let text = secrets().redact(&text);
                StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
            }
            StreamableHttpError::UnexpectedContentType(Some(text)) => {
                StreamableHttpError::UnexpectedContentType(Some(secrets().redact(&text)))
            }
            error => error,
        }
    }
}
