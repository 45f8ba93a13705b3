//! Anthropic's Messages API, and every server that implements it.

mod assemble;
mod decode;
mod encode;
mod sources;

use serde_json::Value;

use super::client::Client;
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use super::model_table::check_options;
use tool_core::models::{NameRules, WireNames};
use tool_core::schema::Dialect;
use tool_core::{ChatReply, ChatRequest, ModelError};

/// Version of the API that this codec implements.
const VERSION: &str = "2023-06-01";

/// Client for Anthropic's Messages API, at Anthropic or at a compatible server.
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

/// Codec of Anthropic's Messages API; [`Anthropic`] is the client that uses it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AnthropicMessages;

impl Api for AnthropicMessages {
    const ENV_PREFIX: &'static str = "ANTHROPIC";
    const ENV_VERSION: Option<&'static str> = Some("v1");
    const BASE_URL: Option<&'static str> = Some("https://api.anthropic.com/v1");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", VERSION)];
    const PROVIDER: Option<&'static str> = Some("anthropic");
    const KEYED_HOSTS: &'static [&'static str] = &["api.anthropic.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["messages"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }
}

impl Codec for AnthropicMessages {
    const NAME_RULES: NameRules = NameRules::ANTHROPIC;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::AnthropicStrict);
    const FRAMING: Framing = Framing::Sse;
    /// The number after which Anthropic's own clients give up.
    const MAX_CONTINUATIONS: u32 = 5;
    const NESTED_OPTIONS: &'static [&'static str] = &["output_config"];

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

    fn fit(&self, model: &str, body: &mut Value) -> Result<(), ModelError> {
        check_options(model, body)
    }

    fn resume(&self, body: &mut Value, reply: &ChatReply, names: &WireNames) -> bool {
        encode::resume(body, &reply.parts, names)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        decode::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        assemble::Assembler::new(names)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AnthropicMessages, Codec, WireNames};
    use tool_core::models::NameRules;
    use tool_core::schema::Dialect;
    use tool_core::{ChatRequest, ModelError, ToolDefinition};

    #[test]
    fn too_many_strict_tools_are_an_error() {
        let tool = || {
            let tool = ToolDefinition::new("now", "Returns the time.", json!({ "type": "object" }));
            tool.in_dialect(Dialect::AnthropicStrict).unwrap()
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
        assert!(
            matches!(&error, ModelError::Setup(message) if message.contains("21 of 20")),
            "{error}"
        );
    }
}
