//! Replaces the secrets of a connection in texts that a server may have repeated them in.

use serde_json::Value;

use super::store::Secret;

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// The shortest value that is searched for: shorter ones occur in every other word.
const MIN_BYTES: usize = 4;

/// The secrets of one connection.
#[derive(Clone, Default)]
pub(crate) struct KnownSecrets(Vec<Secret>);

impl KnownSecrets {
    pub(crate) fn add(&mut self, secret: &Secret) {
        if secret.expose().len() >= MIN_BYTES {
            self.0.push(secret.clone());
            // A secret may contain another one.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        }
    }

    /// Returns the text with each secret replaced.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.expose()) {
                text = text.replace(secret.expose(), REDACTED);
            }
        }
        text
    }

    /// Replaces each secret in all texts of a value, and in the names of its members.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                let old = std::mem::take(members);
                members.extend(old.into_iter().map(|(name, mut value)| {
                    self.redact_value(&mut value);
                    (self.redact(&name), value)
                }));
            }
            Value::Number(number) => {
                let digits = number.to_string();
                if self.redact(&digits) != digits {
                    *value = Value::String(REDACTED.to_owned());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_replaced_at_any_depth() {
        let mut known = KnownSecrets::default();
        for secret in ["hunter", "hunter2hunter2", "12345678", "a\"b\\c", "abc"] {
            known.add(&Secret::new(secret));
        }
        let mut value = json!({
            "hunter2hunter2": ["x hunter2hunter2 y", 12_345_678, true],
            "quoted": "a\"b\\c",
            "short": "abc",
        });
        known.redact_value(&mut value);
        let expected = json!({
            "[redacted]": ["x [redacted] y", "[redacted]", true],
            "quoted": "[redacted]",
            "short": "abc",
        });
        assert_eq!(value, expected);
    }
}
