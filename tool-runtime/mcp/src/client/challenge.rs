//! Answers the authorization challenges of responses.

use std::fmt;
use std::sync::Arc;

use tool_core::async_trait;

use crate::client::events::{EventHook, McpEvent};

/// The number of challenges that one request answers.
pub(crate) const MAX_CHALLENGES: usize = 3;

/// Why no token was obtained.
#[derive(Debug)]
pub(crate) struct AuthorizationFailure {
    pub(crate) reason: String,
    /// Whether another attempt with the same options fails as well.
    pub(crate) is_permanent: bool,
}

impl From<String> for AuthorizationFailure {
    fn from(reason: String) -> Self {
        Self { reason, is_permanent: false }
    }
}

/// The authorization of a connection, which gets tokens.
#[async_trait]
pub(crate) trait Authorizer: Send + Sync {
    /// Returns the number of the token that the next request is sent with.
    fn generation(&self) -> u64;

    /// Handles the challenge of a response with the status 401 or 403 to a request with the token
    /// of this generation. Returns why authorization failed, if the request can't be sent again.
    async fn answer(&self, challenge: &str, generation: u64) -> Result<(), AuthorizationFailure>;
}

/// Answers challenges by the authorization of a connection, if it has one.
#[derive(Clone)]
pub(crate) struct Challenges {
    server: String,
    events: EventHook,
    authorizer: Option<Arc<dyn Authorizer>>,
}

impl Challenges {
    pub(crate) fn new(
        server: &str,
        events: &EventHook,
        authorizer: Option<Arc<dyn Authorizer>>,
    ) -> Self {
        Self { server: server.to_owned(), events: events.clone(), authorizer }
    }

    /// Returns the name of the connection.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Returns whether challenges can be answered at all.
    pub(crate) fn can_answer(&self) -> bool {
        self.authorizer.is_some()
    }

    /// Returns the number of the token that the next request is sent with.
    pub(crate) fn generation(&self) -> u64 {
        self.authorizer.as_ref().map_or(0, |authorizer| authorizer.generation())
    }

    /// Answers the challenge to a request that was sent with the token of this generation. Returns
    /// whether the request can be sent again, or why authorization failed.
    pub(crate) async fn answer(
        &self,
        challenge: Option<&str>,
        generation: u64,
    ) -> Result<bool, AuthorizationFailure> {
        let (Some(authorizer), Some(challenge)) = (&self.authorizer, challenge) else {
            return Ok(false);
        };
        let answered = authorizer.answer(challenge, generation).await;
        if let Err(failure) = &answered {
            let event = McpEvent::AuthorizationFailed { reason: failure.reason.clone() };
            self.events.emit(&self.server, &event);
        }
        answered.map(|()| true)
    }
}

impl fmt::Debug for Challenges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenges").field("server", &self.server).finish_non_exhaustive()
    }
}
