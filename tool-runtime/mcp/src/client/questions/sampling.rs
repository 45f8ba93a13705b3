//! Requests of a server to a model of the program.

use std::fmt;
use std::sync::Arc;

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, Role, SamplingMessage,
    SamplingMessageContentBlock,
};
use tool_core::__workspace::{MediaKind, media_refusal};
use tool_core::agent::Prices;
use tool_core::message::{Audio, UsedModel, strip_invisible};
use tool_core::models::ModelInfo;
use tool_core::{
    ChatModel, ChatOptions, ChatRequest, ContentPart, EffectRecord, FinishReason, Image, Message,
    ToolContext, Usage,
};

/// Lets a server use a model of the program, within limits.
///
/// The tokens count towards the token limit of the run whose call the server answers. A request
/// that would exceed the limit is refused, and a reply is at most as long as the remaining tokens.
/// If the model reports no usage, four bytes count as one token. Of a request that the server
/// abandons, the prompt counts. A request outside of a call is refused, and so is a request with
/// tools.
///
/// The cost counts towards the [cost limit](tool_core::agent::Limits::max_cost) of the run, at the
/// [prices](Self::prices) of the model or else at those of the run. The server receives the
/// [name](ChatModel::info) of the model, or `unknown`.
///
/// ```
/// use tool_runtime::ScriptedModel;
/// use tool_runtime::mcp::{McpClient, Sampling};
///
/// let model = ScriptedModel::default();
/// let client = McpClient::stdio("my-server").sampling(Sampling::new(model).max_requests(3));
/// # let _ = client;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Sampling {
    model: Arc<dyn ChatModel>,
    max_requests: u32,
    max_tokens: u32,
    max_prompt_bytes: usize,
    prices: Option<Prices>,
}

/// The name of a model that reports none.
const UNKNOWN_MODEL: &str = "unknown";

impl Sampling {
    /// Lets a server use this model: 5 requests for each call, each with a prompt of at most 64 KiB
    /// and a reply of at most 4,096 tokens.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        let (model, max_prompt_bytes) = (Arc::new(model), 64 << 10);
        Self { model, max_requests: 5, max_tokens: 4_096, max_prompt_bytes, prices: None }
    }

    /// Sets the maximum number of requests for each call.
    pub fn max_requests(mut self, count: u32) -> Self {
        self.max_requests = count;
        self
    }

    /// Sets the maximum number of tokens of a reply.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets the maximum size of a prompt: its texts, and its images and audio as base64.
    pub fn max_prompt_bytes(mut self, bytes: usize) -> Self {
        self.max_prompt_bytes = bytes;
        self
    }

    /// Sets the prices of the model, in the currency of the run's prices. Default: those of the
    /// run.
    ///
    /// Before a request, its cost is estimated at the prices of the run. If the model is more
    /// expensive, the last request can exceed the cost limit of the run.
    ///
    /// ```
    /// use tool_runtime::ScriptedModel;
    /// use tool_runtime::agent::Prices;
    /// use tool_runtime::mcp::Sampling;
    ///
    /// let prices = Prices { input: 0.1, cached: 0.01, output: 0.4 };
    /// let sampling = Sampling::new(ScriptedModel::default()).prices(prices);
    /// # let _ = sampling;
    /// ```
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }

    /// Returns the record of the tokens of a request, with their cost if the prices are known.
    fn spent(&self, usage: Usage) -> EffectRecord {
        let cost = self.prices.map(|prices| prices.cost_of(&usage));
        let ModelInfo { provider, name, .. } = self.model.info();
        let mut model = UsedModel::default();
        (model.provider, model.model) = (provider, name);
        let model = (model != UsedModel::default()).then(|| Box::new(model));
        EffectRecord::TokensSpent { usage, cost, model }
    }

    /// Answers a request of a server for a call, which has made `earlier` requests.
    pub(crate) async fn answer(
        &self,
        params: CreateMessageRequestParams,
        earlier: u32,
        ctx: &ToolContext,
    ) -> Result<CreateMessageResult, ErrorData> {
        if earlier >= self.max_requests {
            let limit = self.max_requests;
            return Err(refused(format!("sampling limit of {limit} requests exceeded")));
        }
        if params.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return Err(refused("sampling with tools is not supported".into()));
        }
        let mut messages = Vec::new();
        let mut bytes = params.system_prompt.as_ref().map_or(0, String::len);
        if let Some(prompt) = &params.system_prompt {
            messages.push(Message::system(strip_invisible(prompt)));
        }
        for message in params.messages {
            messages.push(chat_message(message, &mut bytes)?);
        }
        if bytes > self.max_prompt_bytes {
            let limit = self.max_prompt_bytes;
            return Err(refused(format!("prompt limit of {limit} bytes exceeded: {bytes}")));
        }
        let input = tokens(bytes);
        let max_tokens = params.max_tokens.min(self.max_tokens);
        let reservation = ctx.reserve_tokens(input, max_tokens.into());
        let reservation = reservation.map_err(|_| refused("token budget exceeded".into()))?;
        let max_tokens = u32::try_from(reservation.max_output()).unwrap_or(max_tokens);
        let mut options = ChatOptions::default().max_tokens(max_tokens);
        options.temperature = params.temperature.map(f64::from);
        // The server does not know the model. What it can't have is left out.
        if self.model.check_request(ChatRequest::new(&messages).options(&options)).is_err() {
            options.temperature = None;
        }
        let mut charge = Charge { sampling: self, ctx, input, is_due: true };
        let reply = self.model.reply(ChatRequest::new(&messages).options(&options)).await;
        charge.is_due = false;
        let reply = reply.map_err(|_| refused("the model is not available".into()))?;
        let text = reply.to_text();
        let usage = reply.usage.unwrap_or_else(|| Usage::new(input, tokens(text.len())));
        ctx.record(self.spent(usage));
        drop(reservation);
        let text = SamplingMessageContentBlock::text(text);
        let name = self.model.info().name.unwrap_or_else(|| UNKNOWN_MODEL.to_owned());
        let message = SamplingMessage::new(Role::Assistant, text);
        let mut result = CreateMessageResult::new(message, name);
        result.stop_reason = Some(match reply.finish_reason {
            FinishReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN.to_owned(),
            _ => CreateMessageResult::STOP_REASON_END_TURN.to_owned(),
        });
        Ok(result)
    }
}

/// Counts the prompt of a request that is abandoned, such as when the server has answered the call.
struct Charge<'c> {
    sampling: &'c Sampling,
    ctx: &'c ToolContext,
    input: u64,
    is_due: bool,
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        if self.is_due {
            let usage = Usage::new(self.input, 0);
            self.ctx.record(self.sampling.spent(usage));
        }
    }
}

/// Estimates the tokens of a text: four bytes are one token.
fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / 4).unwrap_or(u64::MAX)
}

/// Converts a message, and adds its size to `bytes`.
fn chat_message(message: SamplingMessage, bytes: &mut usize) -> Result<Message, ErrorData> {
    let mut parts = Vec::new();
    for block in message.content.into_vec() {
        parts.push(match block {
            SamplingMessageContentBlock::Text(text) => {
                *bytes += text.text.len();
                ContentPart::text(strip_invisible(&text.text))
            }
            SamplingMessageContentBlock::Image(image) => {
                *bytes += image.data.len();
                checked(MediaKind::Image, "image", &image.mime_type, &image.data)?;
                Image { media_type: image.mime_type, base64: image.data }.into()
            }
            SamplingMessageContentBlock::Audio(audio) => {
                *bytes += audio.data.len();
                checked(MediaKind::Audio, "audio", &audio.mime_type, &audio.data)?;
                Audio::new(audio.mime_type, audio.data).into()
            }
            _ => return Err(refused("sampling with tools is not supported".into())),
        });
    }
    Ok(match message.role {
        Role::Assistant => {
            let text: Vec<_> = parts.iter().map(|part| part.plain_text().into_owned()).collect();
            Message::assistant(text.join("\n"))
        }
        _ => Message::User { id: None, parts },
    })
}

/// Refuses data that the model can't read.
fn checked(kind: MediaKind, name: &str, media_type: &str, base64: &str) -> Result<(), ErrorData> {
    match media_refusal(kind, media_type, base64) {
        Some(reason) => Err(refused(format!("invalid {name} in the prompt: {reason}"))),
        None => Ok(()),
    }
}

fn refused(message: String) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling")
            .field("max_requests", &self.max_requests)
            .field("max_tokens", &self.max_tokens)
            .field("max_prompt_bytes", &self.max_prompt_bytes)
            .field("prices", &self.prices)
            .finish_non_exhaustive()
    }
}
