//! The secrets of an authorization that servers received.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use rmcp::transport::auth::{AuthError, InMemoryStateStore, StateStore, StoredAuthorizationState};
use tool_core::async_trait;

use super::stored_tokens::Grant;
use crate::client::connect::secrets::of_basic;

/// The number of secrets that are remembered. A server may repeat a token that was replaced.
const MAX_SECRETS: usize = 32;

/// The last secrets that were sent, each once. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SentSecrets(Arc<Mutex<VecDeque<String>>>);

impl SentSecrets {
    pub(super) fn extend<'s>(&self, secrets: impl IntoIterator<Item = &'s str>) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets {
            if !remembered.iter().any(|it| it == secret) {
                if remembered.len() >= MAX_SECRETS {
                    remembered.pop_front();
                }
                remembered.push_back(secret.to_owned());
            }
        }
    }

    /// Adds the secret of a registered client, which is sent as a Basic header (RFC 6749, section
    /// 2.3.1).
    pub(super) fn add_client(&self, grant: &Grant) {
        let Some(client) = &grant.client else { return };
        let Some(secret) = &client.secret else { return };
        let (id, encoded) = (form_encoded(&client.id), form_encoded(secret));
        let basic = of_basic(&id, &encoded);
        self.extend(basic.iter().map(String::as_str).chain([secret.as_str()]));
    }

    pub(super) fn to_vec(&self) -> Vec<String> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.iter().cloned().collect()
    }
}

/// Encodes a text as the value of a form.
fn form_encoded(text: &str) -> String {
    let Ok(url) = Url::parse_with_params("form:", [("", text)]) else { return String::new() };
    url.query().unwrap_or_default().trim_start_matches('=').to_owned()
}

/// The state of authorizations that wait for the user. Their verifiers are sent with the codes.
#[derive(Default)]
pub(super) struct PendingAuthorizations {
    states: InMemoryStateStore,
    sent_secrets: SentSecrets,
}

impl PendingAuthorizations {
    pub(super) fn new(sent_secrets: SentSecrets) -> Self {
        Self { sent_secrets, ..Self::default() }
    }
}

#[async_trait]
impl StateStore for PendingAuthorizations {
    async fn save(&self, state: &str, pending: StoredAuthorizationState) -> Result<(), AuthError> {
        self.sent_secrets.extend([pending.pkce_verifier.as_str()]);
        self.states.save(state, pending).await
    }

    async fn load(&self, state: &str) -> Result<Option<StoredAuthorizationState>, AuthError> {
        self.states.load(state).await
    }

    async fn delete(&self, state: &str) -> Result<(), AuthError> {
        self.states.delete(state).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_secrets_are_remembered_once() {
        let secrets = SentSecrets::default();
        secrets.extend(["a", "b", "a"]);
        assert_eq!(secrets.to_vec(), ["a", "b"]);
        let numbers: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        secrets.extend(numbers.iter().map(String::as_str));
        assert_eq!(secrets.to_vec(), numbers[100 - MAX_SECRETS..]);
    }
}
