//! Embeddings: vectors that are close to each other if their texts have similar meanings.

// The files of this folder:
//
// - `request.rs`: `EmbedRequest` and its purpose.
// - `embeddings.rs`: `Embeddings`, the vectors of a request.
// - `limits.rs`: `EmbedLimits`, which cut many texts into requests.
// - `test_embedder.rs`: `TestEmbedder`.

mod embeddings;
mod limits;
mod request;
mod test_embedder;

use std::sync::Arc;

use async_trait::async_trait;

pub use embeddings::Embeddings;
pub use limits::EmbedLimits;
pub use request::{EmbedPurpose, EmbedRequest};
pub use test_embedder::TestEmbedder;

use super::ModelError;

/// Converts texts into vectors that are close to each other if the texts have similar meanings.
///
/// An implementation keeps these promises, on which an index of vectors relies:
///
/// - There is one vector for each text, in the order of the texts.
/// - All vectors have the same length: [`dimensions`](Self::dimensions), if it is known.
/// - Every vector has the length 1, so that the dot product of two vectors is the cosine of their
///   angle. No number is infinite or NaN.
/// - An empty text is refused, because it has no meaning that a vector could express.
/// - The vectors of two embedders with the same [`id`](Self::id) can be compared.
///
/// A request may have any number of texts. The clients in the module `providers` divide them by
/// their [`limits`](Self::limits). For tests, use a [`TestEmbedder`]. Implement the trait for a
/// model of your own under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::models::{EmbedRequest, Embedder, Embeddings};
/// use tool_runtime::{ModelError, async_trait};
///
/// /// Compares texts by their shares of vowels.
/// struct Vowels;
///
/// #[async_trait]
/// impl Embedder for Vowels {
///     async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
///         request.check()?;
///         let vector = |text: &&str| {
///             let vowels = text.chars().filter(|char| "aeiou".contains(*char)).count() as f32;
///             let others = text.chars().count() as f32 - vowels;
///             let norm = vowels.hypot(others);
///             vec![vowels / norm, others / norm]
///         };
///         Ok(Embeddings::new(request.texts.iter().map(vector).collect()))
///     }
///
///     fn id(&self) -> String {
///         "vowels".into()
///     }
///
///     fn dimensions(&self) -> Option<usize> {
///         Some(2)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ModelError> {
/// let embeddings = Vowels.embed(EmbedRequest::documents(&["aaa", "xyz"])).await?;
/// assert_eq!(embeddings.vectors, [[1.0, 0.0], [0.0, 1.0]]);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an embedder",
    label = "pass a client such as `OpenAiEmbedder::new(url, name)`, or a `TestEmbedder` in a test",
    note = "each client has its own feature, such as `openai`; \
            for a model of your own, implement `Embedder` under `#[async_trait]`"
)]
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the vectors of these texts, in their order.
    ///
    /// # Errors
    /// A text is empty, the model can't be reached, it rejects the request, or it sends a response
    /// that can't be decoded. The vectors of the other texts are lost: to keep them, send one
    /// [batch](EmbedLimits::batches) at a time.
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError>;

    /// Returns a stable name under which vectors may be cached: the model and, if they were chosen,
    /// the dimensions.
    ///
    /// Vectors of different ids must not be compared. The vector of a text also depends on the
    /// [`EmbedPurpose`], so a cache of both kinds has the purpose in its key.
    fn id(&self) -> String;

    /// Returns the length of the vectors, if it is known without a request. Default: unknown.
    fn dimensions(&self) -> Option<usize> {
        None
    }

    /// Returns how much the embedder sends to the model in one request. Default: no limits.
    ///
    /// [`embed`](Self::embed) accepts more: it sends several requests.
    fn limits(&self) -> EmbedLimits {
        EmbedLimits::default()
    }

    /// Reports what would make every request fail, without sending one.
    ///
    /// Provider clients report a missing API key, a malformed URL and the like. Default: nothing to
    /// report.
    ///
    /// # Errors
    /// Returns the error with which the next request would fail.
    fn check(&self) -> Result<(), ModelError> {
        Ok(())
    }
}

/// Shares one client, or keeps a [`TestEmbedder`] for a test to inspect afterwards.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        self.as_ref().embed(request).await
    }

    fn id(&self) -> String {
        self.as_ref().id()
    }

    fn dimensions(&self) -> Option<usize> {
        self.as_ref().dimensions()
    }

    fn limits(&self) -> EmbedLimits {
        self.as_ref().limits()
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }
}

/// Allows the program to choose an embedder at run time.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<E: Embedder + ?Sized> Embedder for Box<E> {
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        self.as_ref().embed(request).await
    }

    fn id(&self) -> String {
        self.as_ref().id()
    }

    fn dimensions(&self) -> Option<usize> {
        self.as_ref().dimensions()
    }

    fn limits(&self) -> EmbedLimits {
        self.as_ref().limits()
    }

    fn check(&self) -> Result<(), ModelError> {
        self.as_ref().check()
    }
}
