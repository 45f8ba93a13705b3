//! The store of tokens as the SDK uses it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde_json::Value;
use tool_core::async_trait;

use super::sent_secrets::SentSecrets;
use super::store::{Grant, StoredTokens, TokenStore};

/// Stores the tokens of one server, with what they were requested with.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) server: Arc<str>,
    grant: Arc<Mutex<Grant>>,
    /// The access token of the last load, which a refresh replaces. `None` before the first load.
    loaded: Arc<Mutex<Option<Value>>>,
    /// Held from the comparison with the stored token to the save.
    saving: Arc<tokio::sync::Mutex<()>>,
    sent_secrets: SentSecrets,
}

impl Credentials {
    pub(super) fn new(
        store: Arc<dyn TokenStore>,
        server: Arc<str>,
        grant: Grant,
        sent_secrets: SentSecrets,
    ) -> Self {
        Self {
            store,
            server,
            grant: Arc::new(Mutex::new(grant)),
            loaded: Arc::default(),
            saving: Arc::default(),
            sent_secrets,
        }
    }

    /// Returns credentials whose first save replaces any token.
    pub(super) fn for_authorization(&self) -> Self {
        Self { grant: Arc::new(Mutex::new(self.grant())), loaded: Arc::default(), ..self.clone() }
    }

    /// Returns what the next tokens are requested with.
    pub(super) fn grant(&self) -> Grant {
        lock(&self.grant).clone()
    }

    pub(super) fn set_grant(&self, grant: Grant) {
        *lock(&self.grant) = grant;
    }

    async fn stored(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let tokens = self.store.load(&self.server).await.map_err(store_error)?;
        Ok(tokens.and_then(|tokens| tokens.credentials))
    }

    /// Remembers the tokens, and returns the access token.
    fn remember(&self, credentials: Option<&StoredCredentials>) -> Value {
        let tokens = tokens(credentials);
        let of_client = self.grant().client.and_then(|client| client.secret);
        let names = ["access_token", "refresh_token"];
        let secrets = names.map(|name| tokens.get(name).and_then(Value::as_str));
        self.sent_secrets.extend(secrets.into_iter().flatten().chain(of_client.as_deref()));
        tokens.get("access_token").cloned().unwrap_or_default()
    }
}

#[async_trait]
impl CredentialStore for Credentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let credentials = self.stored().await?;
        *lock(&self.loaded) = Some(self.remember(credentials.as_ref()));
        Ok(credentials)
    }

    /// Saves the tokens of an authorization, or of a refresh if the stored token is still the
    /// refreshed one. Otherwise, an authorization that ended during the refresh saved a newer one.
    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let _saving = self.saving.lock().await;
        let refreshed = lock(&self.loaded).clone();
        if let Some(refreshed) = refreshed {
            let stored = self.stored().await?;
            let stored = tokens(stored.as_ref());
            if stored.get("access_token").unwrap_or(&Value::Null) != &refreshed {
                return Ok(());
            }
        }
        self.remember(Some(&credentials));
        let tokens = StoredTokens { credentials: Some(credentials), grant: self.grant() };
        self.store.save(&self.server, &tokens).await.map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.remove(&self.server).await.map_err(store_error)
    }
}

/// Returns the response that contains the tokens. The SDK has no accessors.
fn tokens(credentials: Option<&StoredCredentials>) -> Value {
    let response = credentials.and_then(|credentials| credentials.token_response.as_ref());
    serde_json::to_value(response).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::needless_pass_by_value, reason = "the signature of `map_err`")]
fn store_error(error: std::io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
