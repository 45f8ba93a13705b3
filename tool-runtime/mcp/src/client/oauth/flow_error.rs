//! The reasons why no token was obtained.

use rmcp::transport::auth::AuthError;

/// Why no token was obtained. The reasons may contain texts of servers, with secrets in them.
#[derive(Debug)]
pub(super) enum FlowError {
    /// The user did not agree.
    Denied(String),
    /// The options, or a rule of OAuth, forbid to use the authorization server.
    Refused(String),
    Failed(String),
}

impl FlowError {
    /// Creates the error of a flow that failed.
    pub(super) fn failed(reason: &str) -> Self {
        Self::Failed(reason.to_owned())
    }

    /// Creates the error of an authorization server that must not be used.
    pub(super) fn refused(reason: &str) -> Self {
        Self::Refused(reason.to_owned())
    }

    /// Creates the error of a user who did not agree.
    pub(super) fn denied(reason: &str) -> Self {
        Self::Denied(reason.to_owned())
    }
}

impl From<AuthError> for FlowError {
    fn from(error: AuthError) -> Self {
        Self::failed(&error.to_string())
    }
}
