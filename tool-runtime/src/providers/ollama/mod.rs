//! Ollama's own API, `/api/chat`.

mod assemble;
mod decode;
mod encode;

use serde_json::Value;

use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};

/// Where it is unless told otherwise.
const LOCAL: &str = "http://127.0.0.1:11434";

/// A model that Ollama runs, on this machine or elsewhere.
///
/// Unless told how much a model may read, Ollama takes a few thousand tokens and silently leaves out the
/// start of a longer conversation. An agent wants more; that, and whether a model thinks, goes along as
/// more members of the request, as Ollama spells them:
///
/// ```no_run
/// use tool_runtime::{ChatModel, ChatOptions, ChatRequest, Message, providers::Ollama};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Ollama::new("http://127.0.0.1:11434", "qwen3");
/// let more = serde_json::json!({ "num_ctx": 32_768, "seed": 7 });
/// let options = ChatOptions::default().temperature(0.2).extra("options", more).extra("think", true);
/// let messages = [Message::user("Hello!")];
/// let reply = model.reply(ChatRequest::new(&messages).options(&options)).await?;
/// # Ok(())
/// # }
/// ```
///
/// Its API has no word for a tool that has to be called, nor for one call at a time: to ask for that is an
/// error.
pub type Ollama = Client<OllamaChat>;

/// How Ollama's API is spelled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OllamaChat;

impl Codec for OllamaChat {
    const NAMES: NameRules = NameRules::OPENAI;
    const FRAMING: Framing = Framing::Lines;
    const NESTED: &'static [&'static str] = &["options"];

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["api", "chat"]
    }

    /// Only its makers' own servers want one.
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

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        assemble::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        assemble::Assembler::new(names)
    }
}

impl Client<OllamaChat> {
    /// The model of this name at `base_url`, such as `http://127.0.0.1:11434`.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, OllamaChat)
    }

    /// The model that the environment names: `OLLAMA_MODEL` at `OLLAMA_BASE_URL` (port 11434 of this
    /// machine unless set) with the key `OLLAMA_API_KEY`, if there is one.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let told = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let local = |name: &str| name.ends_with("_BASE_URL").then(|| LOCAL.to_owned());
        let found =
            Environment::from_variables("OLLAMA", |name| told(name).or_else(|| local(name)))?;
        let base = found.base_url.as_deref().unwrap_or(LOCAL);
        Self::new(base, found.model).key(found.key).checked()
    }
}

#[cfg(test)]
mod tests {
    use super::Ollama;

    #[test]
    fn the_environment_says_which_and_may_say_where() {
        let read = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            Ollama::of(|name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        let unset = read(&[("OLLAMA_BASE_URL", "http://h:1")]).unwrap_err();
        assert!(unset.to_string().contains("OLLAMA_MODEL"), "{unset}");
        for (base, shown) in [
            ("", "http://127.0.0.1:11434/api/chat"),
            (" ", "http://127.0.0.1:11434/api/chat"),
            ("http://h:1/", "http://h:1/api/chat"),
        ] {
            let model = read(&[("OLLAMA_MODEL", "m"), ("OLLAMA_BASE_URL", base)]).unwrap();
            assert!(format!("{model:?}").contains(shown), "{model:?}");
        }
        let local = read(&[("OLLAMA_MODEL", "m")]).unwrap();
        assert!(format!("{local:?}").contains("127.0.0.1:11434"));
    }
}
