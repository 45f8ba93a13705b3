use serde::Deserialize;
use serde_json::{Value, json};

use super::{OllamaChat, read_environment};
use crate::client::Client;
use crate::codec::{Codec, DecodeError, EmbeddingCodec};
use crate::embeddings::WireVector;
use crate::shared::{EMBEDDING_MODEL, count, set};
use tool_core::message::Usage;
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings, ModelError};

/// Client for the embeddings of Ollama, `/api/embed`.
///
/// Many models expect prefixes, which Ollama does not add:
///
/// ```no_run
/// use tool_runtime::models::{EmbedRequest, Embedder};
/// use tool_runtime::providers::OllamaEmbedder;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let embedder = OllamaEmbedder::new("http://127.0.0.1:11434", "nomic-embed-text")
///     .with_prefixes("search_document: ", "search_query: ");
/// let embeddings = embedder.embed(EmbedRequest::documents(&["Oslo", "Lima"])).await?;
/// # Ok(())
/// # }
/// ```
///
/// By default, Ollama truncates a text that is too long. The client asks for an error instead,
/// because a vector of a part would be found for the part only.
pub type OllamaEmbedder = Client<OllamaEmbed>;

/// Codec of Ollama's `/api/embed`; [`OllamaEmbedder`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, OllamaEmbed, OllamaEmbedder};
///
/// let embedder: Client<OllamaEmbed> = OllamaEmbedder::new("http://127.0.0.1:11434", "bge-m3");
/// assert!(format!("{embedder:?}").contains("http://127.0.0.1:11434/api/embed"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OllamaEmbed;

/// The body of a response. The server leaves out a count of 0.
#[derive(Deserialize)]
struct WireResponse {
    embeddings: Option<Vec<WireVector>>,
    prompt_eval_count: Option<Value>,
    error: Option<Value>,
}

impl EmbeddingCodec for OllamaEmbed {
    const KEYED_HOSTS: &'static [&'static str] = OllamaChat::KEYED_HOSTS;

    fn path(_: &str) -> Vec<&str> {
        vec!["api", "embed"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        OllamaChat::key_header(key)
    }

    /// Returns the limits of a request. Ollama has none, but a machine without a graphics card
    /// needs seconds for a batch of this size.
    fn limits() -> EmbedLimits {
        EmbedLimits::default().max_texts(64)
    }

    fn encode(
        &self,
        model: &str,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Value, ModelError> {
        let mut body = json!({ "model": model, "input": request.texts, "truncate": false });
        if let Some(dimensions) = dimensions {
            set(&mut body, "dimensions", dimensions);
        }
        Ok(body)
    }

    fn decode(&self, body: &str) -> Result<Embeddings, DecodeError> {
        let response: WireResponse = serde_json::from_str(body)
            .map_err(|error| DecodeError::malformed(error.to_string()))?;
        if let Some(error) = response.error {
            return Err(DecodeError::Reported(error));
        }
        let vectors =
            response.embeddings.ok_or_else(|| DecodeError::malformed("missing `embeddings`"))?;
        let mut embeddings = Embeddings::new(vectors.into_iter().map(|vector| vector.0).collect());
        let input = response.prompt_eval_count.as_ref().and_then(count);
        embeddings.usage = input.map(|input| Usage::new(input, 0));
        Ok(embeddings)
    }
}

impl Client<OllamaEmbed> {
    /// Creates a client for a model at `base_url`, such as `http://127.0.0.1:11434`.
    ///
    /// ```
    /// use tool_runtime::models::Embedder;
    /// use tool_runtime::providers::OllamaEmbedder;
    ///
    /// let embedder = OllamaEmbedder::new("http://127.0.0.1:11434", "embeddinggemma");
    /// assert_eq!(embedder.with_dimensions(256).id(), "embeddinggemma/256");
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_embedding_codec(base_url.as_ref(), model, OllamaEmbed)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `OLLAMA_EMBEDDING_MODEL` | name of the model | required |
    /// | `OLLAMA_BASE_URL` | base URL | `http://127.0.0.1:11434` |
    /// | `OLLAMA_API_KEY` | key | none |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::models::{EmbedRequest, Embedder};
    /// use tool_runtime::providers::OllamaEmbedder;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let embedder = OllamaEmbedder::from_env()?;
    /// let embeddings = embedder.embed(EmbedRequest::queries(&["Where is Oslo?"])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let (base, found) = read_environment(EMBEDDING_MODEL)?;
        Self::new(base, found.model).optional_key(found.key).checked_embedder()
    }
}
