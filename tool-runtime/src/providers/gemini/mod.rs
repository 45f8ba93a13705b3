//! Gemini's `generateContent`, and every server that speaks it.

mod assemble;
mod contents;
mod decode;
mod encode;

use serde_json::Value;

use super::client::Client;
use super::codec::{Assemble, Codec, Environment, Framing, Unreadable};
use crate::models::{ChatReply, ChatRequest, ModelError, NameRules, WireNames};

const OFFICIAL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// A model behind the Gemini API: Google's own, or that of a server that copies it.
///
/// What only Gemini knows goes along by [`ChatOptions::extra`](crate::models::ChatOptions::extra());
/// members of `generationConfig` and `toolConfig` are added to those that the other options make:
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
/// It can't be told to make one call at a time: `parallel_calls(false)` is an error.
pub type Gemini = Client<GenerateContent>;

/// How Gemini's `generateContent` is spelled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GenerateContent;

impl Codec for GenerateContent {
    const NAMES: NameRules = NameRules::GEMINI;
    const FRAMING: Framing = Framing::Events;
    const NESTED: &'static [&'static str] = &["generationConfig", "toolConfig"];

    /// A name that says of which kind it is, such as `tunedModels/mine`, stands as it is.
    fn path(model: &str, is_streamed: bool) -> Vec<&str> {
        let kind = (!model.contains('/')).then_some("models");
        let method = if is_streamed { ":streamGenerateContent" } else { ":generateContent" };
        kind.into_iter().chain(model.split('/')).chain([method]).collect()
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

    fn decode(&self, body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
        assemble::reply(body, names)
    }

    fn assembler(&self, names: WireNames) -> impl Assemble {
        assemble::Assembler::new(names)
    }
}

impl Client<GenerateContent> {
    /// The model of this name behind `base_url`, such as
    /// `https://generativelanguage.googleapis.com/v1beta`; without a key.
    ///
    /// The address is used as it is: Google's wants the `/v1beta`.
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_codec(base_url.as_ref(), model, GenerateContent)
    }

    /// The model that the environment names: `GEMINI_MODEL` at `GEMINI_BASE_URL` (Google's own unless
    /// set; `/v1beta` is added where no version is named) with the key `GEMINI_API_KEY`, which only
    /// Google's own needs.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the address that is none.
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read("GEMINI")?;
        let base = found.base_url.map_or_else(|| OFFICIAL.to_owned(), |base| versioned(&base));
        Self::new(base, found.model).key(found.key).checked()
    }
}

fn versioned(base: &str) -> String {
    let base = base.trim_end_matches('/');
    match base.rsplit('/').next() {
        Some(last) if last.starts_with("v1") => base.to_owned(),
        _ => format!("{base}/v1beta"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Codec, GenerateContent, versioned};

    #[test]
    fn where_it_is_asked() {
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
            assert_eq!(versioned(base), expected);
        }
    }
}
