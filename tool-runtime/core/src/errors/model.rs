use std::error::Error;
use std::time::Duration;

/// Reports why a model request has no reply.
///
/// ```
/// use tool_runtime::ModelError;
///
/// let error = ModelError::unavailable("the weights are being loaded");
/// assert_eq!(error.to_string(), "model request failed: the weights are being loaded");
/// assert!(error.is_transient());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The client is not configured correctly, or the request can't be expressed in its protocol.
    #[error("{0}")]
    Setup(String),
    /// The connection could not be established, or it broke. The [code](Self::code) distinguishes
    /// the two.
    #[error("connection to the model failed: {url}: {}", root_cause(source.as_ref()))]
    Unreachable {
        /// The URL of the request.
        url: String,
        /// The error of the transport.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The response did not arrive in time.
    #[error("model request timed out after {limit:?}: {url}")]
    Timeout {
        /// The URL of the request.
        url: String,
        /// The time limit of the request.
        limit: Duration,
    },
    /// The API of the provider returned an error.
    #[error(transparent)]
    Api(#[from] Box<ApiError>),
    /// The response does not follow the protocol.
    #[error(
        "model response is malformed: {reason}; body: {body}{}",
        request_suffix(request_id.as_deref())
    )]
    Malformed {
        /// The violation of the protocol.
        reason: String,
        /// The body of the response. A long body is truncated.
        body: String,
        /// The id by which the provider finds the request in its logs.
        request_id: Option<String>,
    },
    /// The model failed for another reason, which its implementation reports.
    #[error("model request failed: {source}")]
    Failed {
        /// The error of the implementation.
        source: Box<dyn Error + Send + Sync>,
        /// Whether the same request may succeed later.
        is_transient: bool,
    },
    /// A replayed recording has no response for the request: the test sends a different request
    /// from the one that was recorded.
    #[error("{0}")]
    Unrecorded(String),
    /// A request does not meet the expectations of a [`ScriptedModel`](crate::ScriptedModel).
    #[error("request {request} does not match the script: {problem}")]
    Script {
        /// The number of the request, from 1.
        request: usize,
        /// The expectation that is not met.
        problem: String,
    },
}

impl ModelError {
    /// Creates an error that would occur again if the request were repeated.
    pub fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { source: source.into(), is_transient: false }
    }

    /// Creates a transient error: the model can't answer now.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { source: source.into(), is_transient: true }
    }

    /// Returns the stable code of the error, such as `MODEL_RATE_LIMITED`.
    ///
    /// It is the [code](crate::StopReason::code) of a run that the error stops.
    ///
    /// ```
    /// use tool_runtime::ModelError;
    /// use tool_runtime::models::{ApiError, ApiErrorKind};
    ///
    /// let error = ApiError::new(ApiErrorKind::Auth, "https://api.example/v1", 401, "invalid key");
    /// assert_eq!(ModelError::from(Box::new(error)).code(), "MODEL_AUTH");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Self::Setup(_) => "MODEL_SETUP",
            Self::Unreachable { source, .. } if source.is::<InterruptedError>() => {
                "MODEL_INTERRUPTED"
            }
            Self::Unreachable { .. } => "MODEL_UNREACHABLE",
            Self::Timeout { .. } => "MODEL_TIMEOUT",
            Self::Malformed { .. } => "MODEL_MALFORMED",
            Self::Api(error) => match error.kind {
                ApiErrorKind::Auth => "MODEL_AUTH",
                ApiErrorKind::RateLimited => "MODEL_RATE_LIMITED",
                ApiErrorKind::OutOfQuota => "MODEL_OUT_OF_QUOTA",
                ApiErrorKind::ContextTooLong => "MODEL_CONTEXT_TOO_LONG",
                ApiErrorKind::Filtered => "MODEL_FILTERED",
                ApiErrorKind::Overloaded => "MODEL_OVERLOADED",
                ApiErrorKind::InvalidRequest => "MODEL_INVALID_REQUEST",
                ApiErrorKind::Failed => "MODEL_FAILED",
            },
            Self::Failed { .. } => "MODEL_FAILED",
            Self::Unrecorded(_) => "MODEL_UNRECORDED",
            Self::Script { .. } => "MODEL_SCRIPT",
        }
    }

    /// Returns `true` if the same request may succeed later: the model is overloaded, rate limited,
    /// unreachable or too slow. If the provider states whether to [retry](ApiError::should_retry),
    /// that decides, except for an exhausted quota.
    ///
    /// A run that stopped with a transient error can be [resumed](crate::Agent::resume).
    ///
    /// ```
    /// use tool_runtime::ModelError;
    ///
    /// assert!(ModelError::unavailable("the weights are being loaded").is_transient());
    /// assert!(!ModelError::failed("the weights are damaged").is_transient());
    /// ```
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => true,
            Self::Api(error) => error.is_transient(),
            Self::Failed { is_transient, .. } => *is_transient,
            Self::Setup(_) | Self::Malformed { .. } | Self::Unrecorded(_) | Self::Script { .. } => {
                false
            }
        }
    }
}

/// The error of a connection that broke after the response had begun.
#[doc(hidden)]
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct InterruptedError(pub Box<dyn Error + Send + Sync>);

/// An error that the API of a model provider returned.
///
/// ```
/// use tool_runtime::ModelError;
/// use tool_runtime::models::{ApiError, ApiErrorKind};
///
/// let error = ApiError::new(ApiErrorKind::RateLimited, "https://a.example", 429, "slow down");
/// assert_eq!(error.to_string(), "model API error at https://a.example: status 429: slow down");
/// assert!(ModelError::from(Box::new(error)).is_transient());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("model API error at {url}: status {status}: {body}{}", request_suffix(request_id.as_deref()))]
#[non_exhaustive]
pub struct ApiError {
    /// The kind of the error, as far as the provider reports it.
    pub kind: ApiErrorKind,
    /// The URL of the request.
    pub url: String,
    /// The HTTP status of the response. If the error was sent within a stream, this is the status
    /// of the stream.
    pub status: u16,
    /// The body of the response. A long body is truncated.
    pub body: String,
    /// The id by which the provider finds the request in its logs.
    pub request_id: Option<String>,
    /// The time to wait before the next request, if the provider asks for one.
    pub retry_after: Option<Duration>,
    /// The value of the header `x-should-retry`: whether the provider asks to retry the request.
    pub should_retry: Option<bool>,
    /// The output of the model, if the provider rejected it and sent it with the error.
    pub rejected_output: Option<String>,
}

/// Classifies the errors that APIs of model providers return.
///
/// ```
/// use tool_runtime::models::{ApiError, ApiErrorKind};
///
/// let error = ApiError::new(ApiErrorKind::Auth, "https://api.example/v1", 401, "invalid key");
/// assert_eq!(error.kind, ApiErrorKind::Auth);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// The API key is missing, invalid, or lacks a permission.
    Auth,
    /// Too many requests or tokens were sent within the limit's period.
    RateLimited,
    /// The quota or the credit is used up. Waiting does not help.
    OutOfQuota,
    /// The conversation exceeds the context length of the model, or the texts to embed exceed a
    /// limit of the provider.
    ContextTooLong,
    /// The content filter of the provider rejected the request.
    Filtered,
    /// The provider is overloaded or has an internal error.
    Overloaded,
    /// The request is invalid, or names something that does not exist.
    InvalidRequest,
    /// The provider reports another reason, or none.
    Failed,
}

impl ApiError {
    /// Returns whether the same request may succeed later. The provider decides, except that no
    /// retry helps if a quota is exhausted.
    pub(super) fn is_transient(&self) -> bool {
        let is_transient =
            matches!(self.kind, ApiErrorKind::RateLimited | ApiErrorKind::Overloaded);
        self.kind != ApiErrorKind::OutOfQuota && self.should_retry.unwrap_or(is_transient)
    }

    /// Creates an error without a request id and without a time to wait.
    pub fn new(
        kind: ApiErrorKind,
        url: impl Into<String>,
        status: u16,
        body: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            url: url.into(),
            status,
            body: body.into(),
            request_id: None,
            retry_after: None,
            should_retry: None,
            rejected_output: None,
        }
    }
}

fn request_suffix(request_id: Option<&str>) -> String {
    request_id.map(|id| format!(" (request {id})")).unwrap_or_default()
}

/// Returns the last source of an error. It is part of the message, because many programs print the
/// message alone.
fn root_cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}
