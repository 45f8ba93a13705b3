//! Gemini's `generateContent` API, and every server that implements it.

mod assemble;
mod contents;
mod decode;
mod embeddings;
mod encode;

use serde_json::Value;

pub use self::embeddings::{BatchEmbedContents, GeminiEmbedder};
use super::client::Client;
use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::model_table::check_options;
use super::shared::{Environment, set};
use tool_core::message::AssistantPart;
use tool_core::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};

const OFFICIAL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Client for the Gemini API, at Google or at a compatible server.
///
/// Options that only Gemini has are set with
/// [`ChatOptions::extra`](tool_core::models::ChatOptions::extra()). Members of `generationConfig` and
/// `toolConfig` are merged with those that the other options create:
///
/// ```no_run
/// use tool_runtime::{Agent, ChatOptions, Tools, providers::Gemini};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let base = "https://generativelanguage.googleapis.com/v1beta";
/// let model = Gemini::new(base, "gemini-3.5-flash").key("AIza…");
/// let thoughts = serde_json::json!({ "thinkingConfig": { "includeThoughts": true } });
/// let options = ChatOptions::default().max_tokens(1_000).extra("generationConfig", thoughts);
/// println!("{}", Agent::new(model, Tools::new()).options(options).run("Hello!").await?);
/// # Ok(())
/// # }
/// ```
///
/// The API cannot limit a reply to one call: `parallel_calls(false)` fails with
/// [`ModelError::Setup`].
pub type Gemini = Client<GenerateContent>;

/// Codec of Gemini's `generateContent`; [`Gemini`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, GenerateContent, Gemini};
///
/// let model: Client<GenerateContent> =
///     Gemini::new("https://generativelanguage.googleapis.com/v1beta", "gemini-3.5-flash");
/// assert!(format!("{model:?}").contains("generativelanguage.googleapis.com"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GenerateContent;

impl Codec for GenerateContent {
    const NAME_RULES: NameRules = NameRules::GEMINI;
    const FRAMING: Framing = Framing::Sse;
    /// Google ends a reply with its token limit at the latest; this protects from other servers.
    const MAX_CONTINUATIONS: u32 = 32;
    const NESTED_OPTIONS: &'static [&'static str] = &["generationConfig", "toolConfig"];
    const KEYED_HOSTS: &'static [&'static str] = &["generativelanguage.googleapis.com"];

    /// Returns the path. A model name with a collection, such as `tunedModels/mine`, is used as it
    /// is.
    fn path(model: &str, is_streamed: bool) -> Vec<&str> {
        let method = if is_streamed { ":streamGenerateContent" } else { ":generateContent" };
        resource(model).chain([method]).collect()
    }

    fn query(is_streamed: bool) -> &'static [(&'static str, &'static str)] {
        if is_streamed { &[("alt", "sse")] } else { &[] }
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    fn encode(
        &self,
        model: &str,
        request: ChatRequest<'_>,
        names: &WireNames,
        _: bool,
    ) -> Result<Value, ModelError> {
        encode::request(model, request, names)
    }

    fn fit(&self, model: &str, body: &mut Value) -> Result<(), ModelError> {
        check_options(model, body)
    }

    fn resume(&self, body: &mut Value, reply: &ChatReply, _: &WireNames) -> bool {
        let token = reply.parts.iter().rev().find_map(|part| match part {
            AssistantPart::Reasoning(reasoning) if reasoning.provider == decode::REASONING_OF => {
                reasoning.sealed.get(decode::CONTINUATION_TOKEN)
            }
            _ => None,
        });
        token.is_some_and(|token| {
            set(body, decode::CONTINUATION_TOKEN, token.clone());
            true
        })
    }

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
        assemble::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble + use<> {
        assemble::Assembler::new(names)
    }
}

impl Client<GenerateContent> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Google's API needs the `/v1beta`, as in
    /// `https://generativelanguage.googleapis.com/v1beta`.
    ///
    /// ```
    /// use tool_runtime::{Agent, Tools, providers::Gemini};
    ///
    /// let base_url = "https://generativelanguage.googleapis.com/v1beta";
    /// let model = Gemini::new(base_url, "gemini-3.5-flash").key("secret");
    /// let agent = Agent::new(model, Tools::new());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, GenerateContent)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `GEMINI_MODEL` | name of the model | required |
    /// | `GEMINI_BASE_URL` | base URL; `/v1beta` is added if it has no version | Google's API |
    /// | `GEMINI_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::{Agent, Tools, providers::Gemini};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// // Reads `GEMINI_MODEL` and the other variables above.
    /// let agent = Agent::new(Gemini::from_env()?, Tools::new());
    /// println!("{}", agent.run("Hello!").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("GEMINI")?;
        Self::new(base_url(&found), found.model).optional_key(found.key).checked()
    }
}

/// Returns the segments of the name of a model with its collection.
fn resource(model: &str) -> impl Iterator<Item = &str> {
    let collection = (!model.contains('/')).then_some("models");
    collection.into_iter().chain(model.split('/'))
}

/// Returns the base URL that the environment sets.
fn base_url(found: &Environment) -> String {
    found.base_url.as_deref().map_or_else(|| OFFICIAL.to_owned(), with_version)
}

fn with_version(base: &str) -> String {
    let base = base.trim_end_matches('/');
    match base.rsplit('/').next() {
        Some(last) if last.starts_with("v1") => base.to_owned(),
        _ => format!("{base}/v1beta"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Codec, GenerateContent, with_version};

    #[test]
    fn request_paths_follow_model_and_base_url() {
        for (model, is_streamed, path) in [
            ("gemini-3.5-flash", false, "models gemini-3.5-flash :generateContent"),
            ("models/gemini-3.5-flash", true, "models gemini-3.5-flash :streamGenerateContent"),
            ("tunedModels/mine", false, "tunedModels mine :generateContent"),
        ] {
            assert_eq!(GenerateContent::path(model, is_streamed).join(" "), path);
        }
        for (base, expected) in [
            ("https://h", "https://h/v1beta"),
            ("https://h/", "https://h/v1beta"),
            ("https://h/gemini", "https://h/gemini/v1beta"),
            ("https://h/v1beta/", "https://h/v1beta"),
            ("https://h/v1", "https://h/v1"),
        ] {
            assert_eq!(with_version(base), expected);
        }
    }
}
