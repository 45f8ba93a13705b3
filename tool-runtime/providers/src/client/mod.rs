//! Client of a model API, generic over the codec: its settings.

pub(crate) mod chat_client;
pub(crate) mod chat_exchange;
pub(crate) mod check;
pub(crate) mod credentials;
pub(crate) mod embedding_client;
pub(crate) mod embedding_settings;
pub(crate) mod extra_options;
pub(crate) mod paused_reply;
pub(crate) mod rejected_output;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use crate::client::embedding_settings::EmbeddingSettings;
use tool_http::Transport;

/// Client for a model behind an HTTP API; the type parameter is the codec of the API.
///
/// `OpenAi`, `Anthropic`, `OpenAiEmbedder` and the other clients of [providers](super) are aliases
/// of this type, so these methods apply to all of them.
///
/// The client retries requests that failed without an effect: the provider refused them because of
/// a rate limit or an overload, or the connection broke. By default it retries twice. The pause
/// grows with each attempt and respects the delay that the provider asks for. An error that a
/// provider reports in a response with a success status is retried in the same way. A stream that
/// has emitted a delta is not retried.
///
/// A reply has at most 32 MiB and [10,000 calls](Self::max_calls_per_reply).
///
/// ```no_run
/// use std::time::Duration;
/// use tool_runtime::{ChatModel, ChatRequest, Message, providers::OpenAi};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAi::new("https://api.openai.com/v1", "gpt-5-mini")
///     .key(std::env::var("OPENAI_API_KEY")?)
///     .timeout(Duration::from_secs(60))
///     .max_retries(4);
/// model.check()?;
/// let reply = model.reply(ChatRequest::new(&[Message::user("Hello!")])).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client<C> {
    pub(super) codec: C,
    pub(super) model: String,
    pub(super) connection: Connection,
    /// URL of a request for display.
    url: String,
    /// The highest number of calls in a reply of a chat model.
    pub(super) max_calls: u32,
    /// Settings of an embedder.
    pub(super) embedding: EmbeddingSettings,
}

/// The default limit of calls in a reply. With the fewest tokens that a call takes, no model has an
/// output limit that allows as many.
const MAX_CALLS: u32 = 10_000;

impl<C> Client<C> {
    /// Creates a client whose requests have the path of this function.
    pub(super) fn at(
        base_url: &str,
        model: String,
        codec: C,
        path: impl Fn(&str) -> Vec<&str>,
    ) -> Self {
        let connection = Connection::new(base_url);
        let url = connection.endpoint.display_url(&path(&model));
        let embedding = EmbeddingSettings::default();
        Self { codec, model, connection, url, max_calls: MAX_CALLS, embedding }
    }

    /// Sets the key that is sent with each request. White space around it is removed: a key from a
    /// file or a variable often ends with a newline, which no header can carry. The key is never
    /// printed. `check` reports a key that is empty or contains a line break.
    ///
    /// If the key is sent in the header `Authorization`, it replaces a user and a password in the
    /// URL. A [`header`](Self::header) of that name replaces both. Default: no key.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        self.connection.set_key(key.as_ref());
        self
    }

    /// Sets the key that the environment has, if it has one.
    #[cfg(any(
        feature = "anthropic",
        feature = "gemini",
        feature = "mistral",
        feature = "ollama",
        feature = "openai"
    ))]
    pub(super) fn optional_key(self, key: Option<String>) -> Self {
        match key {
            Some(key) => self.key(key),
            None => self,
        }
    }

    /// Sets a header that is sent with each request. The value is never printed.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.connection.headers.set(name, value);
        self
    }

    /// Sets the time limit for a reply, from the first attempt to the last byte. Each batch of
    /// texts to embed is a request with this limit, and so is the continuation of a reply that the
    /// provider has paused. Default: two minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.connection.timeout = timeout;
        self
    }

    /// Sets the time limit for establishing a connection. A [`transport`](Self::transport) of your
    /// own has its own limit. Default: ten seconds.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connection.set_connect_timeout(timeout);
        self
    }

    /// Sets the time limit of each attempt until the provider starts to answer. A reply that is not
    /// streamed starts when it is complete. Default: the limit of the whole reply.
    #[must_use]
    pub fn first_byte_timeout(mut self, timeout: Duration) -> Self {
        self.connection.first_byte_timeout = Some(timeout);
        self
    }

    /// Sets how often a request is retried; 0 disables retries. Default: 2.
    #[must_use]
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.connection.max_retries = max_retries;
        self
    }

    /// Sets the transport that sends the requests: a
    /// [`ReqwestTransport`](tool_http::ReqwestTransport) with your own proxies or certificates, a
    /// `Cassette`, or an implementation of your own.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.connection.set_transport(Arc::new(transport));
        self
    }
}

impl<C: fmt::Debug> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("codec", &self.codec)
            .field("headers", &self.connection.headers)
            .finish_non_exhaustive()
    }
}
