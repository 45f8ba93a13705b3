//! Redaction of the secrets of a request in errors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

/// Texts of a request that are, or contain, a key.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Collects the key, the values of headers and the words in them, and the user, password and
    /// query of the URL. A text of fewer than four bytes is not a secret, unless it is the key:
    /// headers such as `x-debug: 1` contain none, and short texts occur anywhere.
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
        all.extend(in_url(url).into_iter().map(|(_, value)| value));
        all.retain(|secret| secret.len() >= 4 || Some(secret.as_str()) == key);
        // Longest first: a secret that is part of another would leave the rest of that one
        // readable.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all)
    }

    /// Replaces all secrets in a text by `…`.
    pub(super) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

/// Returns what may be secret in a URL, by name: the query parameters, the user and the password,
/// both as written and decoded, and the `Authorization` header that carries the latter two.
pub(super) fn in_url(url: &str) -> Vec<(String, String)> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let members = url.query().unwrap_or_default().split('&').filter_map(|it| it.split_once('='));
    let mut all: Vec<_> =
        members.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    all.push(("user".into(), url.username().into()));
    all.extend(url.password().map(|password| ("password".into(), password.into())));
    all.extend(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())));
    let decoded: Vec<_> =
        all.iter().map(|(name, value)| (percent_decoded(name), percent_decoded(value))).collect();
    all.extend(decoded);
    if !url.username().is_empty() || url.password().is_some() {
        let [user, password] =
            [url.username(), url.password().unwrap_or_default()].map(percent_decoded);
        all.push(("authorization".into(), STANDARD.encode(format!("{user}:{password}"))));
    }
    all
}

/// Decodes percent signs. A plus is a space in queries only.
fn percent_decoded(written: &str) -> String {
    let escaped = written.replace('+', "%2B").replace('&', "%26");
    let url = Url::parse(&format!("http://h?={escaped}")).ok();
    let value = url.and_then(|url| Some(url.query_pairs().next()?.1.into_owned()));
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Secrets, in_url};

    #[test]
    fn secrets_of_a_url_are_redacted_in_every_form() {
        let url = "https://me%26co:p%40ss+word@h/v1?key=a%2Bb%3Dc+d&x=1";
        let secrets = Secrets::new(None, std::iter::empty(), url);
        for secret in [
            "me%26co",
            "me&co",
            "p%40ss+word",
            "p@ss+word",
            "bWUmY286cEBzcyt3b3Jk",
            "a%2Bb%3Dc+d",
            "a+b=c d",
            "a+b=c+d",
        ] {
            assert_eq!(secrets.redact(&format!("<{secret}>")), "<…>", "{secret}");
        }
        assert_eq!(secrets.redact("x=1 https://h/v1"), "x=1 https://h/v1");
        assert!(in_url("https://h/v1").iter().all(|(_, value)| value.is_empty()));
        assert!(in_url("no URL").is_empty());
    }
}
