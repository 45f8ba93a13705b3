//! Vectors of chunks: those that are stored already, and those that the embedder makes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use tool_core::models::{EmbedRequest, Embedder};

use crate::error::KnowledgeError;
use crate::store::incoming::{MAX_COMPONENT, invalid_component};
use crate::store::{Digest, DocumentStore, IndexedChunk, IndexedDocument};

/// The vectors of the chunks of some documents, which become known batch by batch.
pub(crate) struct ChunkVectors {
    known: HashMap<Digest, Vec<f32>>,
    /// Chunks to embed and their texts, in the order of the documents.
    missing: Vec<(Digest, String)>,
    /// The requests to send, as positions in `missing`.
    batches: VecDeque<Range<usize>>,
    /// Chunks whose vectors no document in the store has yet.
    new: HashSet<Digest>,
}

impl ChunkVectors {
    /// Reads the vectors that are stored.
    pub(crate) async fn of(
        documents: &[IndexedDocument],
        store: &dyn DocumentStore,
        embedder: &dyn Embedder,
    ) -> Result<Self, KnowledgeError> {
        let chunks = || documents.iter().flat_map(|document| &document.chunks);
        let digests: Vec<Digest> = chunks().map(|chunk| chunk.digest).collect();
        let known = store.vectors(&embedder.id(), &digests).await?;
        let mut distinct = HashSet::new();
        let is_missing = |chunk: &&IndexedChunk| {
            !known.contains_key(&chunk.digest) && distinct.insert(chunk.digest)
        };
        let missing: Vec<(Digest, String)> = chunks()
            .filter(is_missing)
            .map(|chunk| (chunk.digest, embedded_text(&chunk.heading, &chunk.text)))
            .collect();
        let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
        let batches = embedder.limits().batches(&texts).collect();
        Ok(Self { known, missing, batches, new: HashSet::new() })
    }

    /// Sets the vectors of a document, and returns whether all of them are known.
    pub(crate) fn set(&self, document: &mut IndexedDocument) -> bool {
        let set = |chunk: &mut IndexedChunk| {
            chunk.vector = self.known.get(&chunk.digest).cloned();
            chunk.vector.is_some()
        };
        document.chunks.iter_mut().all(set)
    }

    /// Returns a document with those of its vectors that are known, if some of them are new.
    ///
    /// Its record is that of no complete document, so that it is replaced when it is added again.
    pub(crate) fn partial(&self, mut document: IndexedDocument) -> Option<IndexedDocument> {
        let is_new = |chunk: &IndexedChunk| self.new.contains(&chunk.digest);
        if !document.chunks.iter().any(is_new) {
            return None;
        }
        for chunk in &mut document.chunks {
            chunk.vector = self.known.get(&chunk.digest).cloned();
        }
        let digest = [b"partial ".as_slice(), &document.record.digest].concat();
        document.record.digest = hmac_sha256::Hash::hash(&digest);
        Some(document)
    }

    /// Embeds the next batch, and returns the number of its chunks; 0 if none is left.
    pub(crate) async fn embed_batch(
        &mut self,
        embedder: &dyn Embedder,
    ) -> Result<usize, KnowledgeError> {
        let Some(batch) = self.batches.pop_front() else { return Ok(0) };
        let missing = self.missing.get(batch).unwrap_or_default();
        let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embed(embedder, EmbedRequest::documents(&texts)).await?;
        self.new.extend(missing.iter().map(|(digest, _)| *digest));
        self.known.extend(missing.iter().map(|(digest, _)| *digest).zip(vectors));
        Ok(missing.len())
    }
}

/// Returns the text of which a vector is made: the headings say what a part is about.
pub(crate) fn embedded_text(heading: &str, text: &str) -> String {
    if heading.is_empty() { text.to_owned() } else { format!("{heading}\n{text}") }
}

/// Embeds texts, and checks that the vectors can be compared.
pub(crate) async fn embed(
    embedder: &dyn Embedder,
    request: EmbedRequest<'_>,
) -> Result<Vec<Vec<f32>>, KnowledgeError> {
    let expected = request.texts.len();
    let vectors = embedder.embed(request).await?.vectors;
    let actual = vectors.len();
    if expected != actual {
        return Err(KnowledgeError::VectorCount { expected, actual });
    }
    let dimensions = embedder.dimensions().or_else(|| vectors.first().map(Vec::len));
    for (index, vector) in vectors.iter().enumerate() {
        let reason = match invalid_component(vector) {
            Some(component) if component.is_finite() => {
                format!(
                    "a component is {component}, and the largest is {MAX_COMPONENT}: scale the \
                     vectors of the embedder to the length 1"
                )
            }
            Some(component) => format!("a component is {component}"),
            None if vector.is_empty() => "it has no dimensions".into(),
            None if Some(vector.len()) != dimensions => {
                format!("{} dimensions, expected {}", vector.len(), dimensions.unwrap_or_default())
            }
            None => continue,
        };
        return Err(KnowledgeError::InvalidVector { index, reason });
    }
    Ok(vectors)
}
