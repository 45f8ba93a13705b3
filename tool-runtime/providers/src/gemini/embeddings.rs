use serde::Deserialize;
use serde_json::{Value, json};

use super::{GenerateContent, resource};
use crate::client::Client;
use crate::codec::{Api, DecodeError, EmbeddingCodec};
use crate::embeddings::WireVector;
use crate::shared::{Counts, set};
use tool_core::models::{EmbedLimits, EmbedPurpose, EmbedRequest, Embeddings};
use tool_core::{ModelError, Usage};

/// Client for Gemini's embeddings, `batchEmbedContents`.
///
/// ```no_run
/// use tool_runtime::models::{EmbedRequest, Embedder};
/// use tool_runtime::providers::GeminiEmbedder;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let base = "https://generativelanguage.googleapis.com/v1beta";
/// let embedder = GeminiEmbedder::new(base, "gemini-embedding-001").key("…").with_dimensions(768);
/// let embeddings = embedder.embed(EmbedRequest::documents(&["Oslo", "Lima"])).await?;
/// # Ok(())
/// # }
/// ```
///
/// The purpose of a request is sent as its task type. The models `gemini-embedding-2` ignore task
/// types; for them, the client puts the prefixes before the texts that Google documents for search.
/// The API may truncate a text that is longer than the model accepts, 2,048 tokens for
/// `gemini-embedding-001`, without an error.
pub type GeminiEmbedder = Client<BatchEmbedContents>;

/// Codec of Gemini's `batchEmbedContents`; [`GeminiEmbedder`] is the client that uses it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BatchEmbedContents;

/// The body of a response. The usage is not sent for every model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResponse {
    embeddings: Option<Vec<WireEmbedding>>,
    #[serde(default)]
    usage_metadata: Counts,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct WireEmbedding {
    values: WireVector,
}

impl Api for BatchEmbedContents {
    const ENV_PREFIX: &'static str = GenerateContent::ENV_PREFIX;
    const ENV_MODEL: &'static str = "EMBEDDING_MODEL";
    const ENV_VERSION: Option<&'static str> = GenerateContent::ENV_VERSION;
    const BASE_URL: Option<&'static str> = GenerateContent::BASE_URL;
    const KEYED_HOSTS: &'static [&'static str] = GenerateContent::KEYED_HOSTS;

    fn path(model: &str, _: bool) -> Vec<&str> {
        resource(model).chain([":batchEmbedContents"]).collect()
    }

    fn key_header(key: &str) -> (&'static str, String) {
        GenerateContent::key_header(key)
    }
}

impl EmbeddingCodec for BatchEmbedContents {
    /// Returns the limits of a request: the API accepts 100 texts.
    fn limits() -> EmbedLimits {
        EmbedLimits::default().max_texts(100)
    }

    fn prefix(model: &str, purpose: EmbedPurpose) -> &'static str {
        match purpose {
            _ if has_task_types(model) => "",
            EmbedPurpose::Document => "title: none | text: ",
            EmbedPurpose::Query => "task: search result | query: ",
            _ => "", // The client has refused the request.
        }
    }

    fn encode(
        &self,
        model: &str,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Value, ModelError> {
        let name = resource(model).collect::<Vec<_>>().join("/");
        let task = match request.purpose {
            EmbedPurpose::Document => "RETRIEVAL_DOCUMENT",
            EmbedPurpose::Query => "RETRIEVAL_QUERY",
            _ => "", // The client has refused the request.
        };
        let wire_request = |text: &&str| {
            let mut body = json!({ "model": name, "content": { "parts": [{ "text": text }] } });
            if has_task_types(model) {
                set(&mut body, "taskType", task);
            }
            if let Some(dimensions) = dimensions {
                set(&mut body, "outputDimensionality", dimensions);
            }
            body
        };
        Ok(json!({ "requests": request.texts.iter().map(wire_request).collect::<Vec<_>>() }))
    }

    fn decode(&self, body: &str) -> Result<Embeddings, DecodeError> {
        let response: WireResponse = serde_json::from_str(body)
            .map_err(|error| DecodeError::malformed(error.to_string()))?;
        if let Some(error) = response.error {
            return Err(DecodeError::Reported(error));
        }
        let vectors =
            response.embeddings.ok_or_else(|| DecodeError::malformed("missing `embeddings`"))?;
        let vectors = vectors.into_iter().map(|embedding| embedding.values.0).collect();
        let mut embeddings = Embeddings::new(vectors);
        embeddings.usage = response
            .usage_metadata
            .usage(|counts| Usage::new(counts.get("/promptTokenCount").unwrap_or(0), 0));
        Ok(embeddings)
    }
}

/// Returns whether a model distinguishes task types. The others expect prefixes instead.
fn has_task_types(model: &str) -> bool {
    !resource(model).last().is_some_and(|name| name.starts_with("gemini-embedding-2"))
}
