//! OpenAI's chat completions, and every server that speaks them.

mod decode;
mod encode;

use std::env;
use std::time::Duration;

use async_trait::async_trait;

use super::endpoint::Endpoint;
use super::http::Http;
use crate::models::{ChatModel, ChatReply, ChatRequest, ModelError, NameRules, WireNames};

const OFFICIAL: &str = "https://api.openai.com/v1";

/// A model behind OpenAI's chat-completions API: OpenAI's own, or that of vLLM, llama.cpp,
/// LM Studio, Ollama and the like.
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
#[derive(Clone, Debug)]
pub struct OpenAi {
    http: Http,
    model: String,
}

impl OpenAi {
    /// The model of this name behind `base_url`, such as `http://127.0.0.1:8080/v1`; without a key.
    ///
    /// The address is used as it is: most servers want the `/v1`. One that is no address is
    /// reported when the model is asked. Proxies are taken from the environment (`HTTPS_PROXY` and
    /// the like), but for a server on this machine; redirects are not followed.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        let endpoint = Endpoint::new(base_url.as_ref(), &["chat", "completions"]);
        Self { http: Http::new(endpoint), model: model.into() }
    }

    /// The model that the environment names: `OPENAI_MODEL` at `OPENAI_BASE_URL` (OpenAI's own
    /// unless set) with the key `OPENAI_API_KEY`, which only OpenAI's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let missing = |text: &str| ModelError::Setup(text.to_owned());
        let base = variable("OPENAI_BASE_URL");
        let key = variable("OPENAI_API_KEY");
        let model = variable("OPENAI_MODEL")
            .ok_or_else(|| missing("set OPENAI_MODEL to the name of the model"))?;
        if base.is_none() && key.is_none() {
            return Err(missing(
                "set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs no key",
            ));
        }
        let client = Self::new(base.as_deref().unwrap_or(OFFICIAL), model.trim());
        client.http.check()?;
        Ok(match key {
            Some(key) => client.key(key),
            None => client,
        })
    }

    /// Sends this key with each request. It is never printed.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<str>) -> Self {
        self.http.set_key(key.as_ref());
        self
    }

    /// How long the model may take to reply; two minutes unless set.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.http.set_limit(limit);
        self
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let names = WireNames::new(names, NameRules::OPENAI);
        let reply = self.http.post(&encode::request(&self.model, request, &names)).await?;
        decode::reply(&reply, &names)
    }
}

#[cfg(test)]
mod tests {
    use super::OpenAi;

    #[test]
    fn the_environment_says_where_and_who() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            OpenAi::from_variables(|name| find(name).map(|(_, value)| (*value).to_owned()))
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
}
