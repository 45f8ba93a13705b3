use std::ops::Range;

use serde_json::Value;

use super::spelling::{base64_cores, layers};
use super::split_secrets::without_split_secrets;
use crate::secrets_in_url;
use crate::{Headers, HttpRequest};

/// The replacement of a secret in a recording.
const REPLACEMENT: &str = "[scrubbed]";

/// Headers and query parameters that describe the format of a request; all others may be, or
/// contain, a key.
const PLAIN: [&str; 5] = ["accept", "alt", "anthropic-version", "api-version", "content-type"];

/// Headers and query parameters whose last word is a key, however short; a word before it names the
/// kind of key.
const KEYS: [&str; 22] = [
    "access_token",
    "api-key",
    "api_key",
    "authorization",
    "client_secret",
    "cookie",
    "id_token",
    "key",
    "mcp-session-id",
    "password",
    "proxy-authorization",
    "refresh_token",
    "secret",
    "session_id",
    "set-cookie",
    "signature",
    "token",
    "x-amz-security-token",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
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

    /// Adds the words of the response's headers that are keys, such as the id of a session.
    pub(super) fn with_response(mut self, headers: &Headers) -> Self {
        for (name, value) in headers.iter() {
            if KEYS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                self.add_keys(name, value);
            }
        }
        self
    }

    fn add_keys(&mut self, name: &str, value: &str) {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_one_of(&PLAIN) {
            return;
        }
        let last = value.split_whitespace().next_back().filter(|_| is_one_of(&KEYS));
        let long = value.split_whitespace().filter(|word| word.len() >= SHORTEST_WORD);
        // The values of cookies, and of the members of a credential.
        let members = value.split([';', ',', ' ']).filter_map(|member| member.split_once('='));
        let members = members.map(|(_, value)| value.trim_matches('"'));
        let members = members.filter(|value| value.len() >= SHORTEST_WORD);
        for word in long.chain(members).chain(last.filter(|word| word.len() >= SHORTEST_KEY)) {
            self.add(word);
        }
    }

    /// Redacts the body of a response; if the connection broke, it may end within a secret.
    pub(super) fn apply_to_reply(&self, reply: &str, is_broken: bool) -> String {
        let whole =
            without_split_secrets(reply, REPLACEMENT, is_broken, |text| self.find(text, is_broken));
        if is_broken { self.apply_to_start(&whole) } else { self.apply(&whole) }
    }

    /// Returns the ranges of secrets in a text, in order and without overlaps.
    fn find(&self, text: &str, is_start: bool) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let layers = layers(text);
        for spelled in self.0.iter().flat_map(|secret| spellings(secret)) {
            for layer in &layers {
                let matches = layer.text.match_indices(&spelled);
                let ranges = matches.map(|(start, _)| start..start + spelled.len());
                found.extend(ranges.map(|range| layer.origin(&range)));
                if is_start && let Some(start) = cut_at(&layer.text, &spelled) {
                    found.push(layer.origin(&(start..layer.text.len())).start..text.len());
                }
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Redacts the start of a text, which may end within a secret.
    pub(super) fn apply_to_start(&self, text: &str) -> String {
        Self::replace(text, self.find(text, true))
    }

    pub(super) fn apply(&self, text: &str) -> String {
        Self::replace(text, self.find(text, false))
    }

    fn replace(text: &str, found: Vec<Range<usize>>) -> String {
        let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            redacted.push_str(text.get(end..range.start).unwrap_or_default());
            redacted.push_str(REPLACEMENT);
            end = range.end;
        }
        redacted.push_str(text.get(end..).unwrap_or_default());
        redacted
    }
}

/// Returns where the start of a secret at the end of a text begins, if there is one. An escape that
/// is not complete may follow it.
fn cut_at(text: &str, secret: &str) -> Option<usize> {
    let whole = text.len();
    let escape = text.rfind(['\\', '%']).filter(|at| whole - at <= MAX_CUT_ESCAPE);
    [Some(whole), escape].into_iter().flatten().find_map(|end| {
        let text = text.get(..end)?;
        let mut starts = (SHORTEST_KEY..secret.len()).rev().filter_map(|end| secret.get(..end));
        Some(end - starts.find(|start| text.ends_with(start))?.len())
    })
}

/// The longest part of an escape that can be cut, such as `\ud83d\ude0`.
const MAX_CUT_ESCAPE: usize = 11;

/// Returns the spellings of a secret that are searched for in each layer of a text.
fn spellings(secret: &str) -> Vec<String> {
    let mut spellings = base64_cores(&json_escaped(secret));
    spellings.extend(base64_cores(secret));
    spellings.push(secret.to_owned());
    spellings
}

/// Returns the text escaped for the inside of a JSON string.
fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}
