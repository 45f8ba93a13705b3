//! One request and its outcome: a reply, whole or streamed, or an error that names the request and
//! contains no secret.

use std::time::{Duration, SystemTime};

use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::error_response::{error_message, error_response, kind, request_id, retry_after};
use super::frames::{Frame, Frames};
use super::secrets::Secrets;
use super::work_budget::WorkBudget;
use crate::http::{Headers, HttpBody, HttpRequest, HttpResponse, TransportError};
use crate::message::AssistantPart;
use crate::models::delta::emit_reply;
use crate::models::{ApiError, ApiErrorKind, ChatReply, Delta, DeltaSink, ModelError, WireNames};

/// The highest number of characters of a body in an error.
const MAX_EXCERPT: usize = 2_000;

/// The time to wait for the end of a connection after the whole reply was received.
const LINGER: Duration = Duration::from_millis(200);

/// The time to wait for the body of an error response; its status is enough.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The highest number of bytes of a reply; far more than any model writes.
const MAX_BYTES: usize = 32 << 20;

/// The highest number of bytes of a streamed reply, which repeats names and ids in each message.
const MAX_STREAM_BYTES: usize = 8 * MAX_BYTES;

/// Reason for a stream that ended early.
const ENDED_EARLY: &str = "the stream ended before the reply was complete";

pub(super) struct HttpExchange<'c, C> {
    pub(super) codec: &'c C,
    pub(super) names: WireNames,
    pub(super) request: HttpRequest,
    /// URL for display.
    pub(super) url: String,
    /// Secrets of the request; some servers quote a key that they do not know.
    pub(super) secrets: Secrets,
    /// The time limit of the whole exchange.
    pub(super) limit: Duration,
    /// The highest number of calls in the reply.
    pub(super) max_calls: usize,
}

/// Body that was received completely.
pub(super) struct CompleteBody {
    body: String,
    headers: Headers,
}

impl CompleteBody {
    pub(super) fn decode<C: Codec>(
        &self,
        exchange: &HttpExchange<'_, C>,
    ) -> Result<ChatReply, ModelError> {
        let decoded = exchange.codec.decode(&self.body, &exchange.names);
        let reply = decoded.map_err(|error| match error {
            DecodeError::Malformed(_) if !has_length(&self.headers) && is_cut_json(&self.body) => {
                exchange.closed()
            }
            error => exchange.decode_error(error, &self.body, &self.headers),
        })?;
        exchange.checked(reply, &self.body, &self.headers)
    }
}

impl<C: Codec> HttpExchange<'_, C> {
    /// Reads the whole body.
    pub(super) async fn read_body(
        &self,
        response: HttpResponse,
    ) -> Result<CompleteBody, ModelError> {
        let HttpResponse { headers, mut body, .. } = response;
        let (mut bytes, mut budget) = (Vec::new(), WorkBudget::new());
        while let Some(chunk) = self.next_chunk(&mut body).await? {
            budget.spend(chunk.len()).await;
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_BYTES {
                return Err(self.too_long(MAX_BYTES, &bytes, &headers));
            }
        }
        let body = self.utf8(bytes, &headers)?;
        Ok(CompleteBody { body, headers })
    }

    /// Reads a streamed reply and emits it. A server without streams sends a whole reply instead.
    pub(super) async fn read_stream(
        &self,
        response: HttpResponse,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let content_type =
            response.headers.get("content-type").unwrap_or_default().to_ascii_lowercase();
        if C::FRAMING == Framing::Sse && content_type.starts_with("application/json") {
            let reply = self.read_body(response).await?.decode(self)?;
            emit_reply(&reply.parts, deltas);
            return Ok(reply);
        }
        let HttpResponse { headers, mut body, .. } = response;
        let mut budget = WorkBudget::new();
        let mut frames = Frames::new(C::FRAMING, MAX_BYTES);
        let mut assembler = self.codec.assembler(self.names.clone());
        let mut received = 0;
        // For an error: the bytes before the first message, and the last message.
        let (mut start, mut last) = (Vec::new(), String::new());
        while let Some(chunk) = self.next_chunk(&mut body).await? {
            received += chunk.len();
            budget.spend(0).await;
            let messages = frames.push(&chunk);
            let messages =
                messages.map_err(|error| self.too_long(error.limit, &chunk, &headers))?;
            // Frames may each be short and never end.
            if received > MAX_STREAM_BYTES {
                return Err(self.too_long(MAX_STREAM_BYTES, &chunk, &headers));
            }
            if last.is_empty() && start.len() < MAX_EXCERPT {
                start.extend_from_slice(&chunk);
            }
            for message in messages {
                last = self.valid_utf8(message, &headers)?;
                self.push(&mut assembler, &last, &headers, deltas)?;
                budget.spend(last.len()).await;
            }
            if assembler.is_done() {
                // A connection that has ended can be reused, but the client does not wait long for
                // it.
                let rest = async {
                    while let Ok(Some(chunk)) = body.next().await {
                        budget.spend(chunk.len()).await;
                    }
                };
                let _ = timeout(LINGER, rest).await;
                break;
            }
        }
        if !assembler.is_done()
            && let Some(message) = frames.finish()
        {
            let has_begun = !last.is_empty();
            let is_cut = message.has_invalid_utf8 || is_cut_json(&message.text);
            if is_cut && (has_begun || !message.has_invalid_utf8) {
                return Err(self.closed());
            }
            last = self.valid_utf8(message, &headers)?;
            self.push(&mut assembler, &last, &headers, deltas)?;
        }
        let reply = assembler.finish().map_err(|error| match error {
            // Some servers close a broken connection as if the reply were complete.
            DecodeError::Incomplete if !last.is_empty() || is_cut_event(&start) => self.closed(),
            error => {
                let start = String::from_utf8_lossy(&start);
                let body = if last.is_empty() { &*start } else { &last };
                self.decode_error(error, body, &headers)
            }
        })?;
        self.checked(reply, &last, &headers)
    }

    /// Adds a message to a streamed reply and emits its deltas, up to the limit of calls.
    fn push(
        &self,
        assembler: &mut impl Assemble,
        message: &str,
        headers: &Headers,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        let mut has_too_many_calls = false;
        let mut emit = |delta: Delta<'_>| match delta {
            Delta::Call { index, .. } | Delta::Arguments { index, .. }
                if index >= self.max_calls =>
            {
                has_too_many_calls = true;
            }
            delta => deltas(delta),
        };
        let pushed = assembler.push(message, &mut emit);
        pushed.map_err(|error| self.decode_error(error, message, headers))?;
        if has_too_many_calls { Err(self.too_many_calls(message, headers)) } else { Ok(()) }
    }

    /// Returns the reply unless it has too many calls.
    fn checked(
        &self,
        reply: ChatReply,
        body: &str,
        headers: &Headers,
    ) -> Result<ChatReply, ModelError> {
        let is_call = |part: &&AssistantPart| matches!(part, AssistantPart::Call(_));
        if reply.parts.iter().filter(is_call).count() > self.max_calls {
            Err(self.too_many_calls(body, headers))
        } else {
            Ok(reply)
        }
    }

    /// Converts an error response. The status is enough; the body is read as far as it arrives in
    /// time.
    pub(super) async fn read_error(&self, mut response: HttpResponse) -> ApiError {
        let mut bytes = Vec::new();
        if let Some(target) = response.headers.get("location") {
            bytes.extend_from_slice(format!("it redirects to {target} ").as_bytes());
        }
        let start = bytes.len();
        let read = async {
            let mut budget = WorkBudget::new();
            while bytes.len() < 4 * MAX_EXCERPT
                && let Ok(Some(chunk)) = response.body.next().await
            {
                budget.spend(chunk.len()).await;
                bytes.extend_from_slice(&chunk);
            }
        };
        let _ = timeout(self.limit.min(ERROR_BODY_TIMEOUT) / 2, read).await;
        let body = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        let excerpt = self.excerpt(&String::from_utf8_lossy(&bytes));
        let url = self.url.clone();
        let now = httpdate::fmt_http_date(SystemTime::now());
        let (status, headers) = (response.status, &response.headers);
        let mut refusal = error_response(url, status, headers, &body, excerpt, &now);
        refusal.request_id = refusal.request_id.map(|id| self.secrets.redact(&id));
        refusal
    }

    async fn next_chunk(&self, body: &mut HttpBody) -> Result<Option<Vec<u8>>, ModelError> {
        body.next().await.map_err(|error| transport_error(&self.url, error))
    }

    /// Returns the error of a connection that was closed within a reply.
    fn closed(&self) -> ModelError {
        transport_error(&self.url, TransportError::Connection(ENDED_EARLY.into()))
    }

    fn decode_error(&self, error: DecodeError, body: &str, headers: &Headers) -> ModelError {
        let failure = match error {
            DecodeError::Malformed(reason) => return self.malformed(reason, body, headers),
            DecodeError::Reported(failure) => failure,
            DecodeError::Incomplete => return self.malformed(ENDED_EARLY, body, headers),
        };
        match kind(200, &serde_json::json!({ "error": failure })) {
            ApiErrorKind::Other => {
                let reason = format!("the provider reported an error: {}", error_message(&failure));
                self.malformed(reason, body, headers)
            }
            kind => {
                let mut refusal = ApiError::new(kind, &self.url, 200, self.excerpt(body));
                refusal.request_id = self.request_id(headers);
                let now = httpdate::fmt_http_date(SystemTime::now());
                refusal.retry_after = retry_after(headers, &now);
                Box::new(refusal).into()
            }
        }
    }

    fn malformed(&self, reason: impl Into<String>, body: &str, headers: &Headers) -> ModelError {
        let (reason, body) = (self.secrets.redact(&reason.into()), self.excerpt(body));
        ModelError::Malformed { reason, body, request_id: self.request_id(headers) }
    }

    fn request_id(&self, headers: &Headers) -> Option<String> {
        request_id(headers).map(|id| self.secrets.redact(&id))
    }

    fn utf8(&self, bytes: Vec<u8>, headers: &Headers) -> Result<String, ModelError> {
        String::from_utf8(bytes).map_err(|error| {
            if !has_length(headers) && error.utf8_error().error_len().is_none() {
                return self.closed();
            }
            let body = String::from_utf8_lossy(error.as_bytes());
            self.malformed("not UTF-8", &body, headers)
        })
    }

    fn valid_utf8(&self, frame: Frame, headers: &Headers) -> Result<String, ModelError> {
        if frame.has_invalid_utf8 {
            Err(self.malformed("not UTF-8", &frame.text, headers))
        } else {
            Ok(frame.text)
        }
    }

    fn too_many_calls(&self, body: &str, headers: &Headers) -> ModelError {
        let limit = self.max_calls;
        let reason = format!("more than {limit} calls, the limit of `max_calls_per_reply`");
        self.malformed(reason, body, headers)
    }

    fn too_long(&self, limit: usize, bytes: &[u8], headers: &Headers) -> ModelError {
        let reason = format!("longer than {limit} bytes");
        let start = bytes.get(..4 * MAX_EXCERPT).unwrap_or(bytes);
        self.malformed(reason, &String::from_utf8_lossy(start), headers)
    }

    /// Returns the start of a body for an error, without secrets.
    fn excerpt(&self, body: &str) -> String {
        let body = self.secrets.redact(body.trim());
        let mut text: String = body.chars().take(MAX_EXCERPT).collect();
        if text.len() < body.len() {
            text.push_str(" …");
        }
        text
    }
}

/// Returns whether a response announced the end of its body. Otherwise, the body ends with the
/// connection, complete or not.
fn has_length(headers: &Headers) -> bool {
    ["content-length", "transfer-encoding"].iter().any(|name| headers.get(name).is_some())
}

/// Returns whether bytes without a message begin with a field of a server-sent event.
fn is_cut_event(start: &[u8]) -> bool {
    let line = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let fields = [&b"data:"[..], b"event:", b"id:", b"retry:"];
    !line.is_empty() && fields.iter().any(|it| it.starts_with(line) || line.starts_with(it))
}

/// Returns whether a text is the beginning of a JSON object or array.
fn is_cut_json(text: &str) -> bool {
    let parsed = serde_json::from_str::<IgnoredAny>(text);
    text.trim_start().starts_with(['{', '[']) && parsed.is_err_and(|error| error.is_eof())
}

pub(super) fn transport_error(url: &str, error: TransportError) -> ModelError {
    match error {
        TransportError::Setup(text) => ModelError::Setup(text),
        TransportError::Connection(source) => {
            ModelError::Unreachable { url: url.to_owned(), source }
        }
        TransportError::Timeout { limit } => timeout_error(url, limit),
        error @ TransportError::BodyTooLong { .. } => ModelError::Malformed {
            reason: error.to_string(),
            body: String::new(),
            request_id: None,
        },
        TransportError::Unrecorded(text) => ModelError::Unrecorded(text),
    }
}

pub(super) fn timeout_error(url: &str, limit: Duration) -> ModelError {
    ModelError::Timeout { url: url.to_owned(), limit }
}
