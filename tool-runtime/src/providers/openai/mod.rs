//! OpenAI's chat completions, and every server that speaks them.

mod decode;
mod encode;

use reqwest::Url;
use serde_json::Value;

use self::decode::Spoken;
use super::chat;
use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable, set};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};
use crate::schema::Dialect;

pub(super) const OFFICIAL: &str = "https://api.openai.com/v1";

/// Whether OpenAI itself is there, under one of its names: of a region or its own.
pub(super) fn is_official(base_url: &str) -> bool {
    let host = Url::parse(base_url.trim()).ok().and_then(|url| Some(url.host_str()?.to_owned()));
    host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
}

/// A model behind OpenAI's chat-completions API: OpenAI's own, or that of vLLM, llama.cpp,
/// LM Studio and the like.
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

/// How OpenAI's chat completions are spelled.
#[derive(Clone, Copy, Debug)]
pub struct ChatCompletions {
    /// OpenAI's own models know the limit of tokens by another name than the servers that copy them.
    is_official: bool,
}

impl Codec for ChatCompletions {
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
        let mut body = encode::request(model, request, names);
        if let Some(most) = request.options.max_tokens {
            let name = if self.is_official { "max_completion_tokens" } else { "max_tokens" };
            set(&mut body, name, most);
        }
        if is_streamed {
            set(&mut body, "stream", true);
            set(&mut body, "stream_options", serde_json::json!({ "include_usage": true }));
        }
        Ok(body)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        chat::reply::<Spoken>(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        chat::Assembler::<Spoken>::new(names)
    }
}

impl Client<ChatCompletions> {
    /// The model of this name behind `base_url`, such as `http://127.0.0.1:8080/v1`; without a key.
    ///
    /// The address is used as it is: most servers want the `/v1`. One that is no address is
    /// reported when the model is asked. Proxies are taken from the environment (`HTTPS_PROXY` and
    /// the like), but for a server on this machine; redirects are not followed.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        let is_official = is_official(base_url.as_ref());
        Self::with_codec(base_url.as_ref(), model, ChatCompletions { is_official })
    }

    /// The model that the environment names: `OPENAI_MODEL` at `OPENAI_BASE_URL` (OpenAI's own
    /// unless set) with the key `OPENAI_API_KEY`, which only OpenAI's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::of(Environment::read("OPENAI")?)
    }

    fn of(found: Environment) -> Result<Self, ModelError> {
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).key(found.key).checked()
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, OpenAi, is_official};

    #[test]
    fn the_environment_says_where_and_who() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            let value = |name: &str| find(name).map(|(_, value)| (*value).to_owned());
            OpenAi::of(Environment::from_variables("OPENAI", value)?)
        };
        let unset = read(&[("OPENAI_API_KEY", "secret")]).unwrap_err();
        assert!(unset.to_string().contains("OPENAI_MODEL"), "{unset}");
        let unset = read(&[("OPENAI_MODEL", "m")]).unwrap_err();
        assert!(unset.to_string().contains("OPENAI_API_KEY"), "{unset}");

        let wrong = read(&[("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "localhost:1/v1")]);
        assert!(wrong.unwrap_err().to_string().contains("`localhost:1/v1`"));

        let local = read(&[("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "http://[::1]:1/v1/")]);
        let shown = format!("{:?}", local.unwrap());
        assert!(shown.contains("http://[::1]:1/v1/chat/completions"), "{shown}");

        let official = read(&[("OPENAI_MODEL", "m"), ("OPENAI_API_KEY", "secret")]).unwrap();
        let shown = format!("{official:?}");
        assert!(shown.contains("api.openai.com") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn where_openai_itself_is() {
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
