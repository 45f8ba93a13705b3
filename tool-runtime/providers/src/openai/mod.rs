//! OpenAI's chat completions, and every server that implements them.

mod audio;
mod decode;
mod embeddings;
mod encode;

use reqwest::Url;
use serde_json::Value;

use self::decode::OpenAiContent;
pub use self::embeddings::{OpenAiEmbedder, OpenAiEmbeddings};
use super::chat;
use super::client::Client;
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use super::model_table::{check_options, fit_chat_tools};
use super::shared::set;
use tool_core::models::{NameRules, WireNames};
use tool_core::schema::Dialect;
use tool_core::{ChatReply, ChatRequest, ModelError};

/// Returns whether the base URL is one of OpenAI's own hosts, regional ones included.
pub(super) fn is_official(base_url: &str) -> bool {
    let host = Url::parse(base_url.trim()).ok().and_then(|url| Some(url.host_str()?.to_owned()));
    host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
}

/// Client for OpenAI's chat completions, at OpenAI or at a compatible server such as vLLM,
/// llama.cpp or LM Studio.
///
/// Some models accept tools in this API only without reasoning. The client sends
/// `reasoning_effort: "none"` with the tools where a model needs it, as `gpt-5.6` does. Use
/// [`OpenAiResponses`](super::OpenAiResponses) for agents that reason between calls.
///
/// ```no_run
/// use tool_runtime::{Agent, Tools, providers::OpenAi};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAi::new("http://127.0.0.1:8080/v1", "qwen2.5-coder");
/// println!("{}", Agent::new(model, Tools::new()).run("Hello!").await?);
/// # Ok(())
/// # }
/// ```
pub type OpenAi = Client<ChatCompletions>;

/// Codec of OpenAI's chat completions; [`OpenAi`] is the client that uses it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatCompletions {
    /// Selects the name of the token limit: OpenAI's is `max_completion_tokens`, that of compatible
    /// servers is `max_tokens`.
    is_official: bool,
}

impl Api for ChatCompletions {
    const ENV_PREFIX: &'static str = "OPENAI";
    const BASE_URL: Option<&'static str> = Some("https://api.openai.com/v1");
    const PROVIDER: Option<&'static str> = Some("openai");
    const KEYED_HOSTS: &'static [&'static str] = &["api.openai.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["chat", "completions"]
    }

    fn for_server(self, base_url: &str) -> Self {
        Self { is_official: is_official(base_url) }
    }
}

impl Codec for ChatCompletions {
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
        let mut body = encode::request(model, request, names);
        if let Some(limit) = request.options.max_tokens {
            let name = if self.is_official { "max_completion_tokens" } else { "max_tokens" };
            set(&mut body, name, limit);
        }
        if is_streamed {
            set(&mut body, "stream", true);
            set(&mut body, "stream_options", serde_json::json!({ "include_usage": true }));
        }
        Ok(body)
    }

    fn fit(&self, model: &str, body: &mut Value) -> Result<(), ModelError> {
        check_options(model, body)?;
        fit_chat_tools(model, body)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        chat::reply::<OpenAiContent>(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        chat::Assembler::<OpenAiContent>::new(names)
    }
}

#[cfg(test)]
mod tests {
    use super::is_official;

    #[test]
    fn official_hosts_are_recognized() {
        for (base, expected) in [
            ("https://api.openai.com/v1", true),
            (" HTTPS://API.OpenAI.com:443", true),
            ("https://eu.api.openai.com/v1", true),
            ("https://notapi.openai.com.invalid/v1", false),
            ("https://myapi.openai.com/v1", false),
            ("https://models.invalid/api.openai.com", false),
            ("api.openai.com", false),
        ] {
            assert_eq!(is_official(base), expected, "{base}");
        }
    }
}
