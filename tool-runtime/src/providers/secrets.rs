//! What no error may repeat.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
        all.extend(in_address(url).into_iter().map(|(_, value)| value));
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

/// What in an address may be secret, by its name: the members of its query, its user and its password, as
/// they are written and as they are meant; and the header that the latter two are sent in.
pub(super) fn in_address(url: &str) -> Vec<(String, String)> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let members = url.query().unwrap_or_default().split('&').filter_map(|it| it.split_once('='));
    let mut all: Vec<_> =
        members.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    all.push(("user".into(), url.username().into()));
    all.extend(url.password().map(|password| ("password".into(), password.into())));
    all.extend(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())));
    let read: Vec<_> = all.iter().map(|(name, value)| (meant(name), meant(value))).collect();
    all.extend(read);
    if !url.username().is_empty() || url.password().is_some() {
        let [user, password] = [url.username(), url.password().unwrap_or_default()].map(meant);
        all.push(("authorization".into(), STANDARD.encode(format!("{user}:{password}"))));
    }
    all
}

/// What is written with percent signs. A plus is a space in queries alone.
fn meant(written: &str) -> String {
    let escaped = written.replace('+', "%2B").replace('&', "%26");
    let read = Url::parse(&format!("http://h?={escaped}")).ok();
    let value = read.and_then(|url| Some(url.query_pairs().next()?.1.into_owned()));
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Secrets, in_address};

    #[test]
    fn what_stands_in_an_address_is_hidden_however_it_is_told() {
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
            assert_eq!(secrets.hidden(&format!("<{secret}>")), "<…>", "{secret}");
        }
        assert_eq!(secrets.hidden("x=1 https://h/v1"), "x=1 https://h/v1");
        assert!(in_address("https://h/v1").iter().all(|(_, value)| value.is_empty()));
        assert!(in_address("no address").is_empty());
    }
}
