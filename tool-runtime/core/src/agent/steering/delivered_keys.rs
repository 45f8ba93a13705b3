//! The keys of messages that were delivered once and must not be delivered again.

use std::collections::VecDeque;

use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};

/// The number of keys that are remembered.
const MAX_KEYS: usize = 100;

/// The keys of the messages that a session has received.
///
/// A run saves them with its state, in the same write as the messages. The two senders do not know
/// each other's keys, and many keys of one must not displace those of the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DeliveredKeys {
    #[serde(skip_serializing_if = "LastKeys::is_empty")]
    pub(in crate::agent) steering: LastKeys,
    #[serde(skip_serializing_if = "LastKeys::is_empty")]
    pub(in crate::agent) inbox: LastKeys,
}

impl DeliveredKeys {
    pub(crate) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.inbox.is_empty()
    }
}

/// The keys of the last delivered messages of one sender, oldest first, as digests of equal size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::agent) struct LastKeys(VecDeque<String>);

impl LastKeys {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::agent) fn contains(&self, key: &str) -> bool {
        self.0.contains(&digest(key))
    }

    /// Adds a key. Returns false if it is there already.
    pub(in crate::agent) fn insert(&mut self, key: &str) -> bool {
        let digest = digest(key);
        if self.0.contains(&digest) {
            return false;
        }
        if self.0.len() >= MAX_KEYS {
            self.0.pop_front();
        }
        self.0.push_back(digest);
        true
    }
}

fn digest(key: &str) -> String {
    Hash::hash(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_keys_are_remembered_and_bounded() {
        let mut keys = LastKeys::default();
        for number in 0..2 * MAX_KEYS {
            assert!(keys.insert(&number.to_string()), "{number}");
            assert!(!keys.insert(&number.to_string()), "{number}");
            assert!(keys.0.len() <= MAX_KEYS);
        }
        for number in 0..2 * MAX_KEYS {
            assert_eq!(keys.contains(&number.to_string()), number >= MAX_KEYS, "{number}");
        }
        let long = "x".repeat(10_000);
        assert!(keys.insert(&long) && keys.contains(&long));
        assert!(serde_json::to_string(&keys).unwrap().len() < 40 * MAX_KEYS);
    }
}
