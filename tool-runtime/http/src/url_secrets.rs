//! Secrets in URLs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

/// Returns what may be secret in a URL, by name: the query parameters, the user and the password,
/// both as written and decoded, and the `Authorization` header that carries the latter two.
#[doc(hidden)]
pub fn secrets_in_url(url: &str) -> Vec<(String, String)> {
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
    use super::secrets_in_url;

    #[test]
    fn url_without_credentials_has_no_secrets() {
        assert!(secrets_in_url("https://h/v1").iter().all(|(_, value)| value.is_empty()));
        assert!(secrets_in_url("no URL").is_empty());
    }
}
