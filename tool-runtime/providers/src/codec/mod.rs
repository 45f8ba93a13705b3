//! Codecs of model APIs: the conversion between requests and replies and the JSON of one provider.
//!
//! [`Client`](super::Client) drives a [`Codec`]; everything that does I/O is in the client and in
//! its [`Transport`](tool_http::Transport):
//!
//! 1. [`Codec::encode`] converts a [`ChatRequest`] into the JSON body of a request, the client adds
//!    the extra options, and [`Codec::fit`] compares the body with what the model accepts.
//! 2. The client adds the address ([`Api::path`], [`Codec::query`]) and the key
//!    ([`Api::key_header`]), sends the request and retries it when that is safe.
//! 3. A whole reply goes through [`Codec::decode`]. A streamed reply is split into messages as
//!    [`Codec::FRAMING`] says, and [`Assemble::push`] receives each of them.
//! 4. If the provider pauses a reply, [`Codec::resume`] encodes the request that continues it. The
//!    client joins the replies.
//! 5. The client turns a [`DecodeError`] into a [`ModelError`] that names the request and no
//!    secret.
//!
//! An API of embeddings has an [`EmbeddingCodec`], which the same client drives.
//!
//! The other items of this module help a codec with what is easy to get wrong: [`RawJson`] keeps
//! arguments as the model wrote them, [`arguments_text`] and [`arguments_object`] send arguments
//! back so that no provider refuses them, [`encode_parts`] and [`encode_result`] keep the order of
//! parts, and [`WireIds`] replaces call ids that a provider does not accept.
//!
//! # Examples
//! A codec for an API that takes `{"prompt": …}` and answers `{"text": …}`, or, when it streams,
//! with lines such as `{"delta": …}` that end with `{"done": true}`:
//!
//! ```
//! use serde_json::{Value, json};
//! use tool_runtime::models::{DeltaSink, NameRules, WireNames};
//! use tool_runtime::providers::Client;
//! use tool_runtime::providers::codec::{Api, Assemble, Codec, DecodeError, Framing};
//! use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, Message, ModelError};
//!
//! #[derive(Clone, Debug, Default)]
//! struct Prompts;
//!
//! impl Api for Prompts {
//!     const ENV_PREFIX: &'static str = "PROMPTS";
//!
//!     fn path(_model: &str, _is_streamed: bool) -> Vec<&str> {
//!         vec!["generate"]
//!     }
//! }
//!
//! impl Codec for Prompts {
//!     const NAME_RULES: NameRules = NameRules::OPENAI;
//!     const FRAMING: Framing = Framing::Lines;
//!
//!     fn encode(
//!         &self,
//!         model: &str,
//!         request: ChatRequest<'_>,
//!         _names: &WireNames,
//!         is_streamed: bool,
//!     ) -> Result<Value, ModelError> {
//!         let texts: Vec<_> = request.messages.iter().map(Message::text).collect();
//!         Ok(json!({ "model": model, "prompt": texts.join("\n"), "stream": is_streamed }))
//!     }
//!
//!     fn decode(&self, body: &str, _names: &WireNames) -> Result<ChatReply, DecodeError> {
//!         let body = object(body)?;
//!         let text = body["text"].as_str();
//!         Ok(ChatReply::text(text.ok_or_else(|| DecodeError::malformed("missing `text`"))?))
//!     }
//!
//!     fn assembler(&self, _names: WireNames) -> impl Assemble + use<> {
//!         Assembler::default()
//!     }
//! }
//!
//! fn object(json: &str) -> Result<Value, DecodeError> {
//!     serde_json::from_str(json).map_err(|error| DecodeError::malformed(error.to_string()))
//! }
//!
//! #[derive(Default)]
//! struct Assembler {
//!     text: String,
//!     is_done: bool,
//! }
//!
//! impl Assemble for Assembler {
//!     fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
//!         let message = object(message)?;
//!         if let Some(text) = message["delta"].as_str() {
//!             deltas(Delta::Text(text));
//!             self.text.push_str(text);
//!         }
//!         self.is_done |= message["done"] == true;
//!         Ok(())
//!     }
//!
//!     fn is_done(&self) -> bool {
//!         self.is_done
//!     }
//!
//!     fn finish(self) -> Result<ChatReply, DecodeError> {
//!         if self.is_done { Ok(ChatReply::text(self.text)) } else { Err(DecodeError::Incomplete) }
//!     }
//! }
//! # use tool_runtime::async_trait;
//! # use tool_runtime::http::{HttpBody, HttpRequest, HttpResponse, Transport, TransportError};
//! # struct Canned;
//! # #[async_trait]
//! # impl Transport for Canned {
//! #     async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
//! #         assert_eq!(request.url, "http://models.invalid/v1/generate");
//! #         let is_streamed = String::from_utf8_lossy(&request.body).contains("\"stream\":true");
//! #         let body = match is_streamed {
//! #             true => "{\"delta\": \"Hel\"}\n{\"delta\": \"lo!\"}\n{\"done\": true}\n",
//! #             false => r#"{"text": "Hello!"}"#,
//! #         };
//! #         Ok(HttpResponse::new(200, HttpBody::from(body)))
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ModelError> {
//! let model: Client<Prompts> = Client::new("http://models.invalid/v1", "m");
//! # let model = model.transport(Canned);
//! let messages = [Message::user("Hi")];
//! assert_eq!(model.reply(ChatRequest::new(&messages)).await?, ChatReply::text("Hello!"));
//! let streamed = model.stream(ChatRequest::new(&messages), &mut |_| {}).await?;
//! assert_eq!(streamed, ChatReply::text("Hello!"));
//! # Ok(())
//! # }
//! ```

mod api;
mod arguments;
mod content;
mod embedding;
mod ids;
mod raw_json;

use serde_json::Value;

pub use api::Api;
pub use arguments::{arguments_object, arguments_text};
pub use content::{encode_parts, encode_result};
pub use embedding::EmbeddingCodec;
pub use ids::{IdRules, WireIds};
pub use raw_json::RawJson;

use tool_core::models::{DeltaSink, NameRules, WireNames};
use tool_core::schema::Dialect;
use tool_core::{ChatReply, ChatRequest, ModelError};

/// Converts turns into the requests of one model API, and its replies into [`ChatReply`].
///
/// A codec is pure: it uses no network, no clock and no randomness. The [module
/// documentation](self) has the example of a complete codec. The codecs of the providers implement
/// the same trait:
///
/// ```
/// # #[cfg(feature = "anthropic")]
/// # {
/// use tool_runtime::providers::codec::{Codec, Framing};
/// use tool_runtime::providers::{Anthropic, Client};
///
/// fn framing<C: Codec>(_: &Client<C>) -> Framing {
///     C::FRAMING
/// }
///
/// assert_eq!(framing(&Anthropic::new("http://127.0.0.1:8080", "claude")), Framing::Sse);
/// # }
/// ```
pub trait Codec: Api {
    /// Rules of the API for the names of tools.
    const NAME_RULES: NameRules;

    /// Framing of the messages in a streamed reply.
    const FRAMING: Framing;

    /// Members of a request body that are objects which a program may extend.
    ///
    /// An [extra option](tool_core::ChatOptions::extra()) with one of these names is merged
    /// into the object. Any other extra option replaces the setting of its name. Default: none.
    const NESTED_OPTIONS: &'static [&'static str] = &[];

    /// The highest number of requests that continue a reply which the provider has paused. Default:
    /// 0, for an API that pauses no reply.
    const MAX_CONTINUATIONS: u32 = 0;

    /// Schema dialect of the strict mode of the API. Default: `None`, the API has no strict mode.
    const STRICT_DIALECT: Option<Dialect> = None;

    /// Returns the query parameters of a request. Default: none.
    fn query(_is_streamed: bool) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Encodes the body of a request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the API has no way to express the request.
    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError>;

    /// Fits a complete body, with its extra options, to what the model accepts. Default: no change.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the model would refuse an option.
    fn fit(&self, _model: &str, _body: &mut Value) -> Result<(), ModelError> {
        Ok(())
    }

    /// Changes the body of a request into one that continues a reply, and returns whether that is
    /// possible. `reply` ended with [`FinishReason::Paused`](tool_core::FinishReason::Paused).
    /// Default: false.
    ///
    /// If the provider pauses several times, the body that continued the first reply is changed
    /// into one that continues the second, and so on.
    fn resume(&self, _body: &mut Value, _reply: &ChatReply, _names: &WireNames) -> bool {
        false
    }

    /// Decodes the body of a reply that was not streamed.
    ///
    /// # Errors
    /// [`DecodeError`] if the body contains no reply.
    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError>;

    /// Returns the assembler for one streamed reply.
    ///
    /// It borrows nothing, because the client decodes large messages on another thread. An
    /// implementation returns `impl Assemble + use<>`.
    fn assembler(&self, names: WireNames) -> impl Assemble + 'static + use<Self>;
}

/// Framing of the messages in a streamed reply.
///
/// ```
/// # #[cfg(feature = "ollama")]
/// # {
/// use tool_runtime::providers::codec::{Codec, Framing};
/// use tool_runtime::providers::{Client, Ollama};
///
/// fn framing<C: Codec>(_: &Client<C>) -> Framing {
///     C::FRAMING
/// }
///
/// assert_eq!(framing(&Ollama::new("http://127.0.0.1:11434", "qwen3")), Framing::Lines);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events (HTML standard, section "Server-sent events"): the data of each event is
    /// one message.
    Sse,
    /// Lines: each line is one message.
    Lines,
}

/// Assembles a streamed reply from its messages.
///
/// The [module documentation](self) has an implementation for a complete codec. This one decodes a
/// stream whose messages are plain text:
///
/// ```
/// use tool_runtime::models::DeltaSink;
/// use tool_runtime::providers::codec::{Assemble, DecodeError};
/// use tool_runtime::{ChatReply, Delta};
///
/// #[derive(Default)]
/// struct PlainText(String);
///
/// impl Assemble for PlainText {
///     fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
///         deltas(Delta::Text(message));
///         self.0.push_str(message);
///         Ok(())
///     }
///
///     fn finish(self) -> Result<ChatReply, DecodeError> {
///         Ok(ChatReply::text(self.0))
///     }
/// }
///
/// let mut assembler = PlainText::default();
/// assembler.push("Hel", &mut |_| {})?;
/// assembler.push("lo!", &mut |_| {})?;
/// assert_eq!(assembler.finish()?, ChatReply::text("Hello!"));
/// # Ok::<(), DecodeError>(())
/// ```
pub trait Assemble: Send {
    /// Adds the next message of the stream and emits what it adds to the reply.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] if the message cannot be decoded, [`DecodeError::Reported`] if it
    /// reports an error.
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError>;

    /// Returns whether the stream has announced its end.
    ///
    /// The client then stops reading, because a server may keep the connection open for long. An
    /// API that announces no end keeps the default, `false`.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the whole reply, equal to the one that the API would have sent without streaming.
    ///
    /// # Errors
    /// [`DecodeError::Incomplete`] if the stream ended before the reply was complete.
    fn finish(self) -> Result<ChatReply, DecodeError>;
}

/// The reason why a body or a stream contains no reply.
///
/// ```
/// use tool_runtime::providers::codec::DecodeError;
///
/// let error = DecodeError::malformed("missing `text`");
/// assert_eq!(error.to_string(), "malformed reply: missing `text`");
/// ```
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The data does not follow the protocol of the provider, for this reason.
    #[error("malformed reply: {0}")]
    Malformed(String),
    /// The provider reported this error instead of a reply.
    #[error("provider reported an error: {0}")]
    Reported(Value),
    /// The stream ended before the reply was complete.
    #[error("incomplete reply: the stream ended early")]
    Incomplete,
}

impl DecodeError {
    /// Creates a [`Malformed`](Self::Malformed) error with this reason.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}
