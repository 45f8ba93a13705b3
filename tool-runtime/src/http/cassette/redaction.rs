use serde_json::Value;

use crate::http::HttpRequest;
use crate::http::secrets_in_url;

/// The replacement of a secret in a recording.
const REPLACEMENT: &str = "[scrubbed]";

/// Headers and query parameters that describe the format of a request; all others may be, or
/// contain, a key.
const PLAIN: [&str; 5] = ["accept", "alt", "anthropic-version", "api-version", "content-type"];

/// Headers and query parameters whose last word is a key, however short; a word before it names the
/// kind of key.
const KEYS: [&str; 9] = [
    "access_token",
    "api-key",
    "api_key",
    "authorization",
    "key",
    "password",
    "token",
    "x-api-key",
    "x-goog-api-key",
];

/// The shortest key; a shorter text is part of other words.
const SHORTEST_KEY: usize = 4;

/// The shortest secret of other names; a shorter one may be a word such as `true`, which occurs
/// anywhere.
const SHORTEST_WORD: usize = 8;

/// Texts that are replaced in recordings.
#[derive(Clone, Default)]
pub(super) struct Redaction(Vec<String>);

impl Redaction {
    pub(super) fn add(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        if !secret.is_empty() && !self.0.contains(&secret) {
            self.0.push(secret);
        }
        // Longest first: a secret that is part of another would leave the rest of that one
        // readable.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Adds the words of the request's headers and URL that may be keys.
    pub(super) fn with_request(&self, request: &HttpRequest) -> Self {
        let mut all = self.clone();
        for (name, value) in request.headers.iter() {
            all.add_keys(name, value);
        }
        for (name, value) in secrets_in_url(&request.url) {
            all.add_keys(&name, &value);
        }
        all
    }

    fn add_keys(&mut self, name: &str, value: &str) {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_one_of(&PLAIN) {
            return;
        }
        let last = value.split_whitespace().next_back().filter(|_| is_one_of(&KEYS));
        let long = value.split_whitespace().filter(|word| word.len() >= SHORTEST_WORD);
        for word in long.chain(last.filter(|word| word.len() >= SHORTEST_KEY)) {
            self.add(word);
        }
    }

    /// Redacts the start of a text, which may end within a secret.
    pub(super) fn apply_to_start(&self, text: &str) -> String {
        let text = self.apply(text);
        let cut = self.0.iter().find_map(|secret| {
            let starts = (SHORTEST_KEY..secret.len()).rev().filter_map(|end| secret.get(..end));
            starts.filter_map(|start| text.strip_suffix(start)).next()
        });
        cut.map_or_else(|| text.clone(), |rest| format!("{rest}{REPLACEMENT}"))
    }

    pub(super) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            // Plain, escaped once (a JSON string), and escaped twice (JSON text in a JSON string).
            let once = json_escaped(secret);
            let twice = json_escaped(&once);
            text.replace(&twice, REPLACEMENT)
                .replace(&once, REPLACEMENT)
                .replace(secret, REPLACEMENT)
        })
    }
}

/// Returns the text escaped for the inside of a JSON string.
fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}
