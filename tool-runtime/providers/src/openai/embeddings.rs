use serde_json::{Value, json};

use super::ChatCompletions;
use crate::client::Client;
use crate::codec::{Api, DecodeError, EmbeddingCodec};
use crate::embeddings::decode_list;
use crate::shared::set;
use tool_core::ModelError;
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings};

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OpenAiEmbeddings;

impl Api for OpenAiEmbeddings {
    const ENV_PREFIX: &'static str = ChatCompletions::ENV_PREFIX;
    const ENV_MODEL: &'static str = "EMBEDDING_MODEL";
    const BASE_URL: Option<&'static str> = ChatCompletions::BASE_URL;
    const KEYED_HOSTS: &'static [&'static str] = ChatCompletions::KEYED_HOSTS;

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["embeddings"]
    }
}

impl EmbeddingCodec for OpenAiEmbeddings {
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
