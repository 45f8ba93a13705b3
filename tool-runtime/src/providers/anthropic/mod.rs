//! Anthropic's Messages, and every server that speaks them.

mod assemble;
mod decode;
mod encode;

use serde_json::Value;

use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use crate::schema::Dialect;

const OFFICIAL: &str = "https://api.anthropic.com/v1";

/// The version of the API that this is written for.
const VERSION: &str = "2023-06-01";

/// A model behind Anthropic's Messages API: Anthropic's own, or that of a server that copies it.
///
/// ```no_run
/// use tool_runtime::{Agent, Tools, providers::Anthropic};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Anthropic::new("https://api.anthropic.com/v1", "claude-sonnet-4-5").key("sk-…");
/// println!("{}", Agent::new(model, Tools::new()).run("Hello!").await?);
/// # Ok(())
/// # }
/// ```
pub type Anthropic = Client<AnthropicMessages>;

/// How Anthropic's Messages are spelled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AnthropicMessages;

impl Codec for AnthropicMessages {
    const NAMES: NameRules = NameRules::ANTHROPIC;
    const STRICT: Option<Dialect> = Some(Dialect::AnthropicStrict);
    const FRAMING: Framing = Framing::Events;

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["messages"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        is_streamed: bool,
    ) -> Result<Value, ModelError> {
        let dialect = Dialect::AnthropicStrict;
        let schemas = request.tools.iter().map(|tool| tool.wire_parameters());
        let strict = schemas.chain(&request.options.output).filter(|it| it.dialect() == dialect);
        dialect.check_request(strict).map_err(|error| ModelError::Setup(error.to_string()))?;
        Ok(encode::request(model, request, names, is_streamed))
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        decode::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        assemble::Assembler::new(names)
    }
}

impl Client<AnthropicMessages> {
    /// The model of this name behind `base_url`, such as `https://api.anthropic.com/v1`; without a key.
    ///
    /// The address is used as it is: most servers want the `/v1`.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, AnthropicMessages)
            .header("anthropic-version", VERSION)
    }

    /// The model that the environment names: `ANTHROPIC_MODEL` at `ANTHROPIC_BASE_URL` (Anthropic's own
    /// unless set; `/v1` is added where it is left out) with the key `ANTHROPIC_API_KEY`, which only
    /// Anthropic's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("ANTHROPIC")?;
        let base = found.base_url.map_or_else(
            || OFFICIAL.to_owned(),
            |base| match base.trim_end_matches('/') {
                base if base.ends_with("/v1") => base.to_owned(),
                base => format!("{base}/v1"),
            },
        );
        Self::new(base, found.model).key(found.key).checked()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AnthropicMessages, Codec, WireNames};
    use crate::models::{ChatRequest, ModelError, NameRules};
    use crate::schema::Dialect;
    use crate::tool::ToolDefinition;

    #[test]
    fn no_more_strict_tools_than_it_takes() {
        let tool = || {
            let tool = ToolDefinition::new("now", "Tells the time.", json!({ "type": "object" }));
            tool.bent(Dialect::AnthropicStrict).unwrap()
        };
        let tools: Vec<_> = (0..21).map(|_| tool()).collect();
        let tools: Vec<_> = tools.iter().collect();
        let names = WireNames::new([], NameRules::ANTHROPIC);
        let encoded = |tools: &[_]| {
            AnthropicMessages.encode("m", ChatRequest::new(&[]).tools(tools), &names, false)
        };
        let body = encoded(&tools[..20]).unwrap();
        assert_eq!(body["tools"][19]["strict"], true);
        let error = encoded(&tools).unwrap_err();
        assert!(matches!(&error, ModelError::Setup(why) if why.contains("21 of 20")), "{error}");
    }
}
