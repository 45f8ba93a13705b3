use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tool_core::async_trait;

use super::super::Access;

/// The time that an authenticator has: a request takes a permit before its sender is known.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Authenticates HTTP requests, and decides which tools their senders may use.
///
/// Any `Fn(&Parts) -> Result<Access, Denied>` is an authenticator. Implement the trait under
/// `#[async_trait]`, which `tool_runtime` re-exports, if the decision needs I/O. A decision has 10
/// seconds; after that, the request is refused with the status 503.
///
/// ```
/// use axum::http::request::Parts;
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::mcp::server::{Access, Denied};
/// use tool_runtime::tools;
///
/// fn authenticate(request: &Parts) -> Result<Access, Denied> {
///     let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
///     match header.and_then(|header| header.strip_prefix("Bearer ")) {
///         Some("a secret of Ada") => Ok(Access::new("Ada")),
///         _ => Err(Denied::unauthorized("Bearer")),
///     }
/// }
///
/// let server = McpServer::new(tools![]).authenticate(authenticate);
/// # let _ = server;
/// ```
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the access of the sender of a request.
    ///
    /// # Errors
    /// The sender is unknown, or may not use the server.
    async fn authenticate(&self, request: &Parts) -> Result<Access, Denied>;
}

/// Returns the access of the sender of a request within the time limit.
///
/// # Errors
/// The response that refuses the request.
pub(super) async fn access(
    authenticator: &dyn Authenticator,
    request: &Parts,
) -> Result<Access, Response> {
    match timeout(TIME_LIMIT, authenticator.authenticate(request)).await {
        Ok(decision) => decision.map_err(Denied::into_response),
        Err(_) => {
            let text = "the authentication timed out";
            Err((StatusCode::SERVICE_UNAVAILABLE, text).into_response())
        }
    }
}

#[async_trait]
impl<F: Fn(&Parts) -> Result<Access, Denied> + Send + Sync> Authenticator for F {
    async fn authenticate(&self, request: &Parts) -> Result<Access, Denied> {
        self(request)
    }
}

/// The refusal of an HTTP request.
///
/// ```
/// use tool_runtime::mcp::server::Denied;
///
/// let metadata = "https://example.org/.well-known/oauth-protected-resource";
/// let denied = Denied::unauthorized(format!("Bearer resource_metadata=\"{metadata}\""));
/// # let _ = denied;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    status: StatusCode,
    challenge: Option<String>,
}

impl Denied {
    /// Refuses a request without valid credentials (401). The challenge, the value of
    /// `WWW-Authenticate`, describes how the client gets credentials.
    pub fn unauthorized(challenge: impl Into<String>) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, challenge: Some(challenge.into()) }
    }

    /// Refuses a request whose sender is known and may not do this (403).
    pub fn forbidden() -> Self {
        Self { status: StatusCode::FORBIDDEN, challenge: None }
    }

    /// Sets the challenge, such as one that names missing scopes.
    #[must_use]
    pub fn challenge(mut self, challenge: impl Into<String>) -> Self {
        self.challenge = Some(challenge.into());
        self
    }

    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if let Some(Ok(value)) = self.challenge.map(HeaderValue::try_from) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}
