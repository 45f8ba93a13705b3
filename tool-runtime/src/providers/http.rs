//! One request, one reply: the transport that all providers share.

use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Response, redirect};
use serde_json::Value;

use super::endpoint::Endpoint;
use crate::models::ModelError;

/// How much of a body an error repeats, in characters.
const MOST_OF_BODY: usize = 2_000;

/// How many bytes of a reply are read: far more than a model ever writes.
const MOST_BYTES: usize = 32 << 20;

/// Where requests go, and how long they may take.
#[derive(Clone, Debug)]
pub(super) struct Http {
    /// Or why there is none: on a machine without root certificates it can't be built.
    client: Result<Client, String>,
    endpoint: Endpoint,
    key: Option<Key>,
    limit: Duration,
}

/// A secret that no debug output shows.
#[derive(Clone)]
struct Key(String);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Http {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        // A redirected POST arrives as a GET without a body, or takes the conversation to a server
        // that nobody named.
        let mut client = Client::builder().redirect(redirect::Policy::none());
        if endpoint.is_local() {
            client = client.no_proxy();
        }
        // Nor are the machine's root certificates needed, which a small container may lack.
        if endpoint.is_plain() {
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| chain(&error));
        Self { client, endpoint, key: None, limit: Duration::from_secs(120) }
    }

    /// A key read from a file or a variable often ends in a newline, which no header can carry.
    pub(super) fn set_key(&mut self, key: &str) {
        let key = key.trim();
        self.key = (!key.is_empty()).then(|| Key(key.to_owned()));
    }

    pub(super) fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// # Errors
    /// [`ModelError::Setup`]: no request could be sent from here.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        self.endpoint.url()?;
        self.client().map(|_| ())
    }

    fn client(&self) -> Result<&Client, ModelError> {
        self.client.as_ref().map_err(|why| {
            ModelError::Setup(format!("the HTTP client can't be set up on this machine: {why}"))
        })
    }

    /// Sends `body` and gives back the text of a reply with a status of success.
    pub(super) async fn post(&self, body: &Value) -> Result<String, ModelError> {
        let url = self.endpoint.url()?.clone();
        let mut request = self.client()?.post(url).timeout(self.limit).json(body);
        if let Some(Key(key)) = &self.key {
            request = request.bearer_auth(key);
        }
        let mut reply = request.send().await.map_err(|error| self.failed(error))?;
        if !reply.status().is_success() {
            return Err(self.refused(reply).await);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| self.failed(error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                let reason = format!("it is longer than {MOST_BYTES} bytes");
                return Err(malformed(reason, &bytes));
            }
        }
        String::from_utf8(bytes)
            .map_err(|error| malformed("it is not UTF-8".into(), error.as_bytes()))
    }

    /// The status says enough: of the body, what comes in time and fits is taken.
    async fn refused(&self, mut reply: Response) -> ModelError {
        let status = reply.status().as_u16();
        let mut bytes = Vec::new();
        if let Some(target) = reply.headers().get(LOCATION) {
            bytes.extend_from_slice(b"it redirects to ");
            bytes.extend_from_slice(target.as_bytes());
            bytes.push(b' ');
        }
        while bytes.len() < 4 * MOST_OF_BODY
            && let Ok(Some(chunk)) = reply.chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
        let mut body = String::from_utf8_lossy(&bytes).into_owned();
        // Some servers quote the key that they don't know.
        if let Some(Key(key)) = &self.key {
            body = body.replace(key, "…");
        }
        let body = excerpt(&body);
        ModelError::Status { url: self.endpoint.to_string(), status, body }
    }

    fn failed(&self, error: reqwest::Error) -> ModelError {
        let url = self.endpoint.to_string();
        if error.is_timeout() {
            return ModelError::Timeout { url, limit: self.limit };
        }
        if error.is_builder() {
            return ModelError::Setup(format!(
                "no request can be made for {url}: {}; is the key one line of plain text?",
                chain(&error.without_url())
            ));
        }
        ModelError::Unreachable { url, source: Box::new(error.without_url()) }
    }
}

fn malformed(reason: String, body: &[u8]) -> ModelError {
    ModelError::Malformed { reason, body: excerpt(&String::from_utf8_lossy(body)) }
}

/// The start of a body, for an error.
pub(super) fn excerpt(body: &str) -> String {
    let body = body.trim();
    let mut text: String = body.chars().take(MOST_OF_BODY).collect();
    if text.len() < body.len() {
        text.push_str(" …");
    }
    text
}

/// An error and all that lies behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let behind = std::iter::successors(error.source(), |error| error.source());
    behind.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}
