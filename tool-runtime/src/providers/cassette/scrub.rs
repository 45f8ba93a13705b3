use serde_json::Value;

use crate::providers::transport::HttpRequest;

/// What stands in a recording for a secret.
const HIDDEN: &str = "[scrubbed]";

/// Headers that say how a request is to be read; all others may be, or hold, a key.
const PLAIN: [&str; 3] = ["accept", "content-type", "anthropic-version"];

/// Texts that are kept out of recordings.
#[derive(Clone, Default)]
pub(super) struct Scrub(Vec<String>);

impl Scrub {
    pub(super) fn hide(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        if !secret.is_empty() && !self.0.contains(&secret) {
            self.0.push(secret);
        }
        // A secret that is part of another would leave the rest of that one readable.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Beside what was named, the words of the request's headers: those that are long enough for a
    /// key, and not such as `true`, which may stand anywhere.
    pub(super) fn with_headers(&self, request: &HttpRequest) -> Self {
        let mut all = self.clone();
        let secret = |name: &str| PLAIN.iter().all(|plain| !name.eq_ignore_ascii_case(plain));
        for (_, value) in request.headers.iter().filter(|(name, _)| secret(name)) {
            for word in value.split_whitespace().filter(|word| word.len() > 7) {
                all.hide(word);
            }
        }
        all
    }

    pub(super) fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            // As it is, as JSON spells it, and as JSON does in a text that is JSON itself: arguments.
            let once = spelled(secret);
            let twice = spelled(&once);
            text.replace(&twice, HIDDEN).replace(&once, HIDDEN).replace(secret, HIDDEN)
        })
    }
}

/// Within the quotes of a string.
fn spelled(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}
