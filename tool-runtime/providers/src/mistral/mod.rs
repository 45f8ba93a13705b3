//! Mistral's chat completions.

mod decode;
mod embeddings;
mod encode;

use serde_json::Value;

use self::decode::MistralContent;
pub use self::embeddings::{MistralEmbedder, MistralEmbeddings};
use super::chat;
use super::client::Client;
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use tool_core::models::{NameRules, WireNames};
use tool_core::schema::Dialect;
use tool_core::{ChatReply, ChatRequest, ModelError};

/// Client for Mistral's chat completions.
///
/// Options that only Mistral has are sent as extra members of the request:
///
/// ```no_run
/// use tool_runtime::{ChatModel, ChatOptions, ChatRequest, Message, providers::Mistral};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Mistral::new("https://api.mistral.ai/v1", "mistral-medium-latest").key("…");
/// let options = ChatOptions::default().extra("reasoning_effort", "high").extra("random_seed", 7);
/// let messages = [Message::user("Hello!")];
/// let reply = model.reply(ChatRequest::new(&messages).options(&options)).await?;
/// # Ok(())
/// # }
/// ```
pub type Mistral = Client<MistralChat>;

/// Codec of Mistral's chat completions; [`Mistral`] is the client that uses it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MistralChat;

impl Api for MistralChat {
    const ENV_PREFIX: &'static str = "MISTRAL";
    const BASE_URL: Option<&'static str> = Some("https://api.mistral.ai/v1");
    const PROVIDER: Option<&'static str> = Some("mistral_ai");
    const KEYED_HOSTS: &'static [&'static str] = &["api.mistral.ai"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["chat", "completions"]
    }
}

impl Codec for MistralChat {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Sse;

    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError> {
        Ok(encode::request(model, request, names, is_streamed))
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        chat::reply::<MistralContent>(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        chat::Assembler::<MistralContent>::new(names)
    }
}
