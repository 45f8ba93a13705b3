use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout};

use super::check::check;
use super::codec::Codec;
use super::endpoint::Endpoint;
use super::exchange::{Exchange, failed, late};
use super::retry::pause_before_next;
use super::secrets::Secrets;
use super::transport::{CONNECT, Headers, HttpReply, HttpRequest, Transport, Web};
use crate::models::history::sent;
use crate::models::{ChatModel, ChatReply, ChatRequest, Deltas, ModelError, WireNames};
use crate::schema::OrderedJson;

/// A model behind a provider's HTTP API. What is said of it here goes for all providers.
///
/// Requests that are refused because too many came or the provider is overloaded, and those that
/// never arrived, are sent again, twice unless set, when the provider wants them again or after a pause
/// that grows; but never once a stream has begun.
#[derive(Clone)]
pub struct Client<C> {
    codec: C,
    model: String,
    endpoint: Endpoint,
    transport: Carrier,
    key: Option<String>,
    headers: Headers,
    limit: Duration,
    first_byte: Option<Duration>,
    retries: u32,
}

#[derive(Clone)]
enum Carrier {
    /// Made when it is first needed, for to read the machine's certificates takes a while.
    Web {
        made: Arc<OnceLock<Web>>,
        connect: Duration,
    },
    Own(Arc<dyn Transport>),
}

impl<C: Codec> Client<C> {
    /// The model of this name at `base_url`, which is asked in these words.
    pub fn with_codec(base_url: &str, model: impl Into<String>, codec: C) -> Self {
        let endpoint = Endpoint::new(base_url);
        Self {
            codec,
            model: model.into(),
            transport: Carrier::Web { made: Arc::default(), connect: CONNECT },
            endpoint,
            key: None,
            headers: Headers::default(),
            limit: Duration::from_secs(120),
            first_byte: None,
            retries: 2,
        }
    }

    /// Sends this key with each request. It is never printed. Where it goes in the header `Authorization`, it
    /// takes the place of a user and a password in the address, and a [`header`](Self::header) of that name
    /// the place of either.
    ///
    /// A key read from a file or a variable often ends in a newline, which no header can carry: white
    /// space around it is left out.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        let key = key.as_ref().trim();
        self.key = (!key.is_empty()).then(|| key.to_owned());
        self
    }

    /// Sends this header with each request. Its value is never printed.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.set(name, value);
        self
    }

    /// How long a reply may take from the first attempt to its last byte; two minutes unless set.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How long a connection may take; ten seconds unless set. A [`transport`](Self::transport) of the
    /// program's own has its own limit.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        if let Carrier::Web { made, connect } = &mut self.transport {
            (*made, *connect) = (Arc::default(), limit);
        }
        self
    }

    /// How long each attempt may take until the provider begins to answer; unless set, as long as the
    /// whole reply. A model that is not streamed begins when it is done.
    #[must_use]
    pub fn first_byte_timeout(mut self, limit: Duration) -> Self {
        self.first_byte = Some(limit);
        self
    }

    /// How often a request is sent again; 0 for never.
    #[must_use]
    pub fn retries(mut self, most: u32) -> Self {
        self.retries = most;
        self
    }

    /// Sends requests by this instead of over the network as it is: by a
    /// [`Web`] with proxies or certificates of the program's own, a recording, a queue.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Carrier::Own(Arc::new(transport));
        self
    }

    /// Itself, if there is anything at all that could be asked.
    ///
    /// # Errors
    /// As those of [`check`](Self::check).
    pub fn checked(self) -> Result<Self, ModelError> {
        self.check()?;
        Ok(self)
    }

    /// Whether there is anything at all that could be asked.
    ///
    /// # Errors
    /// [`ModelError::Setup`]: no request could be sent from here.
    pub fn check(&self) -> Result<(), ModelError> {
        self.endpoint.check()?;
        match &self.transport {
            Carrier::Web { made, connect } => {
                let checked = self.web(made, *connect).check();
                checked.map(|_| ()).map_err(|error| failed(&self.shown_url(false), error))
            }
            Carrier::Own(_) => Ok(()),
        }
    }

    fn web<'w>(&self, made: &'w OnceLock<Web>, connect: Duration) -> &'w Web {
        made.get_or_init(|| Web::to(&self.endpoint, connect))
    }

    /// What is sent for this request.
    fn exchange(
        &self,
        request: ChatRequest<'_>,
        is_streamed: bool,
    ) -> Result<Exchange<'_, C>, ModelError> {
        check::<C>(&request)?;
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let names = WireNames::new(names, C::NAMES);
        let messages = sent(request.messages);
        let request = ChatRequest { messages: &messages, ..request };
        let url = self.endpoint.below(&C::path(&self.model, is_streamed), C::query(is_streamed))?;
        let mut body = self.codec.encode(&self.model, request, &names, is_streamed)?;
        if let Some(members) = body.as_object_mut() {
            add(members, request.options.extra.clone(), C::NESTED);
        }
        let mut sent = HttpRequest::new(url, OrderedJson(&body).to_string());
        if let Some(key) = &self.key {
            let (name, value) = C::key_header(key);
            sent.headers.set(name, value);
        }
        for (name, value) in self.headers.iter() {
            sent.headers.set(name, value);
        }
        let values = self.headers.iter().map(|(_, value)| value);
        Ok(Exchange {
            codec: &self.codec,
            names,
            secrets: Secrets::new(self.key.as_deref(), values, &sent.url),
            sent,
            url: self.shown_url(is_streamed),
            limit: self.limit,
        })
    }

    /// Does it as often as it may be tried, within the limit.
    async fn tried<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, ModelError>
    where
        F: Future<Output = Result<T, ModelError>>,
    {
        let (began, mut attempts) = (Instant::now(), 1);
        loop {
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let most = self.retries.saturating_add(1);
            let pause = pause_before_next(&error, attempts, most, fastrand::f64());
            // To wait for the end of the limit would only hide why.
            let left = self.limit.saturating_sub(began.elapsed());
            let Some(pause) = pause.filter(|pause| *pause < left) else { return Err(error) };
            sleep(pause).await;
            attempts += 1;
        }
    }

    /// Sends it and waits for a status of success and the first of what comes.
    async fn open(&self, exchange: &Exchange<'_, C>) -> Result<HttpReply, ModelError> {
        let sent = match &self.transport {
            Carrier::Web { made, connect } => self.web(made, *connect).send(&exchange.sent),
            Carrier::Own(own) => own.send(&exchange.sent),
        };
        let limit = self.first_byte.unwrap_or(self.limit);
        let begun = async {
            let mut reply = sent.await?;
            if (200..=299).contains(&reply.status) {
                reply.body = reply.body.begun().await?;
            }
            Ok(reply)
        };
        let reply = timeout(limit, begun).await.map_err(|_| late(&exchange.url, limit))?;
        let reply = reply.map_err(|error| failed(&exchange.url, error))?;
        match reply.status {
            200..=299 => Ok(reply),
            _ => Err(Box::new(exchange.refused(reply).await).into()),
        }
    }

    /// Without what may be a secret.
    fn shown_url(&self, is_streamed: bool) -> String {
        self.endpoint.shown(&C::path(&self.model, is_streamed))
    }
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<C: Codec> ChatModel for Client<C> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, false)?;
        let asked = self.tried(|| async { exchange.whole(self.open(&exchange).await?).await });
        let whole = timeout(self.limit, asked).await;
        whole.map_err(|_| late(&exchange.url, self.limit))??.read(&exchange)
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, true)?;
        let streamed = async {
            let reply = self.tried(|| self.open(&exchange)).await?;
            exchange.streamed(reply, deltas).await
        };
        timeout(self.limit, streamed).await.map_err(|_| late(&exchange.url, self.limit))?
    }
}

impl<C: Codec> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.shown_url(false))
            .field("model", &self.model)
            .field("codec", &self.codec)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Members take the place of those of their name; those within a nested one do.
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
