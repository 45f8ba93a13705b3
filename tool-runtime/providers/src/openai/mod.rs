//! OpenAI's chat completions, and every server that implements them.

mod decode;
mod embeddings;
mod encode;

use reqwest::Url;
use serde_json::Value;

use self::decode::OpenAiContent;
pub use self::embeddings::{OpenAiEmbedder, OpenAiEmbeddings};
use super::chat;
use super::client::Client;
use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::model_table::{check_options, fit_chat_tools};
use super::shared::{Environment, set};
use tool_core::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use tool_core::schema::Dialect;

pub(super) const OFFICIAL: &str = "https://api.openai.com/v1";

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
///
/// ```
/// use tool_runtime::providers::{Client, ChatCompletions, OpenAi};
///
/// let model: Client<ChatCompletions> = OpenAi::new("http://127.0.0.1:8080/v1", "qwen2.5-coder");
/// assert!(format!("{model:?}").contains("127.0.0.1:8080"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChatCompletions {
    /// Selects the name of the token limit: OpenAI's is `max_completion_tokens`, that of compatible
    /// servers is `max_tokens`.
    is_official: bool,
}

impl Codec for ChatCompletions {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const STRICT_DIALECT: Option<Dialect> = Some(Dialect::OpenAiStrict);
    const FRAMING: Framing = Framing::Sse;
    const KEYED_HOSTS: &'static [&'static str] = &["api.openai.com"];

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

impl Client<ChatCompletions> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Most servers need the `/v1`, as in
    /// `http://127.0.0.1:8080/v1`. A malformed URL is reported by
    /// [`check`](tool_core::ChatModel::check), or else by the first request.
    ///
    /// Proxies come from the environment (`HTTPS_PROXY` and the like), except for a server on this
    /// machine. Redirects are not followed.
    ///
    /// ```
    /// use tool_runtime::{Agent, Tools, providers::OpenAi};
    ///
    /// let model = OpenAi::new("https://api.openai.com/v1", "gpt-5-mini").key("secret");
    /// let agent = Agent::new(model, Tools::new());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        let is_official = is_official(base_url.as_ref());
        Self::with_codec(base_url.as_ref(), model, ChatCompletions { is_official })
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
    /// use tool_runtime::{Agent, Tools, providers::OpenAi};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // Reads `OPENAI_MODEL` and the other variables above.
    /// let agent = Agent::new(OpenAi::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_environment(Environment::read("OPENAI")?)
    }

    fn from_environment(found: Environment) -> Result<Self, ModelError> {
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).optional_key(found.key).checked()
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, OpenAi, is_official};

    #[test]
    fn environment_sets_model_base_url_and_key() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            let value = |name: &str| find(name).map(|(_, value)| (*value).to_owned());
            OpenAi::from_environment(Environment::from_variables("OPENAI", "MODEL", value)?)
        };
        let unset = read(&[("OPENAI_API_KEY", "secret")]).unwrap_err();
        assert!(unset.to_string().contains("OPENAI_MODEL"), "{unset}");
        let unset = read(&[("OPENAI_MODEL", "m")]).unwrap_err();
        assert!(unset.to_string().contains("OPENAI_API_KEY"), "{unset}");

        let wrong = read(&[("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "localhost:1/v1")]);
        assert!(wrong.unwrap_err().to_string().contains("`localhost:1/v1`"));

        let local = read(&[("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "http://[::1]:1/v1/")]);
        let debug = format!("{:?}", local.unwrap());
        assert!(debug.contains("http://[::1]:1/v1/chat/completions"), "{debug}");

        let official = read(&[("OPENAI_MODEL", "m"), ("OPENAI_API_KEY", "secret")]).unwrap();
        let debug = format!("{official:?}");
        assert!(debug.contains("api.openai.com") && !debug.contains("secret"), "{debug}");
    }

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
