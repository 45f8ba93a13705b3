//! Client of a chat API.

use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::client::Client;
use crate::client::chat_exchange::ChatExchange;
use crate::client::check::check_request;
use crate::client::extra_options::add_extra;
use crate::client::paused_reply::{is_paused, joined, text_len};
use crate::client::rejected_output::{called_reply, emitted_reply, rejected_parts};
use crate::codec::Codec;
use crate::connection::exchange::timeout_error;
use crate::shared::shifted;
use tool_core::__workspace::BoxFuture;
use tool_core::models::{DeltaSink, ModelInfo, WireNames, repaired_messages};
use tool_core::{AssistantPart, ChatModel, ChatReply, ChatRequest, Delta, ModelError};

impl<C: Codec> Client<C> {
    /// Sets the maximum number of calls in a reply. Default: 10,000.
    ///
    /// A reply with more calls is an error, and the rest of a stream is not read. This protects the
    /// program from a server that never ends. A reply below this limit is decoded as a whole;
    /// [`Limits::max_calls_per_reply`](tool_core::agent::Limits::max_calls_per_reply) then decides
    /// how many of its calls run, and the model reads that the others did not. Set that limit to
    /// bound the work of a run.
    #[must_use]
    pub fn max_calls_per_reply(mut self, limit: u32) -> Self {
        self.max_calls = limit;
        self
    }

    /// Sets the size of the model's context in tokens, which the events of its replies name.
    /// Default: unknown.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    /// Validates and encodes a request.
    fn exchange(
        &self,
        request: ChatRequest<'_>,
        is_streamed: bool,
    ) -> Result<ChatExchange<'_, C>, ModelError> {
        let exchange = self.continuation(request, &[], is_streamed)?;
        exchange.ok_or_else(|| ModelError::Setup("the request continues no reply".into()))
    }

    /// Encodes the request that continues these paused replies; returns `None` if the API can't
    /// continue them. Without replies, this is the first request.
    fn continuation(
        &self,
        request: ChatRequest<'_>,
        paused: &[ChatReply],
        is_streamed: bool,
    ) -> Result<Option<ChatExchange<'_, C>>, ModelError> {
        check_request::<C>(&request)?;
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let names = WireNames::new(names, C::NAME_RULES);
        let messages = repaired_messages(request.messages);
        let request = request.with_messages(&messages);
        let (path, query) = (C::path(&self.model, is_streamed), C::query(is_streamed));
        let mut body = self.codec.encode(&self.model, request, &names, is_streamed)?;
        if let Some(members) = body.as_object_mut() {
            add_extra(members, &request.options.extra, C::NESTED_OPTIONS)?;
        }
        let warnings = self.fit(&mut body)?;
        if !paused.iter().all(|reply| self.codec.resume(&mut body, reply, &names)) {
            return Ok(None);
        }
        Ok(Some(ChatExchange {
            codec: &self.codec,
            names: Arc::new(names),
            http: self.connection.exchange(&path, query, &body, C::key_header)?,
            max_calls: usize::try_from(self.max_calls).unwrap_or(usize::MAX),
            warnings,
        }))
    }

    /// Fits a body to what the model accepts. Returns a warning for each option that is left out.
    fn fit(&self, body: &mut Value) -> Result<Vec<String>, ModelError> {
        let names = |body: &Value| -> Vec<String> {
            body.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
        };
        let before = names(body);
        self.codec.fit(&self.model, body)?;
        let left_out = before.into_iter().filter(|name| body.get(name).is_none());
        let model = &self.model;
        let warning = |name| format!("unsupported by model `{model}`: `{name}`, which is left out");
        Ok(left_out.map(warning).collect())
    }

    /// Returns the exchange that continues a reply which the provider has paused, or else the whole
    /// reply.
    fn after_reply(
        &self,
        request: ChatRequest<'_>,
        paused: &mut Vec<ChatReply>,
        reply: ChatReply,
        is_streamed: bool,
    ) -> Result<ControlFlow<ChatReply, ChatExchange<'_, C>>, ModelError> {
        let is_paused = is_paused(&reply) && paused.len() < C::MAX_CONTINUATIONS as usize;
        paused.push(reply);
        let next = if is_paused { self.continuation(request, paused, is_streamed)? } else { None };
        Ok(match next {
            Some(exchange) => ControlFlow::Continue(exchange),
            None => ControlFlow::Break(joined(mem::take(paused))),
        })
    }

    /// Runs attempts until one has a reply, or until the retries are used up. An attempt that
    /// failed after the response began is repeated only if the provider reported its failure before
    /// it sent a piece of the reply.
    ///
    /// Sources and files are emitted when the codec knows them, or else at the end. The ranges of
    /// sources are those in the text of the turn, of which `known_len` bytes were received before.
    async fn streamed_reply(
        &self,
        request: ChatRequest<'_>,
        exchange: &ChatExchange<'_, C>,
        known_len: usize,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let (start, mut attempts) = (Instant::now(), 1);
        loop {
            let error = match self.connection.open(&exchange.http).await {
                Ok(response) => {
                    let (mut has_emitted, mut text, mut sources) = (false, String::new(), 0);
                    let mut files = 0;
                    let mut emit = |delta: Delta<'_>| {
                        has_emitted = true;
                        if let Delta::Text(more) = delta {
                            text.push_str(more);
                        }
                        if let Delta::Source(source) = delta {
                            sources += 1;
                            return deltas(Delta::Source(&shifted(source, known_len)));
                        }
                        files += usize::from(matches!(delta, Delta::File(_)));
                        deltas(delta);
                    };
                    match exchange.read_stream(response, &mut emit).await {
                        Err(ModelError::Api(error)) if error.rejected_output.is_some() => {
                            let parts = rejected_parts(error, request, &exchange.names)?;
                            return Ok(emitted_reply(text, parts, deltas));
                        }
                        Err(error @ ModelError::Api(_)) if !has_emitted => error,
                        outcome => {
                            for part in outcome.iter().flat_map(|reply| &reply.parts) {
                                match part {
                                    AssistantPart::Source(_) if sources > 0 => sources -= 1,
                                    AssistantPart::Source(source) => {
                                        deltas(Delta::Source(&shifted(source, known_len)));
                                    }
                                    AssistantPart::File(_) if files > 0 => files -= 1,
                                    AssistantPart::File(file) => deltas(Delta::File(file)),
                                    _ => {}
                                }
                            }
                            return outcome;
                        }
                    }
                }
                Err(ModelError::Api(error)) if error.rejected_output.is_some() => {
                    let parts = rejected_parts(error, request, &exchange.names)?;
                    return Ok(emitted_reply(String::new(), parts, deltas));
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
        self.connection.require_key(C::KEYED_HOSTS, C::key_header)?;
        let mut exchange = self.exchange(request, false)?;
        let warnings = mem::take(&mut exchange.warnings);
        let mut paused = Vec::new();
        loop {
            let decode = |body| -> BoxFuture<'_, _> { Box::pin(exchange.decode(body)) };
            let reply = match self.connection.whole(&exchange.http, decode).await {
                Err(ModelError::Api(error)) if error.rejected_output.is_some() => {
                    called_reply(rejected_parts(error, request, &exchange.names)?)
                }
                outcome => outcome?,
            };
            match self.after_reply(request, &mut paused, reply, false)? {
                ControlFlow::Continue(next) => exchange = next,
                ControlFlow::Break(reply) => return Ok(reply.warnings(warnings)),
            }
        }
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.connection.require_key(C::KEYED_HOSTS, C::key_header)?;
        let mut exchange = self.exchange(request, true)?;
        let warnings = mem::take(&mut exchange.warnings);
        let limit = self.connection.timeout;
        let mut paused = Vec::new();
        loop {
            let known_len = text_len(&paused);
            let reply = self.streamed_reply(request, &exchange, known_len, deltas);
            let reply = timeout(limit, reply).await;
            let reply = reply.map_err(|_| timeout_error(&exchange.http.url, limit))??;
            match self.after_reply(request, &mut paused, reply, true)? {
                ControlFlow::Continue(next) => exchange = next,
                ControlFlow::Break(reply) => return Ok(reply.warnings(warnings)),
            }
        }
    }

    fn info(&self) -> ModelInfo {
        self.model_info()
    }

    /// Checks the setup without a request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed, if the name of the model or the key is
    /// empty or contains a line break, if the provider requires a key and none is set, or if this
    /// machine cannot send requests. A [`transport`](Client::transport) of your own may add a key
    /// that is not set.
    fn check(&self) -> Result<(), ModelError> {
        self.check_setup()
    }

    /// Checks that the request can be encoded for this provider.
    ///
    /// # Errors
    /// Returns [`ModelError::Setup`] for a schema in the dialect of another provider, for options
    /// that contradict each other, and for options that the model is known to refuse.
    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        self.exchange(request, false).map(drop)
    }
}
