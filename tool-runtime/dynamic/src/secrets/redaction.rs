//! Replaces the secrets of a connection in texts that a server may have repeated them in.

use serde_json::Value;

use super::store::Secret;

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// The shortest value that is searched for: shorter ones occur in every other word.
const MIN_BYTES: usize = 4;

/// The secrets of one connection.
#[derive(Clone, Default)]
pub(crate) struct KnownSecrets {
    /// The values that are searched for, longest first: a secret may contain another one.
    secrets: Vec<KnownSecret>,
    /// The number of secrets, with those that are too short.
    count: usize,
}

#[derive(Clone)]
struct KnownSecret {
    value: Secret,
    /// The number of the secret within its connection, from 1.
    number: usize,
}

impl KnownSecrets {
    pub(crate) fn add(&mut self, secret: &Secret) {
        self.count += 1;
        if secret.expose().len() >= MIN_BYTES {
            self.secrets.push(KnownSecret { value: secret.clone(), number: self.count });
            self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.value.expose().len()));
        }
    }

    /// Returns a name with each secret replaced by its number. [`reveal`](Self::reveal) restores
    /// the name, so different names stay different.
    pub(crate) fn hide(&self, name: &str) -> String {
        let mut hidden = String::with_capacity(name.len());
        let mut rest = name;
        while let Some(next) = rest.chars().next() {
            let found = self.secrets.iter().find_map(|secret| {
                Some((rest.strip_prefix(secret.value.expose())?, secret.number))
            });
            if let Some((after, number)) = found {
                hidden.push_str(&format!("[secret {number}]"));
                rest = after;
                continue;
            }
            hidden.push(next);
            if next == '[' {
                hidden.push('[');
            }
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
        hidden
    }

    /// Returns the name that [`hide`](Self::hide) received.
    pub(crate) fn reveal(&self, hidden: &str) -> String {
        let mut name = String::with_capacity(hidden.len());
        let mut rest = hidden;
        while let Some((before, after)) = rest.split_once('[') {
            name.push_str(before);
            let found = self.secrets.iter().find_map(|secret| {
                let mark = format!("secret {}]", secret.number);
                Some((after.strip_prefix(&mark)?, secret.value.expose()))
            });
            (name, rest) = match found {
                Some((after, value)) => (name + value, after),
                None => (name + "[", after.strip_prefix('[').unwrap_or(after)),
            };
        }
        name + rest
    }

    /// Returns the text with each secret replaced.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            let value = secret.value.expose();
            if text.contains(value) {
                text = text.replace(value, REDACTED);
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

    fn known(secrets: &[&str]) -> KnownSecrets {
        let mut known = KnownSecrets::default();
        secrets.iter().for_each(|secret| known.add(&Secret::new(*secret)));
        known
    }

    #[test]
    fn hidden_names_have_no_secret_and_are_restored() {
        let secrets = ["abc", "hunter", "hunter2hunter2", "a[secret 2]"];
        let all = known(&secrets);
        for name in [
            "find",
            "find_hunter",
            "hunter2hunter2_hunter",
            "[secret 2]",
            "[[secret 2]",
            "[",
            "a[[b[c",
            "a[secret 2]",
            "[hunter[secret 3]]",
            "äbc_hünter",
            "",
        ] {
            let hidden = all.hide(name);
            assert_eq!(all.reveal(&hidden), name, "{hidden}");
            assert!(secrets[1..].iter().all(|secret| !hidden.contains(secret)), "{hidden}");
        }
        assert_eq!(all.hide("get_hunter2hunter2"), "get_[secret 3]");
        // The value was replaced since.
        assert_eq!(known(&["abc", "x2x2"]).reveal("[secret 2]_get"), "x2x2_get");
        assert_eq!(known(&[]).reveal("[secret 2]_a[b"), "[secret 2]_a[b");
    }

    #[test]
    fn secrets_are_replaced_at_any_depth() {
        let known = known(&["hunter", "hunter2hunter2", "12345678", "a\"b\\c", "abc"]);
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
