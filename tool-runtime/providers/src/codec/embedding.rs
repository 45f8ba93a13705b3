use serde_json::Value;

use super::{Api, DecodeError};
use tool_core::ModelError;
use tool_core::models::{EmbedLimits, EmbedPurpose, EmbedRequest, Embeddings};

/// Converts requests for embeddings into those of one API, and its responses into [`Embeddings`].
///
/// A codec is pure: it uses no network, no clock and no randomness. The client divides the texts
/// into batches, sends the requests and retries them, and checks and scales the vectors.
///
/// A codec for an API that takes `{"texts": […]}` and answers `{"vectors": [[…], …]}`:
///
/// ```
/// use serde_json::{Value, json};
/// use tool_runtime::ModelError;
/// use tool_runtime::models::{EmbedRequest, Embedder, Embeddings};
/// use tool_runtime::providers::Client;
/// use tool_runtime::providers::codec::{Api, DecodeError, EmbeddingCodec};
///
/// #[derive(Clone, Debug, Default)]
/// struct Vectors;
///
/// impl Api for Vectors {
///     const ENV_PREFIX: &'static str = "VECTORS";
///
///     fn path(_model: &str, _is_streamed: bool) -> Vec<&str> {
///         vec!["embed"]
///     }
/// }
///
/// impl EmbeddingCodec for Vectors {
///     fn encode(
///         &self,
///         model: &str,
///         request: EmbedRequest<'_>,
///         _dimensions: Option<usize>,
///     ) -> Result<Value, ModelError> {
///         Ok(json!({ "model": model, "texts": request.texts }))
///     }
///
///     fn decode(&self, body: &str) -> Result<Embeddings, DecodeError> {
///         let malformed = |error: serde_json::Error| DecodeError::malformed(error.to_string());
///         let mut body: Value = serde_json::from_str(body).map_err(malformed)?;
///         let vectors = serde_json::from_value(body["vectors"].take()).map_err(malformed)?;
///         Ok(Embeddings::new(vectors))
///     }
/// }
/// # use tool_runtime::async_trait;
/// # use tool_runtime::http::{HttpBody, HttpRequest, HttpResponse, Transport, TransportError};
/// # struct Canned;
/// # #[async_trait]
/// # impl Transport for Canned {
/// #     async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
/// #         assert_eq!(request.url, "http://models.invalid/v1/embed");
/// #         Ok(HttpResponse::new(200, HttpBody::from(r#"{"vectors": [[3, 4]]}"#)))
/// #     }
/// # }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ModelError> {
/// let embedder: Client<Vectors> = Client::new("http://models.invalid/v1", "m");
/// # let embedder = embedder.transport(Canned);
/// let embeddings = embedder.embed(EmbedRequest::queries(&["Where is Oslo?"])).await?;
/// assert_eq!(embeddings.vectors, [[0.6, 0.8]]);
/// # Ok(())
/// # }
/// ```
pub trait EmbeddingCodec: Api {
    /// Returns the limits of one request. Default: no limits.
    fn limits() -> EmbedLimits {
        EmbedLimits::default()
    }

    /// Returns the text that the API expects before each text of this purpose. Default: none.
    fn prefix(_model: &str, _purpose: EmbedPurpose) -> &'static str {
        ""
    }

    /// Encodes the body of a request. The texts have their prefix.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the API has no way to express the request.
    fn encode(
        &self,
        model: &str,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Value, ModelError>;

    /// Decodes the body of a response, with the vectors in the order of the texts.
    ///
    /// # Errors
    /// [`DecodeError`] if the body contains no vectors.
    fn decode(&self, body: &str) -> Result<Embeddings, DecodeError>;
}
