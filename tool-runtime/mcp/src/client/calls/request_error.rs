//! Errors of requests: for the program, and as errors of calls.

use std::error::Error;
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::ServiceError;
use serde_json::Value;
use tool_core::event::ProtocolError;
use tool_core::{ToolError, ToolErrorKind};

use crate::client::connect::failure_reason::failure_reason;
use crate::client::error::McpError;
use crate::client::tools::text::clean;
use crate::client::wire::WireError;
use crate::client::wire::incoming::{MALFORMED, TOO_LONG, UNMATCHED};
use crate::lines::WriteError;

/// The number of characters of an error message of a server that are kept.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// The longest data of an error that are kept, in bytes of JSON.
const MAX_DATA_BYTES: usize = 16 << 10;

/// The reason of a connection whose server does not answer.
pub(crate) const UNREACHABLE: &str = "the server can't be reached";

/// The reason of a connection whose server has ended its session.
pub(crate) const SESSION_EXPIRED: &str = "the session has expired on the server";

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    Service(ServiceError),
    /// The connection, or the stream of the response, ended before the response.
    Lost,
    TimedOut,
}

/// The cause of a request that failed in the transport.
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP distinguishes these"))]
pub(crate) enum HttpFailure {
    /// The server refused the request, with its challenge if it sent one.
    Unauthorized(Option<String>),
    /// The server is busy: it did not process the request.
    Busy(Option<Duration>),
    /// The server can't be reached.
    Unreachable,
    /// The session has expired: the request was not processed.
    SessionExpired,
    /// The response is above the size limit: the request was processed.
    TooLarge,
    /// Anything else: the request may have been processed.
    Other,
}

/// Returns the error of a request for the program.
pub(crate) fn mcp_error(
    server: &str,
    operation: &'static str,
    limit: Duration,
    error: RequestError,
) -> McpError {
    let server = server.to_owned();
    match error {
        RequestError::Lost => McpError::ConnectionLost { server, operation },
        RequestError::TimedOut => McpError::Timeout { server, operation, limit },
        RequestError::Service(ServiceError::McpError(error)) => {
            let message = clean(&error.message, MAX_MESSAGE_CHARS);
            if matches!(&*error.message, TOO_LONG | UNMATCHED | MALFORMED) {
                return McpError::InvalidResponse { server, operation, reason: message };
            }
            McpError::Rpc { server, operation, code: error.code.0, message }
        }
        RequestError::Service(ServiceError::TransportSend(error)) => {
            match http_failure(&*error.error) {
                HttpFailure::Unauthorized(challenge) => {
                    McpError::AuthorizationRequired { server, challenge }
                }
                HttpFailure::Busy(retry_after) => McpError::Busy { server, operation, retry_after },
                HttpFailure::SessionExpired => McpError::SessionExpired { server, operation },
                HttpFailure::TooLarge => {
                    McpError::InvalidResponse { server, operation, reason: TOO_LONG.to_owned() }
                }
                _ => {
                    let reason = failure_reason(&*error.error);
                    McpError::Transport { server, operation, reason }
                }
            }
        }
        RequestError::Service(error) => {
            let reason = clean(&error.to_string(), MAX_MESSAGE_CHARS);
            McpError::InvalidResponse { server, operation, reason }
        }
    }
}

/// Returns the error of a call. `mark` marks a text of the server as untrusted.
pub(crate) fn tool_error(
    server: &str,
    error: RequestError,
    is_retry_safe: bool,
    mark: impl FnOnce(&str) -> String,
) -> ToolError {
    match error {
        RequestError::Lost => maybe_ran(
            is_retry_safe,
            &format!("The connection to the MCP server `{server}` was lost during the call"),
        ),
        RequestError::TimedOut => ToolError::new(
            ToolErrorKind::Timeout,
            format!(
                "The MCP server `{server}` did not answer in time; the call may have had effects."
            ),
        ),
        RequestError::Service(ServiceError::McpError(error)) => {
            rpc_error(server, &error, is_retry_safe, mark)
        }
        RequestError::Service(ServiceError::TransportSend(error)) => {
            let source = failure_reason(&*error.error);
            send_error(server, &*error.error, is_retry_safe).with_source(source)
        }
        RequestError::Service(ServiceError::Cancelled { .. }) => {
            maybe_ran(is_retry_safe, &format!("The MCP server `{server}` cancelled the call"))
        }
        RequestError::Service(error) => {
            let source = clean(&error.to_string(), MAX_MESSAGE_CHARS);
            no_valid_result(server).with_source(source)
        }
    }
}

fn too_large() -> ToolError {
    ToolError::failed("The call ran, but its result is too large to be received. Ask for less.")
}

fn no_valid_result(server: &str) -> ToolError {
    let text = format!("The call ran, but the MCP server `{server}` sent no valid result.");
    ToolError::failed(text)
}

fn rpc_error(
    server: &str,
    error: &ErrorData,
    is_retry_safe: bool,
    mark: impl FnOnce(&str) -> String,
) -> ToolError {
    match &*error.message {
        TOO_LONG => return too_large(),
        UNMATCHED => {
            let cause = format!("The MCP server `{server}` sent a result that is too large");
            return maybe_ran(is_retry_safe, &cause);
        }
        MALFORMED => return no_valid_result(server),
        _ => {}
    }
    // The transport of the SDK reports a lost session in this form.
    if error.message.starts_with("streamable HTTP session was re-initialized") {
        let cause = format!("The MCP server `{server}` lost the session of the call");
        return maybe_ran(is_retry_safe, &cause);
    }
    let kind = match error.code {
        ErrorCode::INVALID_PARAMS => ToolErrorKind::InvalidArguments,
        _ => ToolErrorKind::ExecutionFailed,
    };
    let message = clean(&error.message, MAX_MESSAGE_CHARS);
    let mut cause = ProtocolError::new(error.code.0.into());
    if let Some(data) = error.data.as_ref().filter(|data| is_short(data)) {
        cause = cause.data(data.clone());
    }
    ToolError::new(kind, mark(&message)).with_protocol_error(cause)
}

/// Returns true for data that are kept. Others would fill reports and the errors of a server that
/// passes them on.
fn is_short(data: &Value) -> bool {
    serde_json::to_string(data).is_ok_and(|json| json.len() <= MAX_DATA_BYTES)
}

fn send_error(server: &str, error: &(dyn Error + 'static), is_retry_safe: bool) -> ToolError {
    match http_failure(error) {
        HttpFailure::Unauthorized(_) => {
            let text = format!("The MCP server `{server}` refuses the call: not authorized.");
            ToolError::new(ToolErrorKind::Denied, text)
        }
        HttpFailure::Busy(retry_after) => {
            let text = format!("The MCP server `{server}` is busy; try again later.");
            let error = ToolError::transient(text);
            match retry_after {
                Some(delay) => error.retry_after(delay),
                None => error,
            }
        }
        HttpFailure::Unreachable => {
            let text = format!("The MCP server `{server}` can't be reached; the call did not run.");
            ToolError::transient(text)
        }
        HttpFailure::SessionExpired => {
            let text = format!(
                "The MCP server `{server}` has ended the session; the call did not run, and the \
                 client connects again."
            );
            ToolError::transient(text)
        }
        HttpFailure::TooLarge => too_large(),
        HttpFailure::Other => {
            let cause = format!("The call to the MCP server `{server}` was interrupted");
            maybe_ran(is_retry_safe, &cause)
        }
    }
}

/// Returns the error of a call that may or may not have run.
fn maybe_ran(is_retry_safe: bool, cause: &str) -> ToolError {
    if is_retry_safe {
        ToolError::transient(format!("{cause}. Call it again if you need the result."))
    } else {
        let text = format!("{cause}; it may have had effects.");
        ToolError::new(ToolErrorKind::Indeterminate, text)
    }
}

/// Classifies the error of a transport.
pub(crate) fn http_failure(error: &(dyn Error + 'static)) -> HttpFailure {
    let mut next = Some(error);
    while let Some(current) = next {
        // Nothing was written.
        if let Some(WireError::Write(WriteError::QueueFull | WriteError::Closed)) =
            current.downcast_ref()
        {
            return HttpFailure::Unreachable;
        }
        #[cfg(feature = "client")]
        if let Some(failure) = http::failure(current) {
            return failure;
        }
        next = current.source();
    }
    HttpFailure::Other
}

#[cfg(feature = "client")]
mod http {
    use std::error::Error;
    use std::time::Duration;

    use rmcp::transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    };

    use super::HttpFailure;

    pub(super) fn failure(error: &(dyn Error + 'static)) -> Option<HttpFailure> {
        if let Some(required) = error.downcast_ref::<AuthRequiredError>() {
            let challenge = required.www_authenticate_header.clone();
            return Some(HttpFailure::Unauthorized(Some(challenge)));
        }
        if let Some(scope) = error.downcast_ref::<InsufficientScopeError>() {
            let challenge = scope.www_authenticate_header.clone();
            return Some(HttpFailure::Unauthorized(Some(challenge)));
        }
        if let Some(status) = error.downcast_ref::<HttpStatusError>() {
            return status_failure(status);
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return error.is_connect().then_some(HttpFailure::Unreachable);
        }
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
            StreamableHttpError::SessionExpired => Some(HttpFailure::SessionExpired),
            StreamableHttpError::ResponseBodyTooLarge { .. } => Some(HttpFailure::TooLarge),
            StreamableHttpError::UnexpectedServerResponse(text)
                if text.starts_with("HTTP 401") || text.starts_with("HTTP 403") =>
            {
                Some(HttpFailure::Unauthorized(None))
            }
            // A token could not be refreshed: nothing was sent.
            #[cfg(feature = "oauth")]
            StreamableHttpError::Auth(_) => Some(HttpFailure::Busy(None)),
            StreamableHttpError::HttpStatus(status) => status_failure(status),
            StreamableHttpError::Client(error) if error.is_connect() => {
                Some(HttpFailure::Unreachable)
            }
            _ => None,
        }
    }

    fn status_failure(status: &HttpStatusError) -> Option<HttpFailure> {
        // Other failures of a server may come after it processed the request.
        matches!(status.status, 429 | 503).then(|| {
            let seconds = status.retry_after.as_deref().and_then(|text| text.trim().parse().ok());
            HttpFailure::Busy(seconds.map(Duration::from_secs))
        })
    }
}
