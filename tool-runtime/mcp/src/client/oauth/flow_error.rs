//! The reasons why no token was obtained.

use rmcp::transport::auth::AuthError;

use crate::client::tools::text::clean_line;

/// The number of characters of a reason that are kept.
const MAX_REASON_CHARS: usize = 500;

/// Why no token was obtained.
#[derive(Debug)]
pub(super) enum FlowError {
    /// The user did not agree.
    Denied(String),
    /// The options, or a rule of OAuth, forbid to use the authorization server.
    Refused(String),
    Failed(String),
}

impl FlowError {
    /// Creates the error of a flow that failed. The reason may contain texts of servers.
    pub(super) fn failed(reason: &str) -> Self {
        Self::Failed(clean_line(reason, MAX_REASON_CHARS))
    }

    /// Creates the error of an authorization server that must not be used.
    pub(super) fn refused(reason: &str) -> Self {
        Self::Refused(clean_line(reason, MAX_REASON_CHARS))
    }

    /// Creates the error of a user who did not agree.
    pub(super) fn denied(reason: &str) -> Self {
        Self::Denied(clean_line(reason, MAX_REASON_CHARS))
    }
}

impl From<AuthError> for FlowError {
    fn from(error: AuthError) -> Self {
        Self::failed(&error.to_string())
    }
}
