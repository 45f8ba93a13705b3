//! Redaction of the secrets of a request in errors.

use tool_http::secrets_in_url;

/// Texts of a request that are, or contain, a key.
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Collects the key, the values of headers and the words in them, and the user, password and
    /// query of the URL. A text of fewer than four bytes is not a secret, unless it is the key:
    /// headers such as `x-debug: 1` contain none, and short texts occur anywhere.
    pub(crate) fn new<'s>(
        key: Option<&'s str>,
        headers: impl Iterator<Item = &'s str>,
        url: &str,
    ) -> Self {
        let mut all: Vec<String> = key.map(ToOwned::to_owned).into_iter().collect();
        for value in headers {
            let words = value.split_whitespace().filter(|word| word.len() >= 8);
            all.extend(std::iter::once(value).chain(words).map(ToOwned::to_owned));
        }
        all.extend(secrets_in_url(url).into_iter().map(|(_, value)| value));
        all.retain(|secret| secret.len() >= 4 || Some(secret.as_str()) == key);
        // Longest first: a secret that is part of another would leave the rest of that one
        // readable.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all)
    }

    /// Replaces all secrets in a text by `…`.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

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
    }
}
