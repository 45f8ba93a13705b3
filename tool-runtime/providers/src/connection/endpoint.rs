//! Address of a model: parsed once, displayed without secrets.

use reqwest::Url;

use tool_core::ModelError;

/// URL of an API, or the text of the program if it is not a URL.
#[derive(Clone)]
pub(crate) struct Endpoint(Result<Url, String>);

impl Endpoint {
    /// Parses a base URL.
    pub(crate) fn new(base: &str) -> Self {
        let base = base.trim();
        Self(http_url(base).ok_or_else(|| base.to_owned()))
    }

    /// Returns the host and the port of a URL that is not malformed.
    pub(crate) fn host_and_port(&self) -> Option<(&str, Option<u16>)> {
        let url = self.0.as_ref().ok()?;
        Some((url.host_str()?, url.port_or_known_default()))
    }

    /// Returns the URL of a request below the base URL. The base may end with a slash, or already
    /// with this path.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed.
    pub(crate) fn below(
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

    /// Returns the parsed base URL.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed.
    pub(crate) fn check(&self) -> Result<&Url, ModelError> {
        self.0.as_ref().map_err(|written| {
            let written = without_secrets(written);
            ModelError::Setup(format!(
                "malformed base URL: `{written}`; write it like http://127.0.0.1:8080/v1"
            ))
        })
    }

    /// Returns the URL of a request for display: without user, password and query, which may be
    /// secret.
    pub(crate) fn display_url(&self, path: &[&str]) -> String {
        match &self.0 {
            Ok(url) => {
                let url = below(url.clone(), path);
                format!("{}{}", url.origin().ascii_serialization(), url.path())
            }
            Err(written) => without_secrets(written),
        }
    }

    /// Returns the host if it is one of `hosts` or a subdomain of one.
    pub(crate) fn host_among(&self, hosts: &[&str]) -> Option<&str> {
        let host = self.0.as_ref().ok()?.host_str()?;
        let is_below = |known: &&str| {
            host.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        hosts.iter().any(is_below).then_some(host)
    }

    /// Returns whether the URL itself may carry credentials: a user, a password or a query.
    pub(crate) fn may_have_credentials(&self) -> bool {
        self.0.as_ref().is_ok_and(|url| {
            !url.username().is_empty() || url.password().is_some() || url.query().is_some()
        })
    }

    /// Returns whether the URL has no TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.as_ref().is_ok_and(|url| url.scheme() == "http")
    }

    /// Returns whether the server is on this machine, where no proxy is used.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.0.as_ref().ok().and_then(Url::host_str).unwrap_or_default();
        let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

/// Removes secrets from a malformed URL: a typing error may be near a password.
fn without_secrets(written: &str) -> String {
    let written = written.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = written.split_once("//").unwrap_or(("", written));
    match rest.rsplit_once('@') {
        Some((_, rest)) if scheme.is_empty() => format!("…@{rest}"),
        Some((_, rest)) => format!("{scheme}//…@{rest}"),
        None => written.to_owned(),
    }
}

/// Parses an HTTP URL. `localhost:8080` is a URL too, with the scheme `localhost`, but it means a
/// forgotten `http://`.
fn http_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// Appends a path. A query, which some services need, stays after the path. A method, `:name`, is
/// appended without a slash.
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
    fn request_urls_are_below_the_base() {
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
    fn paths_escape_special_characters_but_not_methods() {
        for (path, full) in [
            (&["models", "m", ":generate"][..], "https://h/v1/models/m:generate?alt=sse"),
            (&["models", "a b?c", ":generate"], "https://h/v1/models/a%20b%3Fc:generate?alt=sse"),
        ] {
            let url = Endpoint::new("https://h/v1").below(path, &[("alt", "sse")]).unwrap();
            assert_eq!(url, full);
        }
    }

    #[test]
    fn malformed_urls_are_reported() {
        for base in ["", "localhost:8080/v1", "127.0.0.1:8080", "h/v1", "file:///v1", "http://"] {
            let error = Endpoint::new(base).below(&["chat"], &[]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("malformed base URL: `{base}`;")), "{error}");
        }
    }

    #[test]
    fn display_url_contains_no_secrets() {
        let endpoint = Endpoint::new("https://me:secret@h/v1?key=secret");
        assert_eq!(endpoint.display_url(&["chat"]), "https://h/v1/chat");
    }

    #[test]
    fn subdomains_belong_to_a_host() {
        for (base, expected) in [
            ("https://api.openai.com/v1", Some("api.openai.com")),
            ("https://EU.api.openai.com", Some("eu.api.openai.com")),
            ("https://notapi.openai.com/v1", None),
            ("https://models.invalid/api.openai.com", None),
            ("api.openai.com", None),
        ] {
            assert_eq!(Endpoint::new(base).host_among(&["api.openai.com"]), expected, "{base}");
        }
    }

    #[test]
    fn loopback_hosts_are_local() {
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
