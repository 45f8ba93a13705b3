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
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use super::model_table::check_options;
use super::openai::is_official;
use tool_core::models::{NameRules, WireNames};
use tool_core::schema::Dialect;
use tool_core::{ChatReply, ChatRequest, ModelError};

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
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

impl Api for Responses {
    const ENV_PREFIX: &'static str = "OPENAI";
    const BASE_URL: Option<&'static str> = Some("https://api.openai.com/v1");
    const PROVIDER: Option<&'static str> = Some("openai");
    const KEYED_HOSTS: &'static [&'static str] = &["api.openai.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["responses"]
    }

    fn for_server(self, base_url: &str) -> Self {
        Self { is_official: is_official(base_url) }
    }
}

impl Codec for Responses {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Sse;
    const NESTED_OPTIONS: &'static [&'static str] = &["reasoning", "text"];

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
