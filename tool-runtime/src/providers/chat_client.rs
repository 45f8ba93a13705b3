//! Client of a chat API.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::chat_exchange::ChatExchange;
use super::check::check_request;
use super::client::Client;
use super::codec::Codec;
use super::exchange::timeout_error;
use crate::guard::BoxFuture;
use crate::models::history::for_provider;
use crate::models::{ChatModel, ChatReply, ChatRequest, Delta, DeltaSink, ModelError, WireNames};

impl<C: Codec> Client<C> {
    /// Creates a client for a model at `base_url` with a codec of your own.
    ///
    /// The [`codec`](super::codec) module has a complete example.
    pub fn with_codec(base_url: &str, model: impl Into<String>, codec: C) -> Self {
        Self::at(base_url, model.into(), codec, |model| C::path(model, false))
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

    /// Validates and encodes a request.
    fn exchange(
        &self,
        request: ChatRequest<'_>,
        is_streamed: bool,
    ) -> Result<ChatExchange<'_, C>, ModelError> {
        check_request::<C>(&request)?;
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let names = WireNames::new(names, C::NAME_RULES);
        let messages = for_provider(request.messages);
        let request = ChatRequest { messages: &messages, ..request };
        let (path, query) = (C::path(&self.model, is_streamed), C::query(is_streamed));
        let mut body = self.codec.encode(&self.model, request, &names, is_streamed)?;
        if let Some(members) = body.as_object_mut() {
            add(members, request.options.extra.clone(), C::NESTED_OPTIONS);
        }
        Ok(ChatExchange {
            codec: &self.codec,
            names: Arc::new(names),
            http: self.connection.exchange(&path, query, &body, C::key_header)?,
            max_calls: usize::try_from(self.max_calls).unwrap_or(usize::MAX),
        })
    }

    /// Runs attempts until one has a reply, or until the retries are used up. An attempt that
    /// failed after the response began is repeated only if the provider reported its failure before
    /// it sent a piece of the reply.
    async fn streamed_reply(
        &self,
        exchange: &ChatExchange<'_, C>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let (start, mut attempts) = (Instant::now(), 1);
        loop {
            let error = match self.connection.open(&exchange.http).await {
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
            self.connection.pause_after(error, attempts, start).await?;
            attempts += 1;
        }
    }
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<C: Codec> ChatModel for Client<C> {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, false)?;
        let decode = |body| -> BoxFuture<'_, _> { Box::pin(exchange.decode(body)) };
        self.connection.whole(&exchange.http, decode).await
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let exchange = self.exchange(request, true)?;
        let limit = self.connection.timeout;
        let reply = timeout(limit, self.streamed_reply(&exchange, deltas)).await;
        reply.map_err(|_| timeout_error(&exchange.http.url, limit))?
    }

    fn name(&self) -> Option<&str> {
        Some(&self.model)
    }

    /// Checks the setup without a request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed, if the provider requires a key and none
    /// is set, or if this machine cannot send requests. The key is not checked with a
    /// [`transport`](Client::transport) of your own, which may add it.
    fn check(&self) -> Result<(), ModelError> {
        let path = C::path(&self.model, false);
        self.connection.check(&path, C::KEYED_HOSTS, C::key_header)
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
