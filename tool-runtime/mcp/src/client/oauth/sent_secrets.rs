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

    pub(super) fn to_vec(&self) -> Vec<String> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.iter().cloned().collect()
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
