//! OpenAI's Responses, and every server that speaks them.
//!
//! A conversation is a list of items here, in which a call and what a model thought are items of their
//! own. We keep the conversation, so nothing is stored with the provider (`store` is false) and
//! reasoning comes sealed, for to be sent back; both can be had otherwise by `extra`.

mod assemble;
mod decode;
mod encode;
mod heard;
mod sealed;

use serde_json::Value;

use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable};
use super::openai::{OFFICIAL, is_official};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use crate::schema::Dialect;

/// A model behind OpenAI's Responses API: OpenAI's own, or that of a server that copies it.
///
/// The API has no texts that end a reply: [`ChatOptions::stop`](crate::ChatOptions::stop) is an error.
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

/// How OpenAI's Responses are spelled.
#[derive(Clone, Copy, Debug)]
pub struct Responses {
    /// What OpenAI's own models thought is sealed by a key that no other server has, and the other way
    /// round OpenAI refuses what it didn't seal.
    is_official: bool,
}

impl Responses {
    /// Whose reasoning it is.
    fn provider(self) -> &'static str {
        if self.is_official { "openai" } else { "responses" }
    }
}

impl Codec for Responses {
    const NAMES: NameRules = NameRules::OPENAI;
    const STRICT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Events;

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

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        decode::reply(body, names, self.provider())
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        assemble::Assembler::new(names, self.provider())
    }
}

impl Client<Responses> {
    /// The model of this name behind `base_url`, such as `https://api.openai.com/v1`; without a key.
    ///
    /// The address is used as it is: most servers want the `/v1`.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        let is_official = is_official(base_url.as_ref());
        Self::with_codec(base_url.as_ref(), model, Responses { is_official })
    }

    /// The model that the environment names: `OPENAI_MODEL` at `OPENAI_BASE_URL` (OpenAI's own
    /// unless set) with the key `OPENAI_API_KEY`, which only OpenAI's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("OPENAI")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).key(found.key).checked()
    }
}
