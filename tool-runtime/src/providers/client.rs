use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use super::codec::{Assemble, Codec, Framing, Unreadable, message_of};
use super::endpoint::Endpoint;
use super::frames::{Frames, TooLong};
use super::refusal::{kind, refusal};
use super::retry::pause_before_next;
use super::transport::{
    CONNECT, Headers, HttpBody, HttpReply, HttpRequest, Transport, TransportError, Web,
};
use crate::models::delta::tell;
use crate::models::history::answered;
use crate::models::{
    ChatModel, ChatReply, ChatRequest, Deltas, ModelError, Refusal, RefusalKind, WireNames,
};

/// How much of a body an error repeats, in characters.
const MOST_OF_BODY: usize = 2_000;

/// How many bytes of a reply are read: far more than a model ever writes.
const MOST_BYTES: usize = 32 << 20;

/// A model behind a provider's HTTP API. What is said of it here goes for all providers.
///
/// Requests that are refused because too many came or the provider is overloaded, and those that
/// never arrived, are sent again, twice unless set, when the provider wants them again or after a pause
/// that grows; but never once a stream has begun.
#[derive(Clone)]
pub struct Client<C> {
    pub(super) codec: C,
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

    /// Sends this key with each request. It is never printed.
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
                checked.map(|_| ()).map_err(|error| self.failed(error))
            }
            Carrier::Own(_) => Ok(()),
        }
    }

    fn web<'w>(&self, made: &'w OnceLock<Web>, connect: Duration) -> &'w Web {
        made.get_or_init(|| Web::to(&self.endpoint, connect))
    }

    fn sent(
        &self,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<HttpRequest, ModelError> {
        let messages = answered(request.messages);
        let request = ChatRequest { messages: &messages, ..request };
        let url = self.endpoint.below(&C::path(&self.model, is_streamed), C::query(is_streamed))?;
        let mut body = self.codec.encode(&self.model, request, names, is_streamed)?;
        if let Some(members) = body.as_object_mut() {
            add(members, request.options.extra.clone(), C::NESTED);
        }
        let mut sent = HttpRequest::new(url, body.to_string());
        if let Some(key) = &self.key {
            let (name, value) = C::key_header(key);
            sent.headers.set(name, value);
        }
        for (name, value) in self.headers.iter() {
            sent.headers.set(name, value);
        }
        Ok(sent)
    }

    /// Does it as often as it may be tried, within the limit.
    async fn tried<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, ModelError>
    where
        F: Future<Output = Result<T, ModelError>>,
    {
        let mut attempts = 1;
        loop {
            let error = match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let most = self.retries.saturating_add(1);
            let pause = pause_before_next(&error, attempts, most, fastrand::f64());
            let Some(pause) = pause else { return Err(error) };
            sleep(pause).await;
            attempts += 1;
        }
    }

    /// Sends it and waits for a status of success.
    async fn open(&self, request: &HttpRequest) -> Result<HttpReply, ModelError> {
        let sent = match &self.transport {
            Carrier::Web { made, connect } => self.web(made, *connect).send(request),
            Carrier::Own(own) => own.send(request),
        };
        let limit = self.first_byte.unwrap_or(self.limit);
        let reply = timeout(limit, sent).await.map_err(|_| self.late(limit))?;
        let reply = reply.map_err(|error| self.failed(error))?;
        match reply.status {
            200..=299 => Ok(reply),
            _ => Err(Box::new(self.refused(reply).await).into()),
        }
    }

    async fn whole(&self, mut body: HttpBody) -> Result<String, ModelError> {
        let mut bytes = Vec::new();
        while let Some(piece) = body.next().await.map_err(|error| self.failed(error))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MOST_BYTES {
                return Err(too_long(&bytes));
            }
        }
        text(bytes)
    }

    fn read(&self, body: &str, names: &WireNames) -> Result<ChatReply, ModelError> {
        self.codec.decode(body, names).map_err(|error| self.unreadable(error, body))
    }

    /// Some servers know no streams, and send the whole.
    async fn streamed(
        &self,
        reply: HttpReply,
        names: WireNames,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        let kind = reply.headers.get("content-type").unwrap_or_default();
        if C::FRAMING == Framing::Events && kind.starts_with("application/json") {
            let reply = self.read(&self.whole(reply.body).await?, &names)?;
            tell(&reply.parts, deltas);
            return Ok(reply);
        }
        let mut body = reply.body;
        let mut frames = Frames::new(C::FRAMING, MOST_BYTES);
        let mut assembler = self.codec.assembler(names);
        let mut came = 0;
        // For an error: what came before the first message, and the last message.
        let (mut start, mut last) = (Vec::new(), String::new());
        while let Some(piece) = body.next().await.map_err(|error| self.failed(error))? {
            came += piece.len();
            let whole = frames.feed(&piece).map_err(|TooLong| too_long(&piece))?;
            // Frames may each be short and never end.
            if came > 8 * MOST_BYTES {
                return Err(too_long(&piece));
            }
            if last.is_empty() && start.len() < MOST_OF_BODY {
                start.extend_from_slice(&piece);
            }
            for message in whole {
                last = text(message)?;
                let taken = assembler.take(&last, deltas);
                taken.map_err(|error| self.unreadable(error, &last))?;
            }
        }
        if let Some(message) = frames.end() {
            last = text(message)?;
            let taken = assembler.take(&last, deltas);
            taken.map_err(|error| self.unreadable(error, &last))?;
        }
        if last.is_empty() {
            last = String::from_utf8_lossy(&start).into_owned();
        }
        assembler.finish().map_err(|error| self.unreadable(error, &last))
    }

    /// The status says enough: of the body, what comes in time and fits is taken.
    async fn refused(&self, mut reply: HttpReply) -> Refusal {
        let mut bytes = Vec::new();
        if let Some(target) = reply.headers.get("location") {
            bytes.extend_from_slice(format!("it redirects to {target} ").as_bytes());
        }
        let start = bytes.len();
        while bytes.len() < 4 * MOST_OF_BODY
            && let Ok(Some(piece)) = reply.body.next().await
        {
            bytes.extend_from_slice(&piece);
        }
        let body = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        let shown = self.shown(&String::from_utf8_lossy(&bytes));
        refusal(self.endpoint_shown(), reply.status, &reply.headers, &body, shown)
    }

    fn unreadable(&self, error: Unreadable, body: &str) -> ModelError {
        let failure = match error {
            Unreadable::Malformed(reason) => {
                return ModelError::Malformed { reason, body: self.shown(body) };
            }
            Unreadable::Failed(failure) => failure,
        };
        match kind(200, &serde_json::json!({ "error": failure })) {
            RefusalKind::Other => {
                let reason = format!("it reports an error, {}", message_of(&failure));
                ModelError::Malformed { reason, body: self.shown(body) }
            }
            kind => {
                Box::new(Refusal::new(kind, self.endpoint_shown(), 200, self.shown(body))).into()
            }
        }
    }

    fn failed(&self, error: TransportError) -> ModelError {
        match error {
            TransportError::Setup(text) => ModelError::Setup(text),
            TransportError::Broken(source) => {
                ModelError::Unreachable { url: self.endpoint_shown(), source }
            }
            TransportError::Late { limit } => self.late(limit),
        }
    }

    fn late(&self, limit: Duration) -> ModelError {
        ModelError::Timeout { url: self.endpoint_shown(), limit }
    }

    fn endpoint_shown(&self) -> String {
        self.endpoint.shown(&C::path(&self.model, false))
    }

    /// The start of a body, for an error. Some servers quote the key that they don't know.
    fn shown(&self, body: &str) -> String {
        let secrets = self.key.iter().map(String::as_str);
        let secrets = secrets.chain(self.headers.iter().map(|(_, value)| value));
        let mut body = body.to_owned();
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            body = body.replace(secret, "…");
        }
        excerpt(&body)
    }
}

#[async_trait]
impl<C: Codec> ChatModel for Client<C> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let names = wire_names::<C>(request);
        let sent = self.sent(request, &names, false)?;
        let asked = self.tried(|| async { self.whole(self.open(&sent).await?.body).await });
        let body = timeout(self.limit, asked).await.map_err(|_| self.late(self.limit))??;
        self.read(&body, &names)
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        let names = wire_names::<C>(request);
        let sent = self.sent(request, &names, true)?;
        let streamed = async {
            let reply = self.tried(|| self.open(&sent)).await?;
            self.streamed(reply, names, deltas).await
        };
        timeout(self.limit, streamed).await.map_err(|_| self.late(self.limit))?
    }
}

impl<C: Codec> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.endpoint_shown())
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

fn wire_names<C: Codec>(request: ChatRequest<'_>) -> WireNames {
    WireNames::new(request.tools.iter().map(|tool| tool.name.as_str()), C::NAMES)
}

fn text(bytes: Vec<u8>) -> Result<String, ModelError> {
    String::from_utf8(bytes).map_err(|error| ModelError::Malformed {
        reason: "it is not UTF-8".into(),
        body: excerpt(&String::from_utf8_lossy(error.as_bytes())),
    })
}

fn too_long(bytes: &[u8]) -> ModelError {
    let reason = format!("it is longer than {MOST_BYTES} bytes");
    let start = bytes.get(..4 * MOST_OF_BODY).unwrap_or(bytes);
    ModelError::Malformed { reason, body: excerpt(&String::from_utf8_lossy(start)) }
}

/// The start of a text.
fn excerpt(body: &str) -> String {
    let body = body.trim();
    let mut text: String = body.chars().take(MOST_OF_BODY).collect();
    if text.len() < body.len() {
        text.push_str(" …");
    }
    text
}
