use serde_json::Value;

use crate::providers::secrets::in_address;
use crate::providers::transport::HttpRequest;

/// What stands in a recording for a secret.
const HIDDEN: &str = "[scrubbed]";

/// Headers, and members of a query, that say how a request is to be read; all others may be, or hold, a
/// key.
const PLAIN: [&str; 5] = ["accept", "alt", "anthropic-version", "api-version", "content-type"];

/// Those whose last word is a key, however short: before it stands at most what kind of key it is.
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

/// What is shorter is part of other words, also when it is a key.
const SHORTEST_KEY: usize = 4;

/// What is shorter and not called a key may be a word such as `true`, which stands anywhere.
const SHORTEST_WORD: usize = 8;

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

    /// Beside what was named, the words of the request's headers and of its address that may be keys.
    pub(super) fn with_request(&self, request: &HttpRequest) -> Self {
        let mut all = self.clone();
        for (name, value) in request.headers.iter() {
            all.hide_keys(name, value);
        }
        for (name, value) in in_address(&request.url) {
            all.hide_keys(&name, &value);
        }
        all
    }

    fn hide_keys(&mut self, name: &str, value: &str) {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_one_of(&PLAIN) {
            return;
        }
        let last = value.split_whitespace().next_back().filter(|_| is_one_of(&KEYS));
        let long = value.split_whitespace().filter(|word| word.len() >= SHORTEST_WORD);
        for word in long.chain(last.filter(|word| word.len() >= SHORTEST_KEY)) {
            self.hide(word);
        }
    }

    /// The start of a text, which may end within a secret.
    pub(super) fn clean_start(&self, text: &str) -> String {
        let text = self.clean(text);
        let cut = self.0.iter().find_map(|secret| {
            let starts = (SHORTEST_KEY..secret.len()).rev().filter_map(|end| secret.get(..end));
            starts.filter_map(|start| text.strip_suffix(start)).next()
        });
        cut.map_or_else(|| text.clone(), |rest| format!("{rest}{HIDDEN}"))
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
