//! Ollama's own API, `/api/chat`.

mod assemble;
mod decode;
mod embeddings;
mod encode;

use serde_json::Value;

pub use self::embeddings::{OllamaEmbed, OllamaEmbedder};
use super::client::Client;
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use tool_core::models::{NameRules, WireNames};
use tool_core::{ChatReply, ChatRequest, ModelError};

/// Client for Ollama, on this machine or elsewhere.
///
/// Without `num_ctx`, Ollama limits the context to a few thousand tokens and silently drops the
/// start of a longer conversation. Agents need more. Set it, and whether a model thinks, with extra
/// members of the request:
///
/// ```no_run
/// use tool_runtime::{ChatModel, ChatOptions, ChatRequest, Message, providers::Ollama};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Ollama::new("http://127.0.0.1:11434", "qwen3");
/// let more = serde_json::json!({ "num_ctx": 32_768, "seed": 7 });
/// let options = ChatOptions::default().extra("options", more).extra("think", true);
/// let messages = [Message::user("Hello!")];
/// let reply = model.reply(ChatRequest::new(&messages).options(&options)).await?;
/// # Ok(())
/// # }
/// ```
///
/// The API can neither require a tool call nor limit a reply to one call. A request that asks for
/// either fails with [`ModelError::Setup`].
pub type Ollama = Client<OllamaChat>;

/// Codec of Ollama's API; [`Ollama`] is the client that uses it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OllamaChat;

impl Api for OllamaChat {
    const ENV_PREFIX: &'static str = "OLLAMA";
    const BASE_URL: Option<&'static str> = Some("http://127.0.0.1:11434");
    const PROVIDER: Option<&'static str> = Some("ollama");
    const KEYED_HOSTS: &'static [&'static str] = &["ollama.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["api", "chat"]
    }
}

impl Codec for OllamaChat {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const FRAMING: Framing = Framing::Lines;
    const NESTED_OPTIONS: &'static [&'static str] = &["options"];

    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError> {
        encode::request(model, request, names, is_streamed)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        assemble::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        assemble::Assembler::new(names)
    }
}
