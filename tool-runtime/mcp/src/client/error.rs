use std::time::Duration;

use tool_core::RegistryError;

use crate::client::challenge::AuthorizationFailure;
use crate::client::tools::text::{clean_line, marked};

/// The number of characters of an error that a model reads.
const MAX_MODEL_CHARS: usize = 500;

/// The reason why a connection to an MCP server, or a request to it, failed.
///
/// Texts from the server are part of the message. They are stripped of invisible characters and
/// truncated, but they are untrusted.
///
/// ```
/// use tool_runtime::mcp::McpError;
///
/// let error = McpError::InvalidOptions("the URL is empty".into());
/// assert_eq!(error.to_string(), "invalid MCP client options: the URL is empty");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The options of the client contradict each other or are malformed.
    #[error("invalid MCP client options: {0}")]
    InvalidOptions(String),
    /// The name of the connection is not a valid provider name, or its tools can't be registered.
    #[error("MCP server `{server}`: {error}")]
    Registry {
        /// The name of the connection.
        server: String,
        /// Why the registry refused it.
        error: RegistryError,
    },
    /// The registry already has tools from a provider with the name of the connection.
    #[error("MCP server `{server}`: the registry already has a provider of this name; use another")]
    NameTaken {
        /// The name of the connection.
        server: String,
    },
    /// The program of the server can't be started.
    #[error("MCP server `{server}`: `{program}` can't be started: {error}")]
    Spawn {
        /// The name of the connection.
        server: String,
        /// The program that could not be started.
        program: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The handshake failed in both revisions of the protocol.
    #[error("MCP server `{server}`: connection failed: {reason}")]
    Connect {
        /// The name of the connection.
        server: String,
        /// The failures of all attempts. If the program of a server ended, also its exit status
        /// and the end of its standard error. Secrets that the client sent are redacted.
        reason: String,
    },
    /// The server requires authorization.
    #[error("MCP server `{server}`: authorization required: set a valid bearer token or OAuth")]
    AuthorizationRequired {
        /// The name of the connection.
        server: String,
        /// The `WWW-Authenticate` header of the response.
        challenge: Option<String>,
    },
    /// The server requires authorization, which could not be obtained.
    #[error("MCP server `{server}`: authorization failed: {reason}")]
    AuthorizationFailed {
        /// The name of the connection.
        server: String,
        /// The cause, such as the refusal of the user.
        reason: String,
        /// Whether the options or a rule of OAuth forbid the authorization, such as another issuer
        /// than the configured one. A connection in the background then ends.
        is_permanent: bool,
    },
    /// The server did not answer in time.
    #[error("MCP server `{server}`: `{operation}` timed out after {limit:?}")]
    Timeout {
        /// The name of the connection.
        server: String,
        /// The request, such as `tools/list`.
        operation: &'static str,
        /// The time limit that was exceeded.
        limit: Duration,
    },
    /// The connection is down.
    #[error(
        "MCP server `{server}`: not connected; wait by `McpConnection::connected`, or connect again after a disconnect"
    )]
    NotConnected {
        /// The name of the connection.
        server: String,
    },
    /// The connection, or over HTTP the stream of the response, ended before the response.
    #[error("MCP server `{server}`: connection lost during `{operation}`")]
    ConnectionLost {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
    },
    /// The server answered with an error.
    #[error("MCP server `{server}`: `{operation}` failed: {message} (code {code})")]
    Rpc {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
        /// The JSON-RPC error code.
        code: i32,
        /// The message of the server.
        message: String,
    },
    /// The response of the server violates the protocol or a limit.
    #[error("MCP server `{server}`: invalid response to `{operation}`: {reason}")]
    InvalidResponse {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
        /// The violation of the protocol.
        reason: String,
    },
    /// The transport failed to deliver the request.
    #[error("MCP server `{server}`: `{operation}` was not delivered: {reason}")]
    Transport {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
        /// The error of the transport.
        reason: String,
    },
    /// The session expired on the server before it processed the request. The client reconnects.
    #[error("MCP server `{server}`: the session expired before `{operation}`; try again later")]
    SessionExpired {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
    },
    /// The server is busy: it did not process the request.
    #[error("MCP server `{server}`: busy; try `{operation}` again later")]
    Busy {
        /// The name of the connection.
        server: String,
        /// The method of the request.
        operation: &'static str,
        /// The delay that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The pinned definitions can't be read or written.
    #[error("MCP server `{server}`: the pin store failed: {error}")]
    Pins {
        /// The name of the connection.
        server: String,
        /// The error of the store.
        error: std::io::Error,
    },
    /// The approval is for a definition that the server has replaced or removed since.
    #[error(
        "MCP server `{server}`: `{tool}` has changed since it was shown; call `McpConnection::tools` again"
    )]
    StaleApproval {
        /// The name of the connection.
        server: String,
        /// The name of the tool.
        tool: String,
    },
    /// The allow-list or a limit of the client does not permit the connection or the request.
    #[error("not allowed by the MCP client: {0}")]
    NotAllowed(String),
}

impl McpError {
    pub(super) fn authorization_failed(server: String, failure: AuthorizationFailure) -> Self {
        let AuthorizationFailure { reason, is_permanent } = failure;
        Self::AuthorizationFailed { server, reason, is_permanent }
    }

    /// Returns the error for a model. The reasons of failed connections are left out, because they
    /// may contain secrets. Other texts of the server are marked as untrusted.
    pub(super) fn to_model_text(&self, server: &str) -> String {
        let text = clean_line(&self.to_string(), MAX_MODEL_CHARS);
        match self {
            Self::InvalidOptions(_)
            | Self::Registry { .. }
            | Self::NameTaken { .. }
            | Self::Spawn { .. }
            | Self::Timeout { .. }
            | Self::Busy { .. }
            | Self::SessionExpired { .. }
            | Self::ConnectionLost { .. }
            | Self::NotAllowed(_) => text,
            Self::NotConnected { server } => {
                format!("MCP server `{server}`: not connected; try again later")
            }
            Self::AuthorizationRequired { server, .. } => {
                format!("MCP server `{server}`: authorization required")
            }
            Self::Connect { server, .. } => {
                format!("MCP server `{server}`: connection failed; check its command or URL")
            }
            Self::AuthorizationFailed { server, .. } => {
                format!("MCP server `{server}`: authorization failed")
            }
            Self::Transport { server, operation, .. } => {
                format!("MCP server `{server}`: `{operation}` was not delivered")
            }
            Self::Pins { server, .. } => format!("MCP server `{server}`: the pin store failed"),
            Self::Rpc { .. } | Self::InvalidResponse { .. } | Self::StaleApproval { .. } => {
                marked(server, &text)
            }
        }
    }
}
