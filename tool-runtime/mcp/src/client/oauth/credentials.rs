//! The store of tokens as the SDK uses it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use tool_runtime::async_trait;

use super::store::{Grant, StoredTokens, TokenStore};

/// Stores the tokens of one server, with what they were requested with.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) server: Arc<str>,
    grant: Arc<Mutex<Grant>>,
}

impl Credentials {
    pub(super) fn new(store: Arc<dyn TokenStore>, server: Arc<str>, grant: Grant) -> Self {
        Self { store, server, grant: Arc::new(Mutex::new(grant)) }
    }

    /// Returns what the next tokens are requested with.
    pub(super) fn grant(&self) -> Grant {
        self.grant.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_grant(&self, grant: Grant) {
        *self.grant.lock().unwrap_or_else(PoisonError::into_inner) = grant;
    }
}

#[async_trait]
impl CredentialStore for Credentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let tokens = self.store.load(&self.server).await.map_err(store_error)?;
        Ok(tokens.and_then(|tokens| tokens.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let tokens = StoredTokens { credentials: Some(credentials), grant: self.grant() };
        self.store.save(&self.server, &tokens).await.map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.remove(&self.server).await.map_err(store_error)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature of `map_err`")]
fn store_error(error: std::io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
