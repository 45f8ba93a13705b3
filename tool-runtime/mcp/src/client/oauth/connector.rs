//! Attaches tokens to requests, and answers challenges.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthClient, AuthorizationManager, WWWAuthenticateParams};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tool_core::async_trait;

use super::super::wire::http::{HttpConnector, HttpTarget, http_client, wire};
use super::super::wire::redacting_client::RedactingClient;
use super::super::wire::{BoxFuture, Wire, WireError};
use super::credentials::Credentials;
use super::flow::{authorize, restore};
use super::flow_error::FlowError;
use super::options::{Flow, OAuth};
use super::sent_secrets::SentSecrets;
use super::stored_tokens::Grant;
use crate::client::challenge::{AuthorizationFailure, Authorizer};
use crate::client::connect::secrets::Secrets;
use crate::client::tools::text::clean_line;

/// The number of authorizations by the user within [`WINDOW`].
const MAX_AUTHORIZATIONS: usize = 5;

/// The number of tokens for the program itself within [`WINDOW`].
const MAX_TOKENS: usize = 60;

/// The number of characters of the reason of a failure that are kept.
const MAX_REASON_CHARS: usize = 500;

/// How long an authorization counts.
const WINDOW: Duration = Duration::from_secs(600);

/// Creates the connections to a server with the tokens of one client.
pub(in super::super) struct OAuthConnector {
    shared: Arc<Shared>,
}

struct Shared {
    oauth: OAuth,
    url: Url,
    server: Arc<str>,
    client: reqwest::Client,
    sent_secrets: SentSecrets,
    /// Incremented by each new token that was not refreshed.
    generation: AtomicU64,
    /// Held during an authorization: there is one at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    authorization: Option<Authorization>,
    attempts: Attempts,
}

/// The tokens of the connections, which they share.
#[derive(Clone)]
struct Authorization {
    credentials: Credentials,
    manager: Arc<Mutex<AuthorizationManager>>,
}

impl OAuthConnector {
    pub(in super::super) fn new(oauth: OAuth, url: &str) -> Result<Self, String> {
        oauth.check()?;
        let parsed = Url::parse(url).map_err(|error| error.to_string())?;
        let client = http_client().map_err(|error| error.to_string())?;
        let shared = Shared {
            oauth,
            url: parsed,
            server: url.into(),
            client,
            sent_secrets: SentSecrets::default(),
            generation: AtomicU64::new(0),
            state: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl HttpConnector for OAuthConnector {
    fn connect(&self, target: &HttpTarget) -> BoxFuture<'_, Result<Box<dyn Wire>, WireError>> {
        let target = HttpTarget { bearer: None, ..target.clone() };
        Box::pin(async move {
            let mut state = self.shared.state.lock().await;
            let manager = self.shared.authorization(&mut state).await?.manager;
            drop(state);
            let unauthorized = self.shared.manager().await?;
            let client = RedactingClient(self.shared.client.clone());
            let mut client = AuthClient::new(client, unauthorized);
            client.auth_manager = manager;
            Ok(wire(client, &target))
        })
    }

    fn authorizer(&self) -> Option<Arc<dyn Authorizer>> {
        Some(Arc::new(SharedAuthorizer(Arc::clone(&self.shared))))
    }

    fn secrets(&self) -> Vec<String> {
        self.shared.secrets()
    }
}

/// Answers the challenges to the requests of all connections.
struct SharedAuthorizer(Arc<Shared>);

#[async_trait]
impl Authorizer for SharedAuthorizer {
    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    async fn answer(&self, challenge: &str, generation: u64) -> Result<(), AuthorizationFailure> {
        let (shared, challenge) = (Arc::clone(&self.0), challenge.to_owned());
        // In a task: the user may need longer than the request lasts.
        let task = tokio::spawn(async move { shared.answer(&challenge, generation).await });
        let answered = task.await.unwrap_or_else(|error| Err(error.to_string().into()));
        // An authorization server may repeat what it received. Before the text is cut, which could
        // leave a part of a secret.
        answered.map_err(|failure| {
            let reason = Secrets::new(self.0.secrets()).redact(&failure.reason);
            AuthorizationFailure { reason: clean_line(&reason, MAX_REASON_CHARS), ..failure }
        })
    }
}

impl Shared {
    /// Returns the secrets that servers received for an authorization.
    fn secrets(&self) -> Vec<String> {
        let of_options = self.oauth.client_secret.clone();
        of_options.into_iter().chain(self.sent_secrets.to_vec()).collect()
    }

    async fn manager(&self) -> Result<AuthorizationManager, WireError> {
        AuthorizationManager::new(&*self.server).await.map_err(|it| WireError::Http(Box::new(it)))
    }

    /// Returns the stored authorization, or one without a token.
    async fn authorization(&self, state: &mut State) -> Result<Authorization, WireError> {
        if let Some(authorization) = &state.authorization {
            return Ok(authorization.clone());
        }
        let tokens = self.oauth.tokens.clone();
        let stored = tokens.load(&self.server).await.map_err(|it| WireError::Http(Box::new(it)))?;
        let grant = stored.map_or_else(Grant::default, |(stored, _)| stored.grant);
        let credentials =
            Credentials::new(tokens, Arc::clone(&self.server), grant, self.sent_secrets.clone());
        let restored = restore(&self.oauth, &credentials).await;
        let mut manager = restored.map_err(|error| WireError::Http(Box::new(error)))?;
        manager.set_credential_store(credentials.clone());
        let manager = Arc::new(Mutex::new(manager));
        let authorization = Authorization { credentials, manager };
        Ok(state.authorization.insert(authorization).clone())
    }

    async fn answer(&self, challenge: &str, generation: u64) -> Result<(), AuthorizationFailure> {
        let mut state = self.state.lock().await;
        if self.generation.load(Ordering::Acquire) != generation {
            // Another request got a token since the refused one was sent.
            return Ok(());
        }
        let authorization = self.authorization(&mut state).await.map_err(|it| it.to_string())?;
        let params = WWWAuthenticateParams::parse(challenge, &self.url);
        let requested = authorization.credentials.grant().requested_scopes;
        let demanded = params.scope.as_deref().unwrap_or_default();
        if params.is_insufficient_scope()
            && demanded.split_whitespace().all(|scope| requested.iter().any(|it| it == scope))
        {
            return Err(format!("scopes `{demanded}` were requested but not granted").into());
        }
        let is_interactive = matches!(self.oauth.flow, Flow::AuthorizationCode(_));
        let limit = if is_interactive { MAX_AUTHORIZATIONS } else { MAX_TOKENS };
        state.attempts.start(Instant::now(), limit)?;
        let authorizing = authorize(&self.oauth, &authorization.credentials, challenge);
        let (manager, credentials) = match timeout(self.oauth.timeout, authorizing).await {
            Ok(Ok(authorized)) => authorized,
            Ok(Err(FlowError::Refused(reason))) => {
                return Err(AuthorizationFailure { reason, is_permanent: true });
            }
            Ok(Err(FlowError::Failed(reason))) => return Err(reason.into()),
            Ok(Err(FlowError::Denied(reason))) => {
                state.attempts.deny(Instant::now());
                return Err(reason.into());
            }
            Err(_) => return Err(format!("timed out after {:?}", self.oauth.timeout).into()),
        };
        *authorization.manager.lock().await = manager;
        state.authorization = Some(Authorization { credentials, ..authorization });
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

/// Limits how often the user or the authorization server is asked.
#[derive(Default)]
struct Attempts(VecDeque<Instant>);

impl Attempts {
    fn start(&mut self, now: Instant, limit: usize) -> Result<(), String> {
        self.0.retain(|started| now.duration_since(*started) < WINDOW);
        if self.0.len() >= limit {
            return Err(format!("too many authorizations within {WINDOW:?}"));
        }
        self.0.push_back(now);
        Ok(())
    }

    /// Stops asking the user for a while.
    fn deny(&mut self, now: Instant) {
        self.0 = std::iter::repeat_n(now, MAX_TOKENS).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_limited_within_the_window() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        for _ in 0..MAX_TOKENS {
            assert!(attempts.start(start, MAX_TOKENS).is_ok());
        }
        assert!(attempts.start(start, MAX_TOKENS).is_err());
        assert!(attempts.start(start + WINDOW, MAX_TOKENS).is_ok());
        attempts.deny(start + WINDOW);
        assert!(attempts.start(start + WINDOW, MAX_AUTHORIZATIONS).is_err());
    }
}
