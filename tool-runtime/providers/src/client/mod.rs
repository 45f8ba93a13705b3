//! Client of a model API, generic over the codec: its settings.

pub(crate) mod chat_client;
pub(crate) mod chat_exchange;
pub(crate) mod check;
pub(crate) mod credentials;
pub(crate) mod embedding_client;
pub(crate) mod embedding_settings;
pub(crate) mod environment;
pub(crate) mod extra_options;
pub(crate) mod paused_reply;
mod provider_name;
pub(crate) mod rejected_output;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use crate::client::embedding_settings::EmbeddingSettings;
use crate::client::environment::client_from;
use crate::client::provider_name::provider_of;
use crate::codec::Api;
use tool_core::ModelError;
use tool_core::models::ModelInfo;
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
    /// The size of the context of a chat model.
    pub(super) context_tokens: Option<u64>,
    /// Settings of an embedder.
    pub(super) embedding: EmbeddingSettings,
}

/// The default limit of calls in a reply. With the fewest tokens that a call takes, no model has an
/// output limit that allows as many.
const MAX_CALLS: u32 = 10_000;

impl<C: Api + Default> Client<C> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Most servers need a version in it, as in
    /// `http://127.0.0.1:8080/v1`. A malformed URL is reported by `check`, or else by the first
    /// request.
    ///
    /// Proxies come from the environment (`HTTPS_PROXY` and the like), except for a server on this
    /// machine. Redirects are not followed.
    ///
    /// ```
    /// # #[cfg(feature = "openai")]
    /// # {
    /// use tool_runtime::{Agent, Tools, providers::OpenAi};
    ///
    /// let model = OpenAi::new("https://api.openai.com/v1", "gpt-5-mini").key("secret");
    /// let agent = Agent::new(model, Tools::new());
    /// # }
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url, model, C::default())
    }

    /// Creates a client from three environment variables.
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `…_MODEL` of a chat model, `…_EMBEDDING_MODEL` of an embedder | name of the model, which is required |
    /// | `…_BASE_URL` | base URL of the server |
    /// | `…_API_KEY` | key |
    ///
    /// Their names begin with that of the provider. Without a base URL, the client uses the
    /// provider's own server, so the key is required as well, except for Ollama's.
    ///
    /// | provider | server without a base URL | version that is added to a base URL without one |
    /// |---|---|---|
    /// | `ANTHROPIC` | `https://api.anthropic.com/v1` | `/v1` |
    /// | `GEMINI` | `https://generativelanguage.googleapis.com/v1beta` | `/v1beta` |
    /// | `MISTRAL` | `https://api.mistral.ai/v1` | |
    /// | `OLLAMA` | `http://127.0.0.1:11434` | |
    /// | `OPENAI` | `https://api.openai.com/v1` | |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// # #[cfg(feature = "openai")]
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use tool_runtime::{Agent, Tools, providers::OpenAi};
    ///
    /// // Reads `OPENAI_MODEL`, `OPENAI_BASE_URL` and `OPENAI_API_KEY`.
    /// let agent = Agent::new(OpenAi::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        client_from(|name| std::env::var(name).ok())
    }
}

impl<C: Api> Client<C> {
    /// Creates a client for a model at `base_url` with a codec that has settings.
    ///
    /// For a codec with a default, [`new`](Self::new) is enough. The [`codec`](crate::codec) module
    /// has complete examples.
    pub fn with_codec(base_url: impl AsRef<str>, model: impl Into<String>, codec: C) -> Self {
        let (base_url, model) = (base_url.as_ref(), model.into());
        let mut connection = Connection::new(base_url);
        for (name, value) in C::HEADERS {
            connection.headers.set(*name, *value);
        }
        Self {
            url: connection.endpoint.display_url(&C::path(&model, false)),
            codec: codec.for_server(base_url),
            model,
            connection,
            max_calls: MAX_CALLS,
            context_tokens: None,
            embedding: EmbeddingSettings::default(),
        }
    }

    /// Describes the model for events and spans.
    pub(super) fn model_info(&self) -> ModelInfo {
        let mut info = ModelInfo::new(&self.model);
        let endpoint = &self.connection.endpoint;
        info.provider = provider_of(endpoint).or(C::PROVIDER).map(ToOwned::to_owned);
        info.context_tokens = self.context_tokens;
        match endpoint.host_and_port() {
            Some((host, port)) => info.server(host, port),
            None => info,
        }
    }

    /// Checks the address, the name of the model, the key and the transport.
    fn check_setup(&self) -> Result<(), ModelError> {
        let path = C::path(&self.model, false);
        self.connection.check(&self.model, &path, C::KEYED_HOSTS, C::key_header)
    }

    /// Returns whether the server is one of those that refuse every request without a key.
    fn requires_key(&self) -> bool {
        self.connection.endpoint.host_among(C::KEYED_HOSTS).is_some()
    }
}

impl<C> Client<C> {
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
