//! The part of an exchange that all search engines share.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tool_core::{ToolError, ToolErrorKind};
use tool_http::{HttpRequest, ReqwestTransport, Transport, TransportError};
use url::Url;

/// The longest delay that an engine may ask for before a retry, in seconds.
const MAX_RETRY_DELAY: u64 = 3_600;

/// The most bytes of a response.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The address of an engine, and the transport that reaches it.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) transport: Arc<dyn Transport>,
}

impl Endpoint {
    pub(super) fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), transport: Arc::new(ReqwestTransport::new()) }
    }

    /// Returns the URL of a path below the address, with a query.
    pub(super) fn url<'q>(
        &self,
        path: &str,
        query: impl IntoIterator<Item = (&'q str, &'q str)>,
    ) -> Result<String, ToolError> {
        let base = self.url.trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}/{path}")).map_err(|error| {
            ToolError::new(ToolErrorKind::Unavailable, "The search engine has no valid address.")
                .with_source(error)
        })?;
        let mut query = query.into_iter().peekable();
        if query.peek().is_some() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url.into())
    }

    /// Sends a request, and decodes the response.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        request: HttpRequest,
    ) -> Result<T, ToolError> {
        let request = request.header("accept", "application/json");
        let response = self.transport.send(&request).await.map_err(unreachable_engine)?;
        let (status, headers) = (response.status, response.headers);
        let body = response.body.read_to_end(MAX_BYTES).await.map_err(unreachable_engine)?;
        if !(200..300).contains(&status) {
            let seconds = headers.get("retry-after").and_then(|delay| delay.parse().ok());
            let Failure { error } = serde_json::from_slice(&body).unwrap_or_default();
            return Err(status_error(status, &error.code, seconds));
        }
        serde_json::from_slice(&body).map_err(|error| {
            ToolError::failed("The search engine sent a response that can't be read.")
                .with_source(error)
        })
    }
}

fn unreachable_engine(error: TransportError) -> ToolError {
    let kind = match error {
        TransportError::Connection(_) | TransportError::Timeout { .. } => {
            ToolErrorKind::TransientFailure
        }
        _ => ToolErrorKind::ExecutionFailed,
    };
    ToolError::new(kind, "The search engine can't be reached.").with_source(error)
}

/// The body of a failed request. Engines that send another one are judged by the status alone.
#[derive(Default, Deserialize)]
struct Failure {
    error: ErrorObject,
}

#[derive(Default, Deserialize)]
struct ErrorObject {
    code: String,
}

/// Returns the error of a status and the code in the body. Only the program can mend a key that is
/// refused, or an address that redirects.
fn status_error(status: u16, code: &str, retry_after: Option<u64>) -> ToolError {
    let (kind, reason) = match (status, code) {
        // Brave Search refuses a key with the status of an invalid query or of an unknown path.
        (401 | 403, _) | (_, "SUBSCRIPTION_TOKEN_INVALID" | "SUBSCRIPTION_NOT_FOUND") => {
            (ToolErrorKind::Unavailable, "refuses the program")
        }
        (402 | 432 | 433, _) | (_, "QUOTA_LIMITED") => {
            (ToolErrorKind::Unavailable, "refuses the program: its plan is used up")
        }
        // It is not followed: it would carry the key to another server.
        (300..=399, _) => (ToolErrorKind::Unavailable, "redirects to another address"),
        (429, _) => (ToolErrorKind::TransientFailure, "is asked too often"),
        (500..=599, _) => (ToolErrorKind::TransientFailure, "has an internal error"),
        _ => (ToolErrorKind::ExecutionFailed, "refuses the query"),
    };
    let error = ToolError::new(kind, format!("The search engine {reason} (status {status})."));
    match retry_after {
        Some(seconds) if kind == ToolErrorKind::TransientFailure => {
            error.retry_after(Duration::from_secs(seconds.min(MAX_RETRY_DELAY)))
        }
        _ => error,
    }
}

/// Decodes a member that is null or missing as its default.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}
