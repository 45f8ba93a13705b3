use serde::Deserialize;
use serde_json::{Value, json};

use super::OllamaChat;
use crate::client::Client;
use crate::codec::{Api, DecodeError, EmbeddingCodec};
use crate::embeddings::WireVector;
use crate::shared::{count, set};
use tool_core::models::{EmbedLimits, EmbedRequest, Embeddings};
use tool_core::{ModelError, Usage};

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OllamaEmbed;

/// The body of a response. The server leaves out a count of 0.
#[derive(Deserialize)]
struct WireResponse {
    embeddings: Option<Vec<WireVector>>,
    prompt_eval_count: Option<Value>,
    error: Option<Value>,
}

impl Api for OllamaEmbed {
    const ENV_PREFIX: &'static str = OllamaChat::ENV_PREFIX;
    const ENV_MODEL: &'static str = "EMBEDDING_MODEL";
    const BASE_URL: Option<&'static str> = OllamaChat::BASE_URL;
    const KEYED_HOSTS: &'static [&'static str] = OllamaChat::KEYED_HOSTS;

    fn path(_: &str, _: bool) -> Vec<&str> {
        vec!["api", "embed"]
    }
}

impl EmbeddingCodec for OllamaEmbed {
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
