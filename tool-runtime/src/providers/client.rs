//! Client of a model API, generic over the codec.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout};

use super::check::check_request;
use super::codec::Codec;
use super::endpoint::Endpoint;
use super::exchange::{HttpExchange, timeout_error, transport_error};
use super::retry::pause_before_next;
use super::secrets::Secrets;
use crate::http::{
    CONNECT_TIMEOUT, Headers, HttpRequest, HttpResponse, ReqwestTransport, Transport,
};
use crate::models::history::for_provider;
use crate::models::{ChatModel, ChatReply, ChatRequest, Delta, DeltaSink, ModelError, WireNames};
use crate::schema::OrderedJson;

/// Client for a model behind an HTTP API; the type parameter is the codec of the API.
///
/// `OpenAi`, `Anthropic` and the other clients of [providers](super) are aliases of this type, so
/// these methods apply to all of them.
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
    codec: C,
    model: String,
    endpoint: Endpoint,
    transport: ClientTransport,
    key: Option<String>,
    headers: Headers,
    timeout: Duration,
    first_byte_timeout: Option<Duration>,
    max_retries: u32,
    max_calls: u32,
}

/// The default limit of calls in a reply. With the fewest tokens that a call takes, no model has an
/// output limit that allows as many.
const MAX_CALLS: u32 = 10_000;

#[derive(Clone)]
enum ClientTransport {
    /// Created when it is first needed, because loading the certificates of the machine takes a
    /// while.
    Default {
        transport: Arc<OnceLock<ReqwestTransport>>,
        connect_timeout: Duration,
    },
    Custom(Arc<dyn Transport>),
}

impl<C: Codec> Client<C> {
    /// Creates a client for a model at `base_url` with a codec of your own.
    ///
    /// The [`codec`](super::codec) module has a complete example.
    pub fn with_codec(base_url: &str, model: impl Into<String>, codec: C) -> Self {
        let endpoint = Endpoint::new(base_url);
        Self {
            codec,
            model: model.into(),
            transport: ClientTransport::Default {
                transport: Arc::default(),
                connect_timeout: CONNECT_TIMEOUT,
            },
            endpoint,
            key: None,
            headers: Headers::default(),
            timeout: Duration::from_secs(120),
            first_byte_timeout: None,
            max_retries: 2,
            max_calls: MAX_CALLS,
        }
    }

    /// Sets the key that is sent with each request. White space around it is removed: a key from a
    /// file or a variable often ends with a newline, which no header can carry. The key is never
    /// printed.
    ///
    /// If the key is sent in the header `Authorization`, it replaces a user and a password in the
    /// URL. A [`header`](Self::header) of that name replaces both. Default: no key.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        let key = key.as_ref().trim();
        self.key = (!key.is_empty()).then(|| key.to_owned());
        self
    }

    /// Sets a header that is sent with each request. The value is never printed.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.set(name, value);
        self
    }

    /// Sets the time limit for a reply, from the first attempt to the last byte. Default: two
    /// minutes.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Sets the time limit for establishing a connection. A [`transport`](Self::transport) of your
    /// own has its own limit. Default: ten seconds.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        if let ClientTransport::Default { transport, connect_timeout } = &mut self.transport {
            (*transport, *connect_timeout) = (Arc::default(), limit);
        }
        self
    }

    /// Sets the time limit of each attempt until the provider starts to answer. A reply that is not
    /// streamed starts when it is complete. Default: the limit of the whole reply.
    #[must_use]
    pub fn first_byte_timeout(mut self, limit: Duration) -> Self {
        self.first_byte_timeout = Some(limit);
        self
    }

    /// Sets how often a request is retried; 0 disables retries. Default: 2.
    #[must_use]
    pub fn max_retries(mut self, max_retries: u32) -> Self {
        self.max_retries = max_retries;
        self
    }

    /// Sets the maximum number of calls in a reply. Default: 10,000.
    ///
    /// A reply with more calls is an error, and the rest of a stream is not read. This protects the
    /// program from a server that never ends. A reply below this limit is decoded as a whole;
    /// [`Limits::calls_per_reply`](crate::agent::Limits::calls_per_reply) then decides how many of
    /// its calls run, and the model reads that the others did not. Set that limit to bound the work
    /// of a run.
    #[must_use]
    pub fn max_calls_per_reply(mut self, limit: u32) -> Self {
        self.max_calls = limit;
        self
    }

    /// Sets the transport that sends the requests: a [`ReqwestTransport`] with your own proxies or
    /// certificates, a `Cassette`, or an implementation of your own.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = ClientTransport::Custom(Arc::new(transport));
        self
    }

    /// Returns the client if [`check`](ChatModel::check) succeeds.
    #[cfg(any(
        feature = "anthropic",
        feature = "gemini",
        feature = "mistral",
        feature = "ollama",
        feature = "openai"
    ))]
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        self.check()?;
        Ok(self)
    }

    /// Checks that there is a key if the server requires one.
    fn check_key(&self) -> Result<(), ModelError> {
        let Some(host) = self.endpoint.host_among(C::KEYED_HOSTS) else { return Ok(()) };
        let (header, _) = C::key_header("");
        let has_key = self.key.is_some()
            || self.headers.get(header).is_some()
            || self.endpoint.may_have_credentials();
        if has_key {
            return Ok(());
        }
        Err(ModelError::Setup(format!("missing API key for {host}: set it with `key`")))
    }

    fn network<'t>(
        &self,
        transport: &'t OnceLock<ReqwestTransport>,
        connect_timeout: Duration,
    ) -> &'t ReqwestTransport {
        transport.get_or_init(|| {
            let (is_local, has_tls) = (self.endpoint.is_local(), !self.endpoint.is_plain());
            ReqwestTransport::for_server(is_local, has_tls, connect_timeout)
        })
    }

    /// Validates and encodes a request.
    fn exchange(
        &self,
        request: ChatRequest<'_>,
        is_streamed: bool,
    ) -> Result<HttpExchange<'_, C>, ModelError> {
        check_request::<C>(&request)?;
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let names = WireNames::new(names, C::NAME_RULES);
        let messages = for_provider(request.messages);
        let request = ChatRequest { messages: &messages, ..request };
        let url = self.endpoint.below(&C::path(&self.model, is_streamed), C::query(is_streamed))?;
        let mut body = self.codec.encode(&self.model, request, &names, is_streamed)?;
        if let Some(members) = body.as_object_mut() {
            add(members, request.options.extra.clone(), C::NESTED_OPTIONS);
        }
        let mut request = HttpRequest::post(url, OrderedJson(&body).to_string())
            .header("content-type", "application/json");
        if let Some(key) = &self.key {
            let (name, value) = C::key_header(key);
            request.headers.set(name, value);
        }
        for (name, value) in self.headers.iter() {
            request.headers.set(name, value);
        }
        let values = self.headers.iter().map(|(_, value)| value);
        Ok(HttpExchange {
            codec: &self.codec,
            names,
            secrets: Secrets::new(self.key.as_deref(), values, &request.url),
            request,
            url: self.display_url(is_streamed),
            limit: self.timeout,
            max_calls: usize::try_from(self.max_calls).unwrap_or(usize::MAX),
        })
    }

    /// Waits for the time of the next attempt.
    ///
    /// # Errors
    /// Returns `error`, with which the last of `attempts` failed, if there is no other attempt.
    async fn pause_after(
        &self,
        error: ModelError,
        attempts: u32,
        start: Instant,
    ) -> Result<(), ModelError> {
        let max_attempts = self.max_retries.saturating_add(1);
        let pause = pause_before_next(&error, attempts, max_attempts, fastrand::f64());
        // Waiting for the end of the limit would only hide the reason.
        let left = self.timeout.saturating_sub(start.elapsed());
        let Some(pause) = pause.filter(|pause| *pause < left) else { return Err(error) };
        sleep(pause).await;
        Ok(())
    }

    /// Runs attempts until one has a reply, or until the retries are used up.
    async fn whole_reply(&self, exchange: &HttpExchange<'_, C>) -> Result<ChatReply, ModelError> {
        let (start, mut attempts) = (Instant::now(), 1);
        loop {
            let attempt = async {
                let response = self.open(exchange).await?;
                exchange.read_body(response).await?.decode(exchange)
            };
            match attempt.await {
                Ok(reply) => return Ok(reply),
                Err(error) => self.pause_after(error, attempts, start).await?,
            }
            attempts += 1;
        }
    }

    /// Runs attempts until one has a reply, or until the retries are used up. An attempt that
    /// failed after the response began is repeated only if the provider reported its failure before
    /// it sent a piece of the reply.
    async fn streamed_reply(
        &self,
        exchange: &HttpExchange<'_, C>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let (start, mut attempts) = (Instant::now(), 1);
        loop {
            let error = match self.open(exchange).await {
                Ok(response) => {
                    let mut has_emitted = false;
                    let mut emit = |delta: Delta<'_>| {
                        has_emitted = true;
                        deltas(delta);
                    };
                    match exchange.read_stream(response, &mut emit).await {
                        Err(error @ ModelError::Api(_)) if !has_emitted => error,
                        outcome => return outcome,
                    }
                }
                Err(error) => error,
            };
            self.pause_after(error, attempts, start).await?;
            attempts += 1;
        }
    }

    /// Sends the request and waits for a success status and the first chunk of the body.
    async fn open(&self, exchange: &HttpExchange<'_, C>) -> Result<HttpResponse, ModelError> {
        let pending = match &self.transport {
            ClientTransport::Default { transport, connect_timeout } => {
                self.network(transport, *connect_timeout).send(&exchange.request)
            }
            ClientTransport::Custom(transport) => transport.send(&exchange.request),
        };
        let limit = self.first_byte_timeout.unwrap_or(self.timeout);
        let started = async {
            let mut response = pending.await?;
            if (200..=299).contains(&response.status) {
                response.body = response.body.with_first_chunk().await?;
            }
            Ok(response)
        };
        let response =
            timeout(limit, started).await.map_err(|_| timeout_error(&exchange.url, limit))?;
        let response = response.map_err(|error| transport_error(&exchange.url, error))?;
        match response.status {
            200..=299 => Ok(response),
            _ => Err(Box::new(exchange.read_error(response).await).into()),
        }
    }

    /// Returns the URL of a request without anything that may be secret.
    fn display_url(&self, is_streamed: bool) -> String {
        self.endpoint.display_url(&C::path(&self.model, is_streamed))
    }
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<C: Codec> ChatModel for Client<C> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, false)?;
        let reply = timeout(self.timeout, self.whole_reply(&exchange)).await;
        reply.map_err(|_| timeout_error(&exchange.url, self.timeout))?
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, true)?;
        let reply = timeout(self.timeout, self.streamed_reply(&exchange, deltas)).await;
        reply.map_err(|_| timeout_error(&exchange.url, self.timeout))?
    }

    /// Checks the setup without a request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed, if the provider requires a key and none
    /// is set, or if this machine cannot send requests. The key is not checked with a
    /// [`transport`](Client::transport) of your own, which may add it.
    fn check(&self) -> Result<(), ModelError> {
        self.endpoint.check()?;
        match &self.transport {
            ClientTransport::Default { transport, connect_timeout } => {
                self.check_key()?;
                let checked = self.network(transport, *connect_timeout).check();
                checked
                    .map(|_| ())
                    .map_err(|error| transport_error(&self.display_url(false), error))
            }
            ClientTransport::Custom(_) => Ok(()),
        }
    }

    /// Checks that the request can be encoded for this provider.
    ///
    /// # Errors
    /// Returns [`ModelError::Setup`] for a schema in the dialect of another provider, and for
    /// options that contradict each other.
    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.exchange(request, false).map(drop)
    }
}

impl<C: Codec> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.display_url(false))
            .field("model", &self.model)
            .field("codec", &self.codec)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Adds extra options to a body. An option replaces the member of its name; one that a codec names
/// as nested is merged into it.
fn add(members: &mut Map<String, Value>, extra: Map<String, Value>, nested: &[&str]) {
    for (name, value) in extra {
        match (members.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more))
                if nested.contains(&name.as_str()) =>
            {
                known.extend(more);
            }
            (_, value) => _ = members.insert(name, value),
        }
    }
}
