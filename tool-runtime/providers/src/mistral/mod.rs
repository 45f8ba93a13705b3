//! Mistral's chat completions.

mod decode;
mod embeddings;
mod encode;

use serde_json::Value;

use self::decode::MistralContent;
pub use self::embeddings::{MistralEmbedder, MistralEmbeddings};
use super::chat;
use super::client::Client;
use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::shared::Environment;
use tool_core::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use tool_core::schema::Dialect;

const OFFICIAL: &str = "https://api.mistral.ai/v1";

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
///
/// ```
/// use tool_runtime::providers::{Client, MistralChat, Mistral};
///
/// let model: Client<MistralChat> =
///     Mistral::new("https://api.mistral.ai/v1", "mistral-medium-latest");
/// assert!(format!("{model:?}").contains("api.mistral.ai"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MistralChat;

impl Codec for MistralChat {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Sse;
    const KEYED_HOSTS: &'static [&'static str] = &["api.mistral.ai"];

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

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        chat::reply::<MistralContent>(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        chat::Assembler::<MistralContent>::new(names)
    }
}

impl Client<MistralChat> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Most servers need the `/v1`, as in
    /// `https://api.mistral.ai/v1`.
    ///
    /// ```
    /// use tool_runtime::{Agent, Tools, providers::Mistral};
    ///
    /// let base_url = "https://api.mistral.ai/v1";
    /// let model = Mistral::new(base_url, "mistral-medium-latest").key("secret");
    /// let agent = Agent::new(model, Tools::new());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, MistralChat)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `MISTRAL_MODEL` | name of the model | required |
    /// | `MISTRAL_BASE_URL` | base URL | Mistral's API |
    /// | `MISTRAL_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::{Agent, Tools, providers::Mistral};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // Reads `MISTRAL_MODEL` and the other variables above.
    /// let agent = Agent::new(Mistral::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("MISTRAL")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).optional_key(found.key).checked()
    }
}
