use serde::Deserialize;
use serde_json::{Value, json};

use super::{GenerateContent, base_url, resource};
use crate::client::Client;
use crate::codec::{Codec, DecodeError, EmbeddingCodec};
use crate::embeddings::WireVector;
use crate::shared::{Counts, Environment, set};
use tool_core::message::Usage;
use tool_core::models::{EmbedLimits, EmbedPurpose, EmbedRequest, Embeddings, ModelError};

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
///
/// ```
/// use tool_runtime::providers::{BatchEmbedContents, Client, GeminiEmbedder};
///
/// let base = "https://generativelanguage.googleapis.com/v1beta";
/// let embedder: Client<BatchEmbedContents> = GeminiEmbedder::new(base, "gemini-embedding-001");
/// assert!(format!("{embedder:?}").contains("models/gemini-embedding-001:batchEmbedContents"));
/// ```
#[derive(Clone, Copy, Debug)]
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

impl EmbeddingCodec for BatchEmbedContents {
    const KEYED_HOSTS: &'static [&'static str] = GenerateContent::KEYED_HOSTS;

    fn path(model: &str) -> Vec<&str> {
        resource(model).chain([":batchEmbedContents"]).collect()
    }

    fn key_header(key: &str) -> (&'static str, String) {
        GenerateContent::key_header(key)
    }

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

impl Client<BatchEmbedContents> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Google's API needs the `/v1beta`.
    ///
    /// ```
    /// use tool_runtime::models::Embedder;
    /// use tool_runtime::providers::GeminiEmbedder;
    ///
    /// let base = "https://generativelanguage.googleapis.com/v1beta";
    /// let embedder = GeminiEmbedder::new(base, "gemini-embedding-001").key("secret");
    /// assert!(embedder.check().is_ok());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_embedding_codec(base_url.as_ref(), model, BatchEmbedContents)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `GEMINI_EMBEDDING_MODEL` | name of the model | required |
    /// | `GEMINI_BASE_URL` | base URL; `/v1beta` is added if it has no version | Google's API |
    /// | `GEMINI_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::models::{EmbedRequest, Embedder};
    /// use tool_runtime::providers::GeminiEmbedder;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let embedder = GeminiEmbedder::from_env()?;
    /// let embeddings = embedder.embed(EmbedRequest::queries(&["Where is Oslo?"])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read_embedder("GEMINI")?;
        Self::new(base_url(&found), found.model).optional_key(found.key).checked_embedder()
    }
}
