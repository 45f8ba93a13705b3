use std::error::Error;

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
        limit: std::time::Duration,
    },
    /// It refused.
    #[error("the model at {url} answered with status {status}: {body}")]
    Status {
        /// The address that was asked.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What it said, cut where it is long.
        body: String,
    },
    /// What it said is not what its protocol promises.
    #[error("the model's answer can't be understood: {reason}; it was: {body}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
        /// What it said, cut where it is long.
        body: String,
    },
    /// The script of a [`ScriptedModel`](super::ScriptedModel) doesn't fit what was asked.
    #[error("the script doesn't fit at request {request}: {problem}")]
    Script {
        /// Which request, counted from 1.
        request: usize,
        /// What doesn't fit.
        problem: String,
    },
}

/// What lies at the bottom: whoever prints no sources reads it all the same.
fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}
