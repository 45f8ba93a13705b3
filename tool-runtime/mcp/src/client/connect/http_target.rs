//! The options of a client for HTTP.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use crate::client::builder::McpClient;
use crate::client::connect::target::Target;
#[cfg(feature = "oauth")]
use crate::client::oauth::{OAuth, OAuthConnector};
use crate::client::options::Options;
use crate::client::wire::http::{HttpTarget, Unauthorized};

impl McpClient {
    /// Prepares to connect to a server over Streamable HTTP.
    ///
    /// Redirects are not followed, since they could send a token elsewhere.
    pub fn http(url: impl AsRef<str>) -> Self {
        Self::new(http_target(url.as_ref()))
    }

    /// Sends a token with each request, as `Authorization: Bearer`. Use a token that was issued for
    /// this server, never one for another service.
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        let token = token.as_ref();
        self.http_option("bearer", |target| target.bearer = Some(token.into()))
    }

    /// Sends a header with each request.
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                self.http_option("header", |target| drop(target.headers.insert(name, value)))
            }
            _ => {
                self.target = Err(format!("header `{name}` is invalid"));
                self
            }
        }
    }

    /// Gets tokens for the server by OAuth. A token that is set with [`bearer`](Self::bearer) is
    /// then not sent.
    ///
    /// An authorization does not count towards the time limit of the handshake. It continues if the
    /// call that caused it times out, so that the next call succeeds.
    #[cfg(feature = "oauth")]
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        let created = match &mut self.target {
            Ok(Target::Http { target, connector }) => OAuthConnector::new(oauth, &target.url)
                .map(|created| *connector = Arc::new(created)),
            Ok(_) => Err("`oauth` applies to HTTP only".to_owned()),
            Err(_) => Ok(()),
        };
        if let Err(error) = created {
            self.target = Err(error);
        }
        self
    }

    fn http_option(mut self, option: &str, change: impl FnOnce(&mut HttpTarget)) -> Self {
        match &mut self.target {
            Ok(Target::Http { target, .. }) => change(target),
            Ok(_) => self.target = Err(format!("`{option}` applies to HTTP only")),
            Err(_) => {}
        }
        self
    }

    pub(crate) fn set_max_http_bytes(&mut self, bytes: usize) {
        if let Ok(Target::Http { target, .. }) = &mut self.target {
            target.max_message_bytes = bytes;
        }
    }
}

fn http_target(url: &str) -> Result<Target, String> {
    let parsed = Url::parse(url).map_err(|error| format!("URL is invalid: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("URL has the scheme `{}`: expected http or https", parsed.scheme()));
    }
    let connector = Unauthorized::new().map_err(|error| error.to_string())?;
    let target = HttpTarget {
        url: url.into(),
        bearer: None,
        headers: HashMap::new(),
        max_message_bytes: Options::default().max_message_bytes,
        traffic: Arc::default(),
    };
    Ok(Target::Http { target, connector: Arc::new(connector) })
}
