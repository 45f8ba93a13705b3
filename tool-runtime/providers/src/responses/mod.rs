//! OpenAI's Responses API, and every server that implements it.
//!
//! A conversation is a list of items, in which a call and the reasoning of the model are items of
//! their own. The framework stores the conversation itself, so nothing is stored by the provider
//! (`store` is false) and reasoning comes encrypted, to be sent back. Set the extra options `store`
//! and `include` to change this.

mod assemble;
mod decode;
mod encode;
mod items;
mod streamed_item;

use serde_json::Value;

use super::client::Client;
use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::model_table::check_options;
use super::openai::{OFFICIAL, is_official};
use super::shared::Environment;
use tool_core::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use tool_core::schema::Dialect;

/// Client for OpenAI's Responses API, at OpenAI or at a compatible server.
///
/// The API has no stop sequences: a request with
/// [`ChatOptions::stop`](tool_core::ChatOptions::stop) fails with [`ModelError::Setup`].
///
/// ```no_run
/// use tool_runtime::{Agent, Tools, providers::OpenAiResponses};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAiResponses::new("https://api.openai.com/v1", "gpt-5-mini").key("sk-…");
/// println!("{}", Agent::new(model, Tools::new()).run("Hello!").await?);
/// # Ok(())
/// # }
/// ```
pub type OpenAiResponses = Client<Responses>;

/// Codec of OpenAI's Responses API; [`OpenAiResponses`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, Responses, OpenAiResponses};
///
/// let model: Client<Responses> = OpenAiResponses::new("https://api.openai.com/v1", "gpt-5-mini");
/// assert!(format!("{model:?}").contains("api.openai.com"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Responses {
    /// Separates the reasoning of OpenAI from that of other servers: OpenAI encrypts it with a key
    /// that no other server has, and refuses reasoning that it did not encrypt.
    is_official: bool,
}

impl Responses {
    /// Returns the provider name of the reasoning that this codec seals.
    fn provider(self) -> &'static str {
        if self.is_official { "openai" } else { "responses" }
    }
}

impl Codec for Responses {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Sse;
    const NESTED_OPTIONS: &'static [&'static str] = &["reasoning", "text"];
    const KEYED_HOSTS: &'static [&'static str] = &["api.openai.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["responses"]
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
        encode::request(model, request, names, self.provider(), is_streamed)
    }

    fn fit(&self, model: &str, body: &mut Value) -> Result<(), ModelError> {
        check_options(model, body)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        decode::reply(body, names, self.provider())
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        assemble::Assembler::new(names, self.provider())
    }
}

impl Client<Responses> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Most servers need the `/v1`, as in
    /// `https://api.openai.com/v1`.
    ///
    /// ```
    /// use tool_runtime::{Agent, Tools, providers::OpenAiResponses};
    ///
    /// let model = OpenAiResponses::new("https://api.openai.com/v1", "gpt-5-mini").key("secret");
    /// let agent = Agent::new(model, Tools::new());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        let is_official = is_official(base_url.as_ref());
        Self::with_codec(base_url.as_ref(), model, Responses { is_official })
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `OPENAI_MODEL` | name of the model | required |
    /// | `OPENAI_BASE_URL` | base URL | OpenAI's API |
    /// | `OPENAI_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::{Agent, Tools, providers::OpenAiResponses};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // Reads `OPENAI_MODEL` and the other variables above.
    /// let agent = Agent::new(OpenAiResponses::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("OPENAI")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).optional_key(found.key).checked()
    }
}
