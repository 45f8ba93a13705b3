//! Sends a request over HTTP and returns its response as events, also if it is one JSON text.
//!
//! The SDK would decode such a text at once and without a limit on memory. As the data of an event,
//! it is checked first, as all other messages are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::header::{AsHeaderName, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sse_stream::{Error as SseError, Sse, SseStream as Events};

use super::sse::SseStream;

type Failed = StreamableHttpError<reqwest::Error>;

const SESSION_ID: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// An event above the size limit.
#[derive(Debug, thiserror::Error)]
#[error("an event exceeds the maximum size of {max_bytes} bytes")]
pub(super) struct EventTooLong {
    max_bytes: usize,
}

/// The target of a request and what is sent with it.
pub(super) struct Post<'p> {
    pub(super) uri: &'p str,
    pub(super) session: Option<&'p str>,
    pub(super) token: Option<&'p str>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
}

impl Post<'_> {
    /// Sends a request.
    pub(super) async fn send(
        self,
        client: &reqwest::Client,
        message: &ClientJsonRpcMessage,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let mut request = client.post(self.uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(session) = self.session {
            request = request.header(SESSION_ID, session);
        }
        let response = request.json(message).send().await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return refused(response, self.session.is_some(), limits).await;
        }
        let session = text(response.headers(), SESSION_ID).map(str::to_owned);
        let content_type = text(response.headers(), CONTENT_TYPE).map(str::to_owned);
        let stream: SseStream = match media_type(content_type.as_deref()).as_deref() {
            Some(EVENTS) => {
                let bytes = response.bytes_stream();
                Box::pin(Events::from_bytes_stream(Limited::new(bytes, limits.max_sse_event_size)))
            }
            Some(JSON) => {
                let body = body(response, limits.max_json_response_size).await?;
                Box::pin(OneEvent(Some(Sse::default().data(message_text(body)?))))
            }
            _ => return Err(StreamableHttpError::UnexpectedContentType(content_type)),
        };
        Ok(StreamableHttpPostResponse::Sse(stream, session))
    }
}

/// Returns the error of a response whose status is no success, or the JSON-RPC error in it.
async fn refused(
    response: Response,
    has_session: bool,
    limits: StreamableHttpResponseLimits,
) -> Result<StreamableHttpPostResponse, Failed> {
    let status = response.status();
    let challenge = text(response.headers(), WWW_AUTHENTICATE).map(str::to_owned);
    match (status, challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => {
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let scope = scope(&challenge);
            let error = InsufficientScopeError::new(challenge, scope);
            return Err(StreamableHttpError::InsufficientScope(error));
        }
        (StatusCode::NOT_FOUND, _) if has_session => {
            return Err(StreamableHttpError::SessionExpired);
        }
        _ => {}
    }
    let is_json = media_type(text(response.headers(), CONTENT_TYPE)).as_deref() == Some(JSON);
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS;
    let status_error = (is_busy || status.is_server_error()).then(|| {
        let retry_after = text(response.headers(), RETRY_AFTER).map(str::to_owned);
        HttpStatusError::new(status.as_u16(), retry_after)
    });
    let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // The rest of a long text of an error is of no use.
    let body = beginning(response, limits.max_error_response_size).await;
    if is_json && !is_busy && !is_denied {
        let message = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        if let Ok(error @ JsonRpcMessage::Error(_)) = message {
            return Ok(StreamableHttpPostResponse::Json(error, None));
        }
    }
    match status_error {
        Some(error) => Err(error.into()),
        None => {
            let text = format!("HTTP {status}: {}", String::from_utf8_lossy(&body));
            Err(StreamableHttpError::UnexpectedServerResponse(text.into()))
        }
    }
}

/// Returns the body of a response.
async fn body(response: Response, max_size: usize) -> Result<Vec<u8>, Failed> {
    let too_large = || StreamableHttpError::ResponseBodyTooLarge { max_size };
    let length = response.content_length().and_then(|length| usize::try_from(length).ok());
    if length.is_some_and(|length| length > max_size) {
        return Err(too_large());
    }
    let mut response = response;
    let mut body = Vec::with_capacity(length.unwrap_or_default());
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > max_size.saturating_sub(body.len()) {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the beginning of a body.
async fn beginning(mut response: Response, max_size: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= max_size {
            body.truncate(max_size);
            break;
        }
    }
    body
}

/// The members of a message that is a response.
#[derive(Deserialize)]
struct ResponseHead {
    jsonrpc: String,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Returns a body that is a message as text.
fn message_text(body: Vec<u8>) -> Result<String, Failed> {
    let invalid = |reason: Cow<'_, str>| {
        let text = format!("the body is not a valid message: {reason}");
        StreamableHttpError::UnexpectedServerResponse(text.into())
    };
    let head: ResponseHead =
        serde_json::from_slice(&body).map_err(|error| invalid(error.to_string().into()))?;
    let is_answer = head.method.is_none() && head.result.is_some() != head.error.is_some();
    if head.jsonrpc != "2.0" || !is_answer && head.method.is_none() {
        return Err(invalid("expected a response".into()));
    }
    // A line break would end the data of an event, but here nothing splits it.
    String::from_utf8(body).map_err(|error| invalid(error.to_string().into()))
}

fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Returns a media type without its parameters.
fn media_type(content_type: Option<&str>) -> Option<String> {
    let (essence, _) = content_type?.split_once(';').unwrap_or((content_type?, ""));
    Some(essence.trim().to_ascii_lowercase())
}

/// Returns the scope that a challenge demands.
fn scope(challenge: &str) -> Option<String> {
    let start = challenge.to_ascii_lowercase().find("scope=")? + "scope=".len();
    let value = challenge.get(start..)?;
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => value.split([',', ';', ' ']).next()?,
    };
    (!value.is_empty()).then(|| value.to_owned())
}

/// A stream of one event.
pub(super) struct OneEvent(pub(super) Option<Sse>);

impl Stream for OneEvent {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(self.0.is_some());
        (len, Some(len))
    }
}

/// The failure of a stream of bytes.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    TooLong(#[from] EventTooLong),
    #[error(transparent)]
    Request(#[from] reqwest::Error),
}

/// Returns true if an event of the stream was too long.
pub(super) fn is_too_long(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    matches!(error.downcast_ref(), Some(StreamError::TooLong(_)))
}

/// Bytes of a stream of events, of which none is too long.
struct Limited<S> {
    bytes: Pin<Box<S>>,
    max_bytes: usize,
    /// The bytes since the last empty line.
    event_bytes: usize,
    is_line_empty: bool,
}

impl<S> Limited<S> {
    fn new(bytes: S, max_bytes: usize) -> Self {
        Self { bytes: Box::pin(bytes), max_bytes, event_bytes: 0, is_line_empty: true }
    }

    /// Counts bytes. Returns whether the event is within the limit.
    fn count(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.event_bytes += 1;
            match byte {
                b'\n' if self.is_line_empty => self.event_bytes = 0,
                b'\n' => self.is_line_empty = true,
                b'\r' => {}
                _ => self.is_line_empty = false,
            }
            if self.event_bytes > self.max_bytes {
                return false;
            }
        }
        true
    }
}

impl<B: AsRef<[u8]>, S: Stream<Item = reqwest::Result<B>>> Stream for Limited<S> {
    type Item = Result<B, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let bytes = match ready!(self.bytes.as_mut().poll_next(cx)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        let is_within = self.count(bytes.as_ref());
        let max_bytes = self.max_bytes;
        Poll::Ready(Some(if is_within {
            Ok(bytes)
        } else {
            Err(EventTooLong { max_bytes }.into())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_limited_and_a_stream_is_not() {
        let mut limited = Limited::new((), 20);
        for _ in 0..100 {
            assert!(limited.count(b"data: 12345\r\n\r\n"));
            assert!(limited.count(b": ping\n\n"));
        }
        assert!(limited.count(b"data: 12345\ndata: 1"));
        assert!(!limited.count(b"23"));
    }

    #[test]
    fn body_that_is_no_message_is_refused() {
        for body in
            ["{}", "[]", "7", "junk", r#"{"jsonrpc":"2.0","id":1}"#, r#"{"id":1,"result":{}}"#]
        {
            assert!(message_text(body.into()).is_err(), "{body}");
        }
        for body in
            [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","error":{"code":1}}"#]
        {
            assert_eq!(message_text(body.into()).unwrap(), body);
        }
    }
}
