//! Mistral's chat completions.

mod decode;
mod encode;

use serde_json::Value;

use self::decode::Spoken;
use super::chat;
use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use crate::schema::Dialect;

const OFFICIAL: &str = "https://api.mistral.ai/v1";

/// A model behind Mistral's chat-completions API. What only Mistral knows goes along as more members
/// of the request:
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

/// How Mistral's chat completions are spelled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MistralChat;

impl Codec for MistralChat {
    const NAMES: NameRules = NameRules::OPENAI;
    const STRICT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Events;

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["chat", "completions"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError> {
        Ok(encode::request(model, request, names, is_streamed))
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        chat::reply::<Spoken>(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        chat::Assembler::<Spoken>::new(names)
    }
}

impl Client<MistralChat> {
    /// The model of this name behind `base_url`, such as `https://api.mistral.ai/v1`; without a key.
    ///
    /// The address is used as it is: most servers want the `/v1`.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, MistralChat)
    }

    /// The model that the environment names: `MISTRAL_MODEL` at `MISTRAL_BASE_URL` (Mistral's own
    /// unless set) with the key `MISTRAL_API_KEY`, which only Mistral's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("MISTRAL")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).key(found.key).checked()
    }
}
