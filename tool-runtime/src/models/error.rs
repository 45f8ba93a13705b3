use std::error::Error;
use std::time::Duration;

/// Why a model gave no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Something needed to ask it is missing or wrong.
    #[error("{0}")]
    Setup(String),
    /// It could not be reached, or the connection broke.
    #[error("the model could not be reached at {url}: {}", root(source.as_ref()))]
    Unreachable {
        /// The address that was asked.
        url: String,
        /// What went wrong on the way.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It did not answer in time.
    #[error("the model at {url} did not answer within {limit:?}")]
    Timeout {
        /// The address that was asked.
        url: String,
        /// How long it was given.
        limit: Duration,
    },
    /// It refused.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// What it said is not what its protocol promises.
    #[error(
        "the model's answer can't be understood: {reason}; it was: {body}{}",
        told(request_id.as_deref())
    )]
    Malformed {
        /// What is wrong with it.
        reason: String,
        /// What it said, cut where it is long.
        body: String,
        /// How its provider finds this request in its logs.
        request_id: Option<String>,
    },
    /// It failed otherwise: for a reason that only whoever wrote it knows.
    #[error("the model failed: {source}")]
    Failed {
        /// Why.
        source: Box<dyn Error + Send + Sync>,
        /// Whether the same may go well later.
        may_pass: bool,
    },
    /// A recording that is played holds no answer to what was asked: a test asks something else than when it
    /// was recorded.
    #[error("{0}")]
    Unrecorded(String),
    /// The script of a [`ScriptedModel`](super::ScriptedModel) doesn't fit what was asked.
    #[error("the script doesn't fit at request {request}: {problem}")]
    Script {
        /// Which request, counted from 1.
        request: usize,
        /// What doesn't fit.
        problem: String,
    },
}

impl ModelError {
    /// It failed, and would fail again.
    pub fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { source: source.into(), may_pass: false }
    }

    /// It can't do its work for now.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { source: source.into(), may_pass: true }
    }

    /// Whether the same may go well later, without a change: it is busy, out of reach, or was too slow. Then a run that
    /// it stopped may as well be [gone on with](crate::Agent::resume).
    ///
    /// ```
    /// use tool_runtime::ModelError;
    ///
    /// assert!(ModelError::unavailable("the weights are being loaded").may_pass());
    /// assert!(!ModelError::failed("the weights are damaged").may_pass());
    /// ```
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => true,
            Self::Refused(refusal) => {
                matches!(refusal.kind, RefusalKind::RateLimited | RefusalKind::Overloaded)
            }
            Self::Failed { may_pass, .. } => *may_pass,
            Self::Setup(_) | Self::Malformed { .. } | Self::Unrecorded(_) | Self::Script { .. } => {
                false
            }
        }
    }
}

/// A model that was asked and would not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model at {url} answered with status {status}: {body}{}", told(request_id.as_deref()))]
#[non_exhaustive]
pub struct Refusal {
    /// Why, as far as its provider tells.
    pub kind: RefusalKind,
    /// The address that was asked.
    pub url: String,
    /// The HTTP status; of a refusal in the midst of a stream, that of the stream.
    pub status: u16,
    /// What it said, cut where it is long.
    pub body: String,
    /// How its provider finds this request in its logs.
    pub request_id: Option<String>,
    /// How long it wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// Why a model would not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The key is missing, wrong, or not good for this.
    Auth,
    /// Too many requests, or too many tokens, for now.
    RateLimited,
    /// Nothing is left of what was paid for: to wait doesn't help.
    OutOfQuota,
    /// The conversation is longer than what the model can read.
    ContextTooLong,
    /// Its provider doesn't let it speak of this.
    Filtered,
    /// Its provider is busy or broken.
    Overloaded,
    /// The request is wrong, or asks for what there is not.
    Invalid,
    /// For another reason.
    Other,
}

impl Refusal {
    /// A refusal by an HTTP status, without a request id.
    pub fn new(
        kind: RefusalKind,
        url: impl Into<String>,
        status: u16,
        body: impl Into<String>,
    ) -> Self {
        let (url, body) = (url.into(), body.into());
        Self { kind, url, status, body, request_id: None, retry_after: None }
    }
}

fn told(request_id: Option<&str>) -> String {
    request_id.map(|id| format!(" (request {id})")).unwrap_or_default()
}

/// What lies at the bottom: whoever prints no sources reads it all the same.
fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}
