//! Client of an API of embeddings: batches, and the checks of the vectors that come back.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde_json::Value;

use crate::client::Client;
use crate::client::check::unsupported;
use crate::codec::EmbeddingCodec;
use crate::connection::exchange::CompleteBody;
use crate::embeddings::unit_vectors;
use tool_core::__workspace::BoxFuture;
use tool_core::ModelError;
use tool_core::models::{
    ApiErrorKind, EmbedLimits, EmbedPurpose, EmbedRequest, Embedder, Embeddings,
};

impl<C: EmbeddingCodec> Client<C> {
    /// Sets the length of the vectors. Default: the one of the model.
    ///
    /// Only some models can shorten their vectors. If the provider sends vectors of another length,
    /// the request fails.
    #[must_use]
    pub fn with_dimensions(mut self, dimensions: usize) -> Self {
        self.embedding.dimensions = Some(dimensions);
        self
    }

    /// Sets the limits of one request. Default: those of the provider.
    ///
    /// If the provider refuses a batch because it is too large, the client halves the batches of
    /// that call. Set the limits of your server to avoid these requests.
    #[must_use]
    pub fn with_limits(mut self, limits: EmbedLimits) -> Self {
        self.embedding.limits = Some(limits);
        self
    }

    /// Sets a text that is put before each document, and one that is put before each query.
    ///
    /// Many models were trained with such prefixes and find less without them; their descriptions
    /// name them. The prefixes are a part of the [`id`](Embedder::id). Default: none, except for
    /// models whose API requires prefixes.
    ///
    /// ```
    /// # #[cfg(feature = "ollama")]
    /// # {
    /// use tool_runtime::models::Embedder;
    /// use tool_runtime::providers::OllamaEmbedder;
    ///
    /// let embedder = OllamaEmbedder::new("http://127.0.0.1:11434", "nomic-embed-text")
    ///     .with_prefixes("search_document: ", "search_query: ");
    /// assert_eq!(embedder.id(), r#"nomic-embed-text/"search_document: "/"search_query: ""#);
    /// # }
    /// ```
    #[must_use]
    pub fn with_prefixes(mut self, document: impl Into<String>, query: impl Into<String>) -> Self {
        self.embedding.prefixes = Some([document.into(), query.into()]);
        self
    }

    fn prefix(&self, purpose: EmbedPurpose) -> Result<&str, ModelError> {
        Ok(match (&self.embedding.prefixes, purpose) {
            (Some([document, _]), EmbedPurpose::Document) => document,
            (Some([_, query]), EmbedPurpose::Query) => query,
            (None, EmbedPurpose::Document | EmbedPurpose::Query) => C::prefix(&self.model, purpose),
            (_, purpose) => return Err(unsupported("purpose of an embedding", &purpose)),
        })
    }

    /// Embeds the texts of one request. The vectors must have these dimensions, if they are known.
    async fn embed_batch(
        &self,
        request: EmbedRequest<'_>,
        dimensions: Option<usize>,
    ) -> Result<Embeddings, ModelError> {
        let prefix = self.prefix(request.purpose)?;
        let prefixed: Vec<_> = request.texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let texts: Vec<_> = prefixed.iter().map(String::as_str).collect();
        let request = request.with_texts(&texts);
        let body = self.codec.encode(&self.model, request, self.embedding.dimensions)?;
        self.connection.require_key(C::KEYED_HOSTS, C::key_header)?;
        let path = C::path(&self.model, false);
        let exchange = self.connection.exchange(&path, &[], &body, C::key_header)?;
        let (exchange, count) = (&exchange, texts.len());
        let decode = |body: CompleteBody| -> BoxFuture<'_, _> {
            let codec = self.codec.clone();
            let decode = move |text: &str| {
                codec.decode(text).and_then(|it| unit_vectors(it, count, dimensions))
            };
            Box::pin(async move {
                let (body, decoded) = exchange.decode_body(body, decode).await?;
                exchange.decoded(&body, decoded)
            })
        };
        self.connection.whole(exchange, decode).await
    }
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<C: EmbeddingCodec> Embedder for Client<C> {
    /// Returns the vectors of these texts. The requests for the batches are sent one after another.
    ///
    /// # Errors
    /// [`ModelError::Setup`] for an empty text, the error of the first batch that fails, and
    /// [`ModelError::Malformed`] if the vectors that the provider sends cannot be those of the
    /// texts: too few or too many, of another length, of zeros, or with numbers that are not
    /// finite.
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        request.check()?;
        self.embedding.check_dimensions()?;
        let (mut limits, mut dimensions) = (self.limits(), self.embedding.dimensions);
        let (mut all, mut rest) = (Embeddings::default(), request.texts);
        while let Some(batch) = limits.batches(rest).next() {
            let (texts, later) = rest.split_at(batch.end);
            match self.embed_batch(request.with_texts(texts), dimensions).await {
                Ok(part) => {
                    dimensions = dimensions.or_else(|| part.vectors.first().map(Vec::len));
                    all.vectors.extend(part.vectors);
                    if let Some(usage) = part.usage {
                        *all.usage.get_or_insert_default() += usage;
                    }
                    rest = later;
                }
                Err(error) if texts.len() > 1 && is_too_large(&error) => {
                    limits.max_texts = Some(texts.len() / 2);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Returns the name of the model, followed by what was chosen: dimensions and prefixes.
    fn id(&self) -> String {
        let mut id = self.model.clone();
        if let Some(dimensions) = self.embedding.dimensions {
            let _ = write!(id, "/{dimensions}");
        }
        if let Some([document, query]) = &self.embedding.prefixes {
            // As JSON, so that no two pairs of prefixes have the same text.
            let [document, query] = [document, query].map(|it| Value::from(it.as_str()));
            let _ = write!(id, "/{document}/{query}");
        }
        id
    }

    fn dimensions(&self) -> Option<usize> {
        self.embedding.dimensions
    }

    fn limits(&self) -> EmbedLimits {
        self.embedding.limits.unwrap_or_else(C::limits)
    }

    /// Checks the setup without a request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed, if the name of the model or the key is
    /// empty or contains a line break, if the provider requires a key and none is set, if the
    /// dimensions are 0, or if this machine cannot send requests. A
    /// [`transport`](Client::transport) of your own may add a key that is not set.
    fn check(&self) -> Result<(), ModelError> {
        self.embedding.check_dimensions()?;
        self.check_setup()
    }
}

/// Returns whether a smaller batch may succeed.
fn is_too_large(error: &ModelError) -> bool {
    matches!(error, ModelError::Api(error) if error.kind == ApiErrorKind::ContextTooLong)
}
