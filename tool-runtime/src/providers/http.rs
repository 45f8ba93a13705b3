//! One request, one reply: the transport that all providers share.

use std::time::Duration;

use serde_json::Value;

use crate::models::ModelError;

/// How much of a body an error repeats.
const MOST_OF_BODY: usize = 2_000;

/// Where requests go, and how long they may take.
#[derive(Clone, Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    url: String,
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
    pub(super) fn new(url: String) -> Self {
        Self { client: reqwest::Client::new(), url, key: None, limit: Duration::from_secs(120) }
    }

    pub(super) fn set_key(&mut self, key: impl Into<String>) {
        self.key = Some(Key(key.into()));
    }

    pub(super) fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Sends `body` and gives back the text of a reply with a status of success.
    pub(super) async fn post(&self, body: &Value) -> Result<String, ModelError> {
        let mut request = self.client.post(&self.url).timeout(self.limit).json(body);
        if let Some(Key(key)) = &self.key {
            request = request.bearer_auth(key);
        }
        let reply = request.send().await.map_err(|error| self.failed(error))?;
        let status = reply.status();
        let text = reply.text().await.map_err(|error| self.failed(error))?;
        if status.is_success() {
            return Ok(text);
        }
        let body = excerpt(&text);
        Err(ModelError::Status { url: self.url.clone(), status: status.as_u16(), body })
    }

    fn failed(&self, error: reqwest::Error) -> ModelError {
        let url = self.url.clone();
        if error.is_timeout() {
            return ModelError::Timeout { url, limit: self.limit };
        }
        ModelError::Unreachable { url, source: Box::new(error.without_url()) }
    }
}

/// The start of a body, for an error.
pub(super) fn excerpt(body: &str) -> String {
    let mut text: String = body.chars().take(MOST_OF_BODY).collect();
    if text.len() < body.len() {
        text.push_str(" …");
    }
    text
}
