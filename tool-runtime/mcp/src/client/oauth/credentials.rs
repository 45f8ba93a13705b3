//! The store of tokens as the SDK uses it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde_json::Value;
use tool_core::async_trait;
use tool_core::records::{Expected, StoreError};

use super::sent_secrets::SentSecrets;
use super::stored_tokens::{Grant, StoredTokens};
use super::tokens::Tokens;

/// Stores the tokens of one server, with what they were requested with.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) tokens: Tokens,
    pub(super) server: Arc<str>,
    grant: Arc<Mutex<Grant>>,
    /// The tokens of the last load, which a refresh replaces. Before the first load, a save
    /// replaces any tokens.
    loaded: Arc<Mutex<Expected>>,
    pub(super) sent_secrets: SentSecrets,
}

impl Credentials {
    pub(super) fn new(
        tokens: Tokens,
        server: Arc<str>,
        grant: Grant,
        sent_secrets: SentSecrets,
    ) -> Self {
        sent_secrets.add_client(&grant);
        Self {
            tokens,
            server,
            grant: Arc::new(Mutex::new(grant)),
            loaded: Arc::new(Mutex::new(Expected::Any)),
            sent_secrets,
        }
    }

    /// Returns credentials whose first save replaces any token.
    pub(super) fn for_authorization(&self) -> Self {
        let (grant, loaded) = (Mutex::new(self.grant()), Mutex::new(Expected::Any));
        Self { grant: Arc::new(grant), loaded: Arc::new(loaded), ..self.clone() }
    }

    /// Returns what the next tokens are requested with.
    pub(super) fn grant(&self) -> Grant {
        lock(&self.grant).clone()
    }

    pub(super) fn set_grant(&self, grant: Grant) {
        self.sent_secrets.add_client(&grant);
        *lock(&self.grant) = grant;
    }

    /// Records the tokens as secrets that are sent to servers.
    fn remember(&self, credentials: Option<&StoredCredentials>) {
        let tokens = tokens(credentials);
        let names = ["access_token", "refresh_token"];
        let secrets = names.map(|name| tokens.get(name).and_then(Value::as_str));
        self.sent_secrets.extend(secrets.into_iter().flatten());
    }
}

#[async_trait]
impl CredentialStore for Credentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let stored = self.tokens.load(&self.server).await.map_err(store_error)?;
        let (tokens, revision) = stored.unzip();
        let credentials = tokens.and_then(|tokens| tokens.credentials);
        self.remember(credentials.as_ref());
        *lock(&self.loaded) = revision.map_or(Expected::Absent, Expected::Revision);
        Ok(credentials)
    }

    /// Saves the tokens of an authorization, or of a refresh if the stored ones are still those
    /// that it replaces. Otherwise, another authorization or another process saved newer ones.
    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let expected = *lock(&self.loaded);
        self.remember(Some(&credentials));
        let tokens = StoredTokens { credentials: Some(credentials), grant: self.grant() };
        match self.tokens.save(&self.server, expected, &tokens).await {
            Ok(revision) => {
                *lock(&self.loaded) = Expected::Revision(revision);
                Ok(())
            }
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(store_error(error)),
        }
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.tokens.remove(&self.server).await.map_err(store_error)
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
fn store_error(error: StoreError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[cfg(test)]
mod tests {
    use tool_core::records::MemoryRecords;

    use super::*;

    fn token(text: &str) -> StoredCredentials {
        let response = serde_json::json!({ "access_token": text, "token_type": "bearer" });
        let credentials = serde_json::json!({ "client_id": "c", "token_response": response });
        serde_json::from_value(credentials).unwrap()
    }

    #[tokio::test]
    async fn refresh_keeps_the_token_that_another_process_saved_since_the_load() {
        let store = MemoryRecords::new();
        let open = || {
            let tokens = Tokens::encrypted(store.clone(), [7; 32]);
            Credentials::new(
                tokens,
                "https://example.com".into(),
                Grant::default(),
                SentSecrets::default(),
            )
        };
        let stored = async || {
            let credentials = open().load().await.unwrap();
            tokens(credentials.as_ref())["access_token"].clone()
        };
        let (first, second) = (open(), open());
        first.save(token("old")).await.unwrap();
        for credentials in [&first, &second] {
            credentials.load().await.unwrap();
        }
        first.save(token("first")).await.unwrap();
        second.save(token("second")).await.unwrap();
        assert_eq!(stored().await, "first");
        // A save without another load replaces the tokens of the save before.
        first.save(token("next")).await.unwrap();
        second.load().await.unwrap();
        second.save(token("last")).await.unwrap();
        assert_eq!(stored().await, "last");
        second.for_authorization().save(token("authorized")).await.unwrap();
        assert_eq!(stored().await, "authorized");

        // Of two authorizations at the same time, the last one counts. The token of the other one
        // is not refreshed into its place.
        let steps_up = [&first, &second].map(|credentials| credentials.for_authorization());
        for (credentials, text) in steps_up.iter().zip(["one", "other"]) {
            credentials.save(token(text)).await.unwrap();
        }
        steps_up[0].save(token("refreshed")).await.unwrap();
        assert_eq!(stored().await, "other");
        steps_up[1].save(token("refreshed")).await.unwrap();
        assert_eq!(stored().await, "refreshed");

        // What was removed is not stored again.
        first.load().await.unwrap();
        first.tokens.remove(&first.server).await.unwrap();
        first.save(token("late")).await.unwrap();
        assert_eq!(stored().await, Value::Null);
        // Nothing was stored at the time of the load.
        first.load().await.unwrap();
        second.for_authorization().save(token("authorized")).await.unwrap();
        first.save(token("late")).await.unwrap();
        assert_eq!(stored().await, "authorized");
    }
}
