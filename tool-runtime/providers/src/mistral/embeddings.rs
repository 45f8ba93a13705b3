use serde_json::{Value, json};

use super::MistralChat;
use crate::client::Client;
use crate::codec::{Api, DecodeError, EmbeddingCodec};
use crate::embeddings::decode_list;
use crate::shared::set;
use tool_core::ModelError;
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings};

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MistralEmbeddings;

impl Api for MistralEmbeddings {
    const ENV_PREFIX: &'static str = MistralChat::ENV_PREFIX;
    const ENV_MODEL: &'static str = "EMBEDDING_MODEL";
    const BASE_URL: Option<&'static str> = MistralChat::BASE_URL;
    const KEYED_HOSTS: &'static [&'static str] = MistralChat::KEYED_HOSTS;

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["embeddings"]
    }
}

impl EmbeddingCodec for MistralEmbeddings {
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
