use serde_json::{Value, json};

use super::{ChatCompletions, OFFICIAL};
use crate::client::Client;
use crate::codec::{Codec, DecodeError, EmbeddingCodec};
use crate::embeddings::decode_list;
use crate::shared::{Environment, set};
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings, ModelError};

/// Client for OpenAI's embeddings, at OpenAI or at a compatible server such as vLLM, llama.cpp or
/// text-embeddings-inference.
///
/// ```no_run
/// use tool_runtime::models::{EmbedRequest, Embedder};
/// use tool_runtime::providers::OpenAiEmbedder;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let embedder = OpenAiEmbedder::new("https://api.openai.com/v1", "text-embedding-3-small")
///     .key(std::env::var("OPENAI_API_KEY")?)
///     .with_dimensions(256);
/// let embeddings = embedder.embed(EmbedRequest::documents(&["Oslo", "Lima"])).await?;
/// assert_eq!(embeddings.vectors[1].len(), 256);
/// # Ok(())
/// # }
/// ```
///
/// The API does not distinguish documents and queries; if the model does, set
/// [`with_prefixes`](Client::with_prefixes).
pub type OpenAiEmbedder = Client<OpenAiEmbeddings>;

/// Codec of OpenAI's embeddings; [`OpenAiEmbedder`] is the client that uses it.
///
/// ```
/// use tool_runtime::providers::{Client, OpenAiEmbedder, OpenAiEmbeddings};
///
/// let embedder: Client<OpenAiEmbeddings> = OpenAiEmbedder::new("http://127.0.0.1:8080/v1", "bge");
/// assert!(format!("{embedder:?}").contains("http://127.0.0.1:8080/v1/embeddings"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenAiEmbeddings;

impl EmbeddingCodec for OpenAiEmbeddings {
    const KEYED_HOSTS: &'static [&'static str] = ChatCompletions::KEYED_HOSTS;

    fn path(_: &str) -> Vec<&str> {
        vec!["embeddings"]
    }

    fn key_header(key: &str) -> (&'static str, String) {
        ChatCompletions::key_header(key)
    }

    /// Returns the limits of a request. OpenAI accepts 2,048 texts with 300,000 tokens in all, and
    /// no token is shorter than a byte. With more texts, a response could exceed the limit of
    /// 32 MiB.
    fn limits() -> EmbedLimits {
        EmbedLimits::default().max_texts(256).max_bytes(300_000)
    }

    fn encode(
        &self,
        model: &str,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Value, ModelError> {
        let mut body = json!({ "model": model, "input": request.texts });
        if let Some(dimensions) = dimensions {
            set(&mut body, "dimensions", dimensions);
        }
        Ok(body)
    }

    fn decode(&self, body: &str) -> Result<Embeddings, DecodeError> {
        decode_list(body)
    }
}

impl Client<OpenAiEmbeddings> {
    /// Creates a client for a model at `base_url`, without a key.
    ///
    /// The base URL is used unchanged. Most servers need the `/v1`, as in
    /// `http://127.0.0.1:8080/v1`.
    ///
    /// ```
    /// use tool_runtime::models::Embedder;
    /// use tool_runtime::providers::OpenAiEmbedder;
    ///
    /// let embedder = OpenAiEmbedder::new("https://api.openai.com/v1", "text-embedding-3-small");
    /// assert!(embedder.check().is_err(), "the key is missing");
    /// assert!(embedder.key("secret").check().is_ok());
    /// ```
    pub fn new(base_url: impl AsRef<str>, model: impl Into<String>) -> Self {
        Self::with_embedding_codec(base_url.as_ref(), model, OpenAiEmbeddings)
    }

    /// Creates a client from the environment.
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `OPENAI_EMBEDDING_MODEL` | name of the model | required |
    /// | `OPENAI_BASE_URL` | base URL | OpenAI's API |
    /// | `OPENAI_API_KEY` | key | required if no base URL is set |
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing, or the URL that is malformed.
    ///
    /// ```no_run
    /// use tool_runtime::models::{EmbedRequest, Embedder};
    /// use tool_runtime::providers::OpenAiEmbedder;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let embedder = OpenAiEmbedder::from_env()?;
    /// let embeddings = embedder.embed(EmbedRequest::queries(&["Where is Oslo?"])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env() -> Result<Self, ModelError> {
        let found = Environment::read_embedder("OPENAI")?;
        let base = found.base_url.as_deref().unwrap_or(OFFICIAL);
        Self::new(base, found.model).optional_key(found.key).checked_embedder()
    }
}
