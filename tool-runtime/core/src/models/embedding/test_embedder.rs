use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use hmac_sha256::Hash;

use super::{EmbedLimits, EmbedPurpose, EmbedRequest, Embedder, Embeddings};
use crate::models::ModelError;

/// An embedder for tests and examples that needs no model and no network.
///
/// The vector of a text depends only on how often each word occurs in it: upper and lower case are
/// equal, and each word is hashed to a dimension. Texts with common words have similar vectors;
/// synonyms do not. The vectors are the same on every machine and in every version.
///
/// It records its requests, and fails those that the test chooses.
///
/// ```
/// use tool_runtime::models::{EmbedRequest, Embedder, TestEmbedder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::ModelError> {
/// let embedder = TestEmbedder::new(64);
/// let documents = EmbedRequest::documents(&["The fjord is deep.", "Bread needs yeast."]);
/// let documents = embedder.embed(documents).await?.vectors;
/// let query = embedder.embed(EmbedRequest::queries(&["how deep is a fjord?"])).await?;
///
/// let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
/// let scores: Vec<_> = documents.iter().map(|it| dot(it, &query.vectors[0])).collect();
/// assert!(scores[0] > scores[1], "{scores:?}");
/// assert_eq!(embedder.requests()[1].1, ["how deep is a fjord?"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestEmbedder {
    dimensions: usize,
    limits: EmbedLimits,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<(EmbedPurpose, Vec<String>)>,
    /// Errors by the index of their request.
    failures: BTreeMap<usize, ModelError>,
}

impl TestEmbedder {
    /// Creates an embedder whose vectors have so many dimensions, at least 1. With few dimensions,
    /// different words share one.
    pub fn new(dimensions: usize) -> Self {
        let limits = EmbedLimits::default();
        Self { dimensions: dimensions.max(1), limits, log: Mutex::default() }
    }

    /// Sets the limits that the embedder reports. It does not divide requests itself.
    #[must_use]
    pub fn with_limits(mut self, limits: EmbedLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Fails one request with this error; 1 is the next one.
    ///
    /// ```
    /// use tool_runtime::ModelError;
    /// use tool_runtime::models::{EmbedRequest, Embedder, TestEmbedder};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let embedder = TestEmbedder::new(8);
    /// embedder.fail_request(2, ModelError::unavailable("overloaded"));
    /// let request = EmbedRequest::documents(&["Oslo"]);
    /// assert!(embedder.embed(request).await.is_ok());
    /// assert!(embedder.embed(request).await.unwrap_err().is_transient());
    /// assert!(embedder.embed(request).await.is_ok());
    /// # }
    /// ```
    pub fn fail_request(&self, number: usize, error: ModelError) {
        let mut log = self.log();
        let index = log.requests.len().saturating_add(number.max(1) - 1);
        log.failures.insert(index, error);
    }

    /// Returns the requests so far, failed ones included, each with its purpose and texts.
    pub fn requests(&self) -> Vec<(EmbedPurpose, Vec<String>)> {
        self.log().requests.clone()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut counts: HashMap<usize, f64> = HashMap::new();
        for word in words(text) {
            *counts.entry(dimension(&word, self.dimensions)).or_default() += 1.0;
        }
        let norm = counts.values().map(|count| count * count).sum::<f64>().sqrt();
        let coordinate = |index| counts.get(&index).map_or(0.0, |count| (count / norm) as f32);
        (0..self.dimensions).map(coordinate).collect()
    }
}

/// Returns the words of a text in lower case; the whole text if it has none.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|char: char| !char.is_alphanumeric()).filter(|part| !part.is_empty());
    let words: Vec<_> = parts.map(str::to_lowercase).collect();
    if words.is_empty() { vec![text.to_owned()] } else { words }
}

/// Returns the dimension of a word: the first bytes of its hash.
fn dimension(word: &str, dimensions: usize) -> usize {
    let start = Hash::hash(word.as_bytes()).into_iter().take(8);
    let number = start.fold(0_u64, |number, byte| number << 8 | u64::from(byte));
    let dimensions = u64::try_from(dimensions).unwrap_or(u64::MAX);
    usize::try_from(number % dimensions).unwrap_or_default()
}

#[async_trait]
impl Embedder for TestEmbedder {
    /// Returns the vectors of the texts, or the error of this request.
    ///
    /// # Errors
    /// [`ModelError::Setup`] for an empty text, and the errors of
    /// [`fail_request`](TestEmbedder::fail_request).
    async fn embed(&self, request: EmbedRequest<'_>) -> Result<Embeddings, ModelError> {
        request.check()?;
        {
            let mut log = self.log();
            let index = log.requests.len();
            let texts = request.texts.iter().map(|&text| text.to_owned()).collect();
            log.requests.push((request.purpose, texts));
            if let Some(error) = log.failures.remove(&index) {
                return Err(error);
            }
        }
        Ok(Embeddings::new(request.texts.iter().map(|text| self.vector(text)).collect()))
    }

    fn id(&self) -> String {
        format!("test/{}", self.dimensions)
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.dimensions)
    }

    fn limits(&self) -> EmbedLimits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::TestEmbedder;

    #[test]
    fn vectors_are_stable_across_versions() {
        let embedder = TestEmbedder::new(8);
        for (text, expected) in [
            ("Oslo", vec![(6, 1.0)]),
            ("Größe!", vec![(7, 1.0)]),
            ("?!", vec![(4, 1.0)]),
            ("fjord deep Fjord FJORD deep deep deep", vec![(3, 0.6), (4, 0.8)]),
        ] {
            let vector = embedder.vector(text);
            let nonzero: Vec<_> =
                vector.into_iter().enumerate().filter(|(_, number)| *number != 0.0).collect();
            assert_eq!(nonzero, expected, "{text}");
        }
    }

    #[test]
    fn every_text_has_a_unit_vector() {
        for dimensions in [0, 1, 2, 64] {
            let embedder = TestEmbedder::new(dimensions);
            for text in [" ", "?!", "Oslo", "oslo OSLO", "fjord fjord deep", "☃", "a b c d e f g"]
            {
                let vector = embedder.vector(text);
                assert_eq!(vector.len(), dimensions.max(1));
                let norm = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
                assert!((norm - 1.0).abs() < 1e-6, "{text:?} {vector:?}");
            }
        }
        let embedder = TestEmbedder::new(64);
        assert_eq!(embedder.vector("Oslo, Lima"), embedder.vector("LIMA oslo!"));
    }
}
