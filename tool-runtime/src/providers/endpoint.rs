//! The address of a model: read once, shown without secrets.

use std::borrow::Cow;

use reqwest::Url;

use crate::models::ModelError;

/// Where an API is; or, when the program's address is none, what it wrote.
#[derive(Clone)]
pub(super) struct Endpoint(Result<Url, String>);

impl Endpoint {
    /// The API at `base`.
    pub(super) fn new(base: &str) -> Self {
        let base = base.trim();
        Self(web_address(base).ok_or_else(|| base.to_owned()))
    }

    /// Where below it a request goes; the base may end in a slash or in this path already.
    ///
    /// # Errors
    /// [`ModelError::Setup`] says what an address looks like.
    pub(super) fn below(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<String, ModelError> {
        let mut url = below(self.check()?.clone(), path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url.into())
    }

    /// # Errors
    /// [`ModelError::Setup`] says what an address looks like.
    pub(super) fn check(&self) -> Result<&Url, ModelError> {
        self.0.as_ref().map_err(|written| {
            let written = without_secrets(written);
            ModelError::Setup(format!(
                "`{written}` is not the address of a model: write it like http://127.0.0.1:8080/v1"
            ))
        })
    }

    /// The same as [`below`](Self::below), to be read: without a name, a password and a query, any of
    /// which may be a secret.
    pub(super) fn shown(&self, path: &[&str]) -> String {
        match &self.0 {
            Ok(url) => {
                let url = below(url.clone(), path);
                format!("{}{}", url.origin().ascii_serialization(), url.path())
            }
            Err(written) => without_secrets(written),
        }
    }

    /// Whether it is asked without TLS.
    pub(super) fn is_plain(&self) -> bool {
        self.0.as_ref().is_ok_and(|url| url.scheme() == "http")
    }

    /// Whether it is on this very machine, where no proxy leads.
    pub(super) fn is_local(&self) -> bool {
        let host = self.0.as_ref().ok().and_then(Url::host_str).unwrap_or_default();
        let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

/// What is no address may be one with a typing error, and hold a password all the same.
fn without_secrets(written: &str) -> String {
    let written = written.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = written.split_once("//").unwrap_or(("", written));
    match rest.rsplit_once('@') {
        Some((_, rest)) if scheme.is_empty() => format!("…@{rest}"),
        Some((_, rest)) => format!("{scheme}//…@{rest}"),
        None => written.to_owned(),
    }
}

/// An address without a user and a password.
pub(super) fn without_user(url: &str) -> Cow<'_, str> {
    let Ok(mut address) = Url::parse(url) else { return Cow::Borrowed(url) };
    let has_user = !address.username().is_empty() || address.password().is_some();
    let is_gone =
        has_user && address.set_username("").is_ok() && address.set_password(None).is_ok();
    if is_gone { Cow::Owned(address.into()) } else { Cow::Borrowed(url) }
}

/// `localhost:8080` is an address as well, of the scheme `localhost`: that is a forgotten `http://`.
fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// A query, which some services want, stays behind the path. A method, `:name`, stands without a slash
/// behind what it is of.
fn below(mut base: Url, path: &[&str]) -> Url {
    let mut whole: Vec<String> = Vec::new();
    for &segment in path {
        match whole.last_mut() {
            Some(last) if segment.starts_with(':') => last.push_str(segment),
            _ => whole.push(segment.to_owned()),
        }
    }
    if base.path().trim_end_matches('/').ends_with(&whole.join("/")) {
        return base;
    }
    if let Ok(mut segments) = base.path_segments_mut() {
        segments.pop_if_empty().extend(whole);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn however_the_base_is_written() {
        for (base, full) in [
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            (" http://h:1/v1\n", "http://h:1/v1/chat/completions"),
            ("http://h:1", "http://h:1/chat/completions"),
            ("http://h:1/", "http://h:1/chat/completions"),
            ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            ("https://h/v1/chat/completions/", "https://h/v1/chat/completions/"),
            ("https://h/d?version=1", "https://h/d/chat/completions?version=1"),
        ] {
            let url = Endpoint::new(base).below(&["chat", "completions"], &[]).unwrap();
            assert_eq!(url, full, "{base}");
        }
    }

    #[test]
    fn methods_and_strange_names() {
        for (path, full) in [
            (&["models", "m", ":generate"][..], "https://h/v1/models/m:generate?alt=sse"),
            (&["models", "a b?c", ":generate"], "https://h/v1/models/a%20b%3Fc:generate?alt=sse"),
        ] {
            let url = Endpoint::new("https://h/v1").below(path, &[("alt", "sse")]).unwrap();
            assert_eq!(url, full);
        }
    }

    #[test]
    fn what_is_no_address_is_shown() {
        for base in ["", "localhost:8080/v1", "127.0.0.1:8080", "h/v1", "file:///v1", "http://"] {
            let error = Endpoint::new(base).below(&["chat"], &[]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{base}` is not the address")), "{error}");
        }
    }

    #[test]
    fn secrets_in_the_address_are_not_shown() {
        let endpoint = Endpoint::new("https://me:secret@h/v1?key=secret");
        assert_eq!(endpoint.shown(&["chat"]), "https://h/v1/chat");
    }

    #[test]
    fn this_machine() {
        for (base, local) in [
            ("http://localhost:1/v1", true),
            ("http://127.0.0.1:1/v1", true),
            ("http://[::1]:1/v1", true),
            ("http://192.168.0.1/v1", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(Endpoint::new(base).is_local(), local, "{base}");
        }
    }
}
