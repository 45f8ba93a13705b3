use serde_json::{Value, json};

use super::{MistralChat, OFFICIAL};
use crate::client::Client;
use crate::codec::{Codec, DecodeError, EmbeddingCodec};
use crate::embeddings::decode_list;
use crate::shared::{Environment, set};
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings, ModelError};

/// Client for Mistral's embeddings.
///
/// ```no_run
/// use tool_runtime::models::{EmbedRequest, Embedder};
/// use tool_runtime::providers::MistralEmbedder;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let embedder = MistralEmbedder::new("https://api.mistral.ai/v1", "mistral-embed").key("…");
/// let embeddings = embedder.embed(EmbedRequest::documents(&["Oslo", "Lima"])).await?;
/// # Ok(())
/// # }
/// ```
pub type MistralEmbedder = Client<MistralEmbeddings>;

/// Codec of Mistral's embeddings; [`MistralEmbedder`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, MistralEmbedder, MistralEmbeddings};
///
/// let embedder: Client<MistralEmbeddings> =
///     MistralEmbedder::new("https://api.mistral.ai/v1", "mistral-embed");
/// assert!(format!("{embedder:?}").contains("api.mistral.ai/v1/embeddings"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MistralEmbeddings;

impl EmbeddingCodec for MistralEmbeddings {
    const KEYED_HOSTS: &'static [&'static str] = MistralChat::KEYED_HOSTS;

    fn path(_: &str) -> Vec<&str> {
        vec!["embeddings"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        MistralChat::key_header(key)
    }

    /// Returns the limits of a request. Mistral accepts 256 texts with 16,384 tokens in all; the
    /// limit assumes three bytes for a token, and the client halves batches that are refused.
    fn limits() -> EmbedLimits {
        EmbedLimits::default().max_texts(256).max_bytes(48 << 10)
    }

    fn encode(
        &self,
        model: &str,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Value, ModelError> {
        let mut body = json!({ "model": model, "input": request.texts });
        if let Some(dimensions) = dimensions {
            set(&mut body, "output_dimension", dimensions);
        }
        Ok(body)
    }

    fn decode(&self, body: &str) -> Result<Embeddings, DecodeError> {
        decode_list(body)
    }
}

impl Client<MistralEmbeddings> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// ```
    /// use tool_runtime::models::Embedder;
    /// use tool_runtime::providers::MistralEmbedder;
    ///
    /// let embedder = MistralEmbedder::new("https://api.mistral.ai/v1", "mistral-embed");
    /// assert!(embedder.key("secret").check().is_ok());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_embedding_codec(base_url.as_ref(), model, MistralEmbeddings)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `MISTRAL_EMBEDDING_MODEL` | name of the model | required |
    /// | `MISTRAL_BASE_URL` | base URL | Mistral's API |
    /// | `MISTRAL_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::models::{EmbedRequest, Embedder};
    /// use tool_runtime::providers::MistralEmbedder;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let embedder = MistralEmbedder::from_env()?;
    /// let embeddings = embedder.embed(EmbedRequest::queries(&["Where is Oslo?"])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read_embedder("MISTRAL")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).optional_key(found.key).checked_embedder()
    }
}
