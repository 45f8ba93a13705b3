//! One request and its outcome: a whole body, or an error that names the request and contains no
//! secret.

use std::time::{Duration, SystemTime};

use serde::de::IgnoredAny;
use tokio::time::timeout;

use crate::codec::DecodeError;
use crate::connection::error_response::{
    error_message, error_response, kind, rejected_output, request_id, retry_after,
};
use crate::connection::frames::Frame;
use crate::connection::off_thread;
use crate::connection::secrets::Secrets;
use crate::connection::work_budget::WorkBudget;
use tool_core::__workspace::InterruptedError;
use tool_core::ModelError;
use tool_core::models::{ApiError, ApiErrorKind};
use tool_http::{Headers, HttpBody, HttpRequest, HttpResponse, TransportError};

/// The highest number of characters of a body in an error.
pub(crate) const MAX_EXCERPT: usize = 2_000;

/// The time to wait for the body of an error response; its status is enough.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of bytes after which the body of an error response with the output of the model is
/// not read further.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// The highest number of bytes of a reply; far more than any model writes.
pub(crate) const MAX_BYTES: usize = 32 << 20;

/// Reason for a stream that ended early.
const ENDED_EARLY: &str = "the stream ended before the reply was complete";

pub(crate) struct HttpExchange {
    pub(crate) request: HttpRequest,
    /// URL for display.
    pub(crate) url: String,
    /// Secrets of the request; some servers quote a key that they do not know.
    pub(crate) secrets: Secrets,
    /// The time limit of the whole exchange.
    pub(crate) limit: Duration,
}

/// Body that was received completely.
pub(crate) struct CompleteBody {
    pub(crate) text: String,
    pub(crate) headers: Headers,
}

impl HttpExchange {
    /// Decodes a body, on the blocking pool if it is large, and returns both.
    pub(crate) async fn decode_body<T: Send + 'static>(
        &self,
        body: CompleteBody,
        decode: impl FnOnce(&str) -> T + Send + 'static,
    ) -> Result<(CompleteBody, T), ModelError> {
        let is_large = off_thread::is_large(body.text.len());
        let work = move || {
            let decoded = decode(&body.text);
            (body, decoded)
        };
        if is_large { off_thread::run(work).await.ok_or_else(|| self.closed()) } else { Ok(work()) }
    }

    /// Converts the error of a body that could not be decoded.
    pub(crate) fn decoded<T>(
        &self,
        body: &CompleteBody,
        decoded: Result<T, DecodeError>,
    ) -> Result<T, ModelError> {
        decoded.map_err(|error| match error {
            DecodeError::Malformed(_) if !has_length(&body.headers) && is_cut_json(&body.text) => {
                self.closed()
            }
            error => self.decode_error(error, &body.text, &body.headers),
        })
    }

    /// Reads the whole body.
    pub(crate) async fn read_body(
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
        let text = self.utf8(bytes, &headers)?;
        Ok(CompleteBody { text, headers })
    }

    /// Converts an error response. The status is enough; the body is read as far as it arrives in
    /// time.
    pub(crate) async fn read_error(&self, mut response: HttpResponse) -> ApiError {
        let mut bytes = Vec::new();
        if let Some(target) = response.headers.get("location") {
            bytes.extend_from_slice(format!("it redirects to {target} ").as_bytes());
        }
        let start = bytes.len();
        let read = async {
            let mut budget = WorkBudget::new();
            while (bytes.len() < 4 * MAX_EXCERPT || has_rejected_output(&bytes))
                && bytes.len() < MAX_ERROR_BYTES
                && let Ok(Some(chunk)) = response.body.next().await
            {
                budget.spend(chunk.len()).await;
                bytes.extend_from_slice(&chunk);
            }
        };
        let _ = timeout(self.limit.min(ERROR_BODY_TIMEOUT) / 2, read).await;
        let body = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        bytes.truncate(4 * MAX_EXCERPT);
        let excerpt = self.excerpt(&String::from_utf8_lossy(&bytes));
        let url = self.url.clone();
        let now = httpdate::fmt_http_date(SystemTime::now());
        let (status, headers) = (response.status, &response.headers);
        let mut refusal = error_response(url, status, headers, &body, excerpt, &now);
        refusal.request_id = refusal.request_id.map(|id| self.secrets.redact(&id));
        refusal.rejected_output = refusal.rejected_output.filter(|it| self.has_no_secret(it));
        refusal
    }

    pub(crate) async fn next_chunk(
        &self,
        body: &mut HttpBody,
    ) -> Result<Option<Vec<u8>>, ModelError> {
        body.next().await.map_err(|error| body_error(&self.url, error))
    }

    /// Returns the error of a connection that was closed within a reply.
    pub(crate) fn closed(&self) -> ModelError {
        body_error(&self.url, TransportError::Connection(ENDED_EARLY.into()))
    }

    pub(crate) fn decode_error(
        &self,
        error: DecodeError,
        body: &str,
        headers: &Headers,
    ) -> ModelError {
        let failure = match error {
            DecodeError::Malformed(reason) => return self.malformed(reason, body, headers),
            DecodeError::Reported(failure) => failure,
            DecodeError::Incomplete => return self.malformed(ENDED_EARLY, body, headers),
        };
        let error = serde_json::json!({ "error": failure });
        match kind(200, &error) {
            ApiErrorKind::Failed => {
                let failure = error.get("error").unwrap_or(&error);
                let reason = format!("the provider reported an error: {}", error_message(failure));
                self.malformed(reason, body, headers)
            }
            kind => {
                let mut refusal = ApiError::new(kind, &self.url, 200, self.excerpt(body));
                refusal.request_id = self.request_id(headers);
                let now = httpdate::fmt_http_date(SystemTime::now());
                refusal.retry_after = retry_after(headers, &now);
                refusal.rejected_output =
                    rejected_output(&error).filter(|it| self.has_no_secret(it));
                Box::new(refusal).into()
            }
        }
    }

    pub(crate) fn malformed(
        &self,
        reason: impl Into<String>,
        body: &str,
        headers: &Headers,
    ) -> ModelError {
        let (reason, body) = (self.secrets.redact(&reason.into()), self.excerpt(body));
        ModelError::Malformed { reason, body, request_id: self.request_id(headers) }
    }

    fn request_id(&self, headers: &Headers) -> Option<String> {
        request_id(headers).map(|id| self.secrets.redact(&id))
    }

    /// Returns whether a text of the model contains no secret of the request. Such a text can't be
    /// redacted, because that would change a call.
    fn has_no_secret(&self, text: &str) -> bool {
        self.secrets.redact(text) == text
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

    pub(crate) fn valid_utf8(&self, frame: Frame, headers: &Headers) -> Result<String, ModelError> {
        if frame.has_invalid_utf8 {
            Err(self.malformed("not UTF-8", &frame.text, headers))
        } else {
            Ok(frame.text)
        }
    }

    pub(crate) fn too_long(&self, limit: usize, bytes: &[u8], headers: &Headers) -> ModelError {
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

/// Returns whether an error response contains what the model wrote, which has to be read as a
/// whole.
fn has_rejected_output(bytes: &[u8]) -> bool {
    let start = bytes.get(..4 * MAX_EXCERPT).unwrap_or(bytes);
    String::from_utf8_lossy(start).contains("\"failed_generation\"")
}

/// Returns whether a response announced the end of its body. Otherwise, the body ends with the
/// connection, complete or not.
fn has_length(headers: &Headers) -> bool {
    ["content-length", "transfer-encoding"].iter().any(|name| headers.get(name).is_some())
}

/// Returns whether bytes without a message begin with a field of a server-sent event.
pub(crate) fn is_cut_event(start: &[u8]) -> bool {
    let line = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let fields = [&b"data:"[..], b"event:", b"id:", b"retry:"];
    !line.is_empty() && fields.iter().any(|it| it.starts_with(line) || line.starts_with(it))
}

/// Returns whether a text is the beginning of a JSON object or array.
pub(crate) fn is_cut_json(text: &str) -> bool {
    let parsed = serde_json::from_str::<IgnoredAny>(text);
    text.trim_start().starts_with(['{', '[']) && parsed.is_err_and(|error| error.is_eof())
}

pub(crate) fn transport_error(url: &str, error: TransportError) -> ModelError {
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
        error => ModelError::Setup(error.to_string()),
    }
}

/// Converts the error of a response that had begun.
pub(crate) fn body_error(url: &str, error: TransportError) -> ModelError {
    match error {
        TransportError::Connection(source) => {
            let source = TransportError::Connection(Box::new(InterruptedError(source)));
            transport_error(url, source)
        }
        error => transport_error(url, error),
    }
}

pub(crate) fn timeout_error(url: &str, limit: Duration) -> ModelError {
    ModelError::Timeout { url: url.to_owned(), limit }
}
