//! Gemini's `generateContent` API, and every server that implements it.

mod assemble;
mod contents;
mod decode;
mod embeddings;
mod encode;
mod grounding;

use serde_json::Value;

pub use self::embeddings::{BatchEmbedContents, GeminiEmbedder};
use super::client::Client;
use super::codec::{Api, Assemble, Codec, DecodeError, Framing};
use super::model_table::check_options;
use super::shared::set;
use tool_core::models::{NameRules, WireNames};
use tool_core::{AssistantPart, ChatReply, ChatRequest, ModelError};

/// Client for the Gemini API, at Google or at a compatible server.
///
/// Options that only Gemini has are set with
/// [`ChatOptions::extra`](tool_core::ChatOptions::extra()). Members of `generationConfig`
/// and `toolConfig` are merged with those that the other options create:
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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct GenerateContent;

impl Api for GenerateContent {
    const ENV_PREFIX: &'static str = "GEMINI";
    const ENV_VERSION: Option<&'static str> = Some("v1beta");
    const BASE_URL: Option<&'static str> = Some("https://generativelanguage.googleapis.com/v1beta");
    const PROVIDER: Option<&'static str> = Some("gcp.gemini");
    const KEYED_HOSTS: &'static [&'static str] = &["generativelanguage.googleapis.com"];

    /// Returns the path. A model name with a collection, such as `tunedModels/mine`, is used as it
    /// is.
    fn path(model: &str, is_streamed: bool) -> Vec<&str> {
        let method = if is_streamed { ":streamGenerateContent" } else { ":generateContent" };
        resource(model).chain([method]).collect()
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }
}

impl Codec for GenerateContent {
    const NAME_RULES: NameRules = NameRules::GEMINI;
    const FRAMING: Framing = Framing::Sse;
    /// Google ends a reply with its token limit at the latest; this protects from other servers.
    const MAX_CONTINUATIONS: u32 = 32;
    const NESTED_OPTIONS: &'static [&'static str] = &["generationConfig", "toolConfig"];

    fn query(is_streamed: bool) -> &'static [(&'static str, &'static str)] {
        if is_streamed { &[("alt", "sse")] } else { &[] }
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

/// Returns the segments of the name of a model with its collection.
fn resource(model: &str) -> impl Iterator<Item = &str> {
    let collection = (!model.contains('/')).then_some("models");
    collection.into_iter().chain(model.split('/'))
}

#[cfg(test)]
mod tests {
    use super::{Api, GenerateContent};

    #[test]
    fn request_path_follows_the_model() {
        for (model, is_streamed, path) in [
            ("gemini-3.5-flash", false, "models gemini-3.5-flash :generateContent"),
            ("models/gemini-3.5-flash", true, "models gemini-3.5-flash :streamGenerateContent"),
            ("tunedModels/mine", false, "tunedModels mine :generateContent"),
        ] {
            assert_eq!(GenerateContent::path(model, is_streamed).join(" "), path);
        }
    }
}
