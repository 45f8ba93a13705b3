//! The secrets of an authorization that servers received.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of secrets that are remembered. A server may repeat a token that was replaced.
const MAX_SECRETS: usize = 32;

/// The last secrets that were sent, each once. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SentSecrets(Arc<Mutex<VecDeque<String>>>);

impl SentSecrets {
    pub(super) fn extend<'s>(&self, secrets: impl IntoIterator<Item = &'s str>) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets {
            if !sent.iter().any(|it| it == secret) {
                if sent.len() >= MAX_SECRETS {
                    sent.pop_front();
                }
                sent.push_back(secret.to_owned());
            }
        }
    }

    pub(super) fn to_vec(&self) -> Vec<String> {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_secrets_are_remembered_once() {
        let sent = SentSecrets::default();
        sent.extend(["a", "b", "a"]);
        assert_eq!(sent.to_vec(), ["a", "b"]);
        let many: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        sent.extend(many.iter().map(String::as_str));
        assert_eq!(sent.to_vec(), many[100 - MAX_SECRETS..]);
    }
}
