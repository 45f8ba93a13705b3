//! Ollama's own API, `/api/chat`.

mod assemble;
mod decode;
mod embeddings;
mod encode;

use serde_json::Value;

pub use self::embeddings::{OllamaEmbed, OllamaEmbedder};
use super::client::Client;
use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::shared::Environment;
use tool_core::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};

/// Base URL of a server on this machine.
const LOCAL: &str = "http://127.0.0.1:11434";

/// Client for Ollama, on this machine or elsewhere.
///
/// Without `num_ctx`, Ollama limits the context to a few thousand tokens and silently drops the
/// start of a longer conversation. Agents need more. Set it, and whether a model thinks, with extra
/// members of the request:
///
/// ```no_run
/// use tool_runtime::{ChatModel, ChatOptions, ChatRequest, Message, providers::Ollama};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Ollama::new("http://127.0.0.1:11434", "qwen3");
/// let more = serde_json::json!({ "num_ctx": 32_768, "seed": 7 });
/// let options = ChatOptions::default().extra("options", more).extra("think", true);
/// let messages = [Message::user("Hello!")];
/// let reply = model.reply(ChatRequest::new(&messages).options(&options)).await?;
/// # Ok(())
/// # }
/// ```
///
/// The API can neither require a tool call nor limit a reply to one call. A request that asks for
/// either fails with [`ModelError::Setup`].
pub type Ollama = Client<OllamaChat>;

/// Codec of Ollama's API; [`Ollama`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, OllamaChat, Ollama};
///
/// let model: Client<OllamaChat> = Ollama::new("http://127.0.0.1:11434", "qwen3");
/// assert!(format!("{model:?}").contains("127.0.0.1:11434"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OllamaChat;

impl Codec for OllamaChat {
    const NAME_RULES: NameRules = NameRules::OPENAI;
    const FRAMING: Framing = Framing::Lines;
    const NESTED_OPTIONS: &'static [&'static str] = &["options"];
    const KEYED_HOSTS: &'static [&'static str] = &["ollama.com"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["api", "chat"]
    }

    /// Returns the header of a key, which only Ollama's cloud requires.
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
        encode::request(model, request, names, is_streamed)
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        assemble::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        assemble::Assembler::new(names)
    }
}

impl Client<OllamaChat> {
    /// Creates a client for a model at `base_url`, such as `http://127.0.0.1:11434`.
    ///
    /// ```
    /// use tool_runtime::{Agent, Tools, providers::Ollama};
    ///
    /// let model = Ollama::new("http://127.0.0.1:11434", "qwen3");
    /// let agent = Agent::new(model, Tools::new());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, OllamaChat)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `OLLAMA_MODEL` | name of the model | required |
    /// | `OLLAMA_BASE_URL` | base URL | `http://127.0.0.1:11434` |
    /// | `OLLAMA_API_KEY` | key | none |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::{Agent, Tools, providers::Ollama};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // Reads `OLLAMA_MODEL` and the other variables above.
    /// let agent = Agent::new(Ollama::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let (base, found) = environment("MODEL", variable)?;
        Self::new(base, found.model).optional_key(found.key).checked()
    }
}

/// Reads the variables of this process.
fn read_environment(model: &str) -> Result<(String, Environment), ModelError> {
    environment(model, |name| std::env::var(name).ok())
}

/// Reads the variables with a default for the base URL, which is returned.
fn environment(
    model: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(String, Environment), ModelError> {
    let non_empty = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let local = |name: &str| name.ends_with("_BASE_URL").then(|| LOCAL.to_owned());
    let mut found = Environment::from_variables("OLLAMA", model, |name| {
        non_empty(name).or_else(|| local(name))
    })?;
    let base = found.base_url.take().unwrap_or_else(|| LOCAL.to_owned());
    Ok((base, found))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Ollama;
    use tool_core::models::ChatModel;

    #[test]
    fn environment_sets_model_and_base_url() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            Ollama::from_variables(|name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        let unset = read(&[("OLLAMA_BASE_URL", "http://h:1")]).unwrap_err();
        assert!(unset.to_string().contains("OLLAMA_MODEL"), "{unset}");
        for (base, url) in [
            ("", "http://127.0.0.1:11434/api/chat"),
            (" ", "http://127.0.0.1:11434/api/chat"),
            ("http://h:1/", "http://h:1/api/chat"),
        ] {
            let model = read(&[("OLLAMA_MODEL", "m"), ("OLLAMA_BASE_URL", base)]).unwrap();
            assert!(format!("{model:?}").contains(url), "{model:?}");
        }
        let local = read(&[("OLLAMA_MODEL", "m")]).unwrap();
        let shared: Arc<dyn ChatModel> = Arc::new(local.clone());
        let boxed: Box<dyn ChatModel> = Box::new(shared);
        assert_eq!(boxed.name(), Some("m"));
        assert!(format!("{local:?}").contains("127.0.0.1:11434"));
    }
}
