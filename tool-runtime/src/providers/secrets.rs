//! What no error may repeat.

use reqwest::Url;

/// Texts of a request that are, or hold, a key.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// The key; the values of headers and the words in them; what stands in the address before the host
    /// and in its query. Headers such as `x-debug: 1` hold no key: what is shorter than four bytes may
    /// stand anywhere.
    pub(super) fn new<'s>(
        key: Option<&'s str>,
        headers: impl Iterator<Item = &'s str>,
        url: &str,
    ) -> Self {
        let mut all: Vec<String> = key.map(ToOwned::to_owned).into_iter().collect();
        for value in headers {
            let words = value.split_whitespace().filter(|word| word.len() >= 8);
            all.extend(std::iter::once(value).chain(words).map(ToOwned::to_owned));
        }
        if let Ok(url) = Url::parse(url) {
            all.extend(url.password().map(ToOwned::to_owned));
            all.push(url.username().to_owned());
            all.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        }
        all.retain(|secret| secret.len() >= 4 || Some(secret.as_str()) == key);
        // One that is part of another would leave the rest of that one readable.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all)
    }

    /// The text without them.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}
