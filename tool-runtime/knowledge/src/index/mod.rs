//! Adding of documents: only what changed is divided, embedded and written.

pub(crate) mod chunk;
pub(crate) mod folder;
mod page;
mod text_blocks;
pub(crate) mod vectors;

use std::collections::HashMap;

use tool_core::models::Embedder;

use crate::Knowledge;
use crate::document::{Document, DocumentFormat};
use crate::error::KnowledgeError;
use crate::store::{Digest, DocumentRecord, IndexedChunk, IndexedDocument};
use chunk::chunks;
use page::page_text;
use vectors::{ChunkVectors, embedded_text};

/// The most documents that are written at once.
const BATCH: usize = 256;

/// The bytes of documents after which a batch ends: other writers wait for the one of a batch.
const BATCH_BYTES: usize = 4 << 20;

/// The result of adding a document or a fact: whether it is new.
///
/// ```
/// use tool_runtime::knowledge::{Added, Document, Knowledge, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// let note = Document::text("note", "Buy milk.");
/// assert_eq!(knowledge.add(note.clone()).await?, Added::New);
/// assert_eq!(knowledge.add(note.clone()).await?, Added::Unchanged);
/// assert_eq!(knowledge.add(note.metadata("kind", "todo")).await?, Added::Replaced);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Added {
    /// The document or the fact was not stored before.
    New,
    /// A document of the same source, or a fact about the same subject, was replaced.
    Replaced,
    /// An equal document was stored already, or a fact with the same words, about the same subject
    /// or also about none.
    Unchanged,
}

/// The result of [`Knowledge::add_all`]: numbers of documents, and of chunks that were embedded.
///
/// ```
/// use tool_runtime::knowledge::AddReport;
///
/// assert_eq!(AddReport::default().embedded_chunks, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddReport {
    /// Documents that were not stored before.
    pub new: usize,
    /// Documents that replaced one of the same source.
    pub replaced: usize,
    /// Documents that were stored already.
    pub unchanged: usize,
    /// Chunks that were embedded. The vectors of other chunks were stored already.
    pub embedded_chunks: usize,
}

impl Knowledge {
    /// Adds a document, or replaces the one of the same source and tenant.
    ///
    /// # Errors
    /// Returns an error if the store or the embedder fails. If no chunk was embedded, the stored
    /// document is unchanged. If some chunks were embedded, the new version is stored, and the
    /// chunks without vectors are found by words only: add the document again to embed these.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, Knowledge, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// knowledge.add(Document::code("main.rs", "fn main() {}")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn add(&self, document: Document) -> Result<Added, KnowledgeError> {
        let report = self.add_all([document]).await?;
        Ok(match report {
            AddReport { new: 1, .. } => Added::New,
            AddReport { replaced: 1, .. } => Added::Replaced,
            _ => Added::Unchanged,
        })
    }

    /// Adds or replaces many documents. Those that were added before an error stay: a document is
    /// stored as soon as the embedder has made its vectors, one
    /// [request](tool_core::models::EmbedLimits) after another.
    ///
    /// # Errors
    /// Returns an error if the store or the embedder fails. Add the documents again to continue: no
    /// text is embedded twice, as in [`add`](Self::add).
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, Knowledge, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// let notes = ["Buy milk.", "Call Ada."].map(|text| Document::text(text, text));
    /// assert_eq!(knowledge.add_all(notes).await?.new, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn add_all(
        &self,
        documents: impl IntoIterator<Item = Document, IntoIter: Send> + Send,
    ) -> Result<AddReport, KnowledgeError> {
        let mut report = AddReport::default();
        let mut documents = documents.into_iter();
        loop {
            let batch = next_batch(&mut documents);
            if batch.is_empty() {
                return Ok(report);
            }
            self.add_batch(batch, &mut report).await?;
        }
    }

    async fn add_batch(
        &self,
        batch: Vec<Document>,
        report: &mut AddReport,
    ) -> Result<(), KnowledgeError> {
        let stored = self.stored_records(&batch).await?;
        let mut changed = Vec::new();
        for document in batch {
            let record = self.record_of(&document);
            match stored.get(&(document.tenant.clone(), document.source.clone())) {
                Some(stored) if *stored == record => report.unchanged += 1,
                Some(_) => {
                    changed.push(IndexedDocument::new(record, divide(document).await));
                    report.replaced += 1;
                }
                None => {
                    changed.push(IndexedDocument::new(record, divide(document).await));
                    report.new += 1;
                }
            }
        }
        match &self.embedder {
            Some(embedder) => self.embed_and_put(embedder.as_ref(), changed, report).await,
            None if changed.is_empty() => Ok(()),
            None => Ok(self.store.put(changed).await?),
        }
    }

    /// Puts each document as soon as its vectors are known, so that a failure of the embedder loses
    /// no vectors.
    async fn embed_and_put(
        &self,
        embedder: &dyn Embedder,
        documents: Vec<IndexedDocument>,
        report: &mut AddReport,
    ) -> Result<(), KnowledgeError> {
        let mut vectors = ChunkVectors::of(&documents, &self.store, embedder).await?;
        let mut waiting = documents.into_iter().peekable();
        loop {
            let mut finished = Vec::new();
            while let Some(document) = waiting.peek_mut()
                && vectors.set(document)
            {
                finished.extend(waiting.next());
            }
            if !finished.is_empty() {
                self.store.put(finished).await?;
            }
            match vectors.embed_batch(embedder).await {
                Ok(0) => return Ok(()),
                Ok(count) => report.embedded_chunks += count,
                Err(error) => {
                    let partial = waiting.next().and_then(|document| vectors.partial(document));
                    if let Some(partial) = partial {
                        self.store.put(vec![partial]).await?;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Divides and embeds a document without storing it.
    pub(crate) async fn indexed(
        &self,
        document: Document,
    ) -> Result<IndexedDocument, KnowledgeError> {
        let record = self.record_of(&document);
        let mut indexed = IndexedDocument::new(record, divide(document).await);
        if let Some(embedder) = &self.embedder {
            let documents = std::slice::from_ref(&indexed);
            let mut vectors = ChunkVectors::of(documents, &self.store, embedder).await?;
            while vectors.embed_batch(embedder).await? > 0 {}
            vectors.set(&mut indexed);
        }
        Ok(indexed)
    }

    /// Returns the record with which a document is stored.
    fn record_of(&self, document: &Document) -> DocumentRecord {
        let mut record =
            DocumentRecord::new(&document.tenant, &document.source, digest_of(document));
        record.embedder = self.embedder.as_ref().map(Embedder::id).unwrap_or_default();
        record.metadata.clone_from(&document.metadata);
        record
    }

    /// Returns the stored records of the documents of a batch, by tenant and source.
    pub(crate) async fn stored_records(
        &self,
        batch: &[Document],
    ) -> Result<HashMap<(String, String), DocumentRecord>, KnowledgeError> {
        let mut sources: HashMap<&str, Vec<&str>> = HashMap::new();
        for document in batch {
            sources.entry(&document.tenant).or_default().push(&document.source);
        }
        let mut stored = HashMap::new();
        for (tenant, sources) in sources {
            let found = self.store.find(tenant, &sources).await?;
            let found = found.into_iter().map(|(source, it)| ((tenant.to_owned(), source), it));
            stored.extend(found);
        }
        Ok(stored)
    }
}

/// Takes the documents of the next batch.
fn next_batch(documents: &mut impl Iterator<Item = Document>) -> Vec<Document> {
    let mut batch: Vec<Document> = Vec::new();
    let (mut count, mut bytes) = (0, 0);
    while count < BATCH
        && bytes < BATCH_BYTES
        && let Some(document) = documents.next()
    {
        count += 1;
        bytes += document.text.len();
        // A later document of the same source replaces an earlier one.
        batch.retain(|it| (&it.tenant, &it.source) != (&document.tenant, &document.source));
        batch.push(document);
    }
    batch
}

async fn divide(document: Document) -> Vec<IndexedChunk> {
    let Document { source, text, format, .. } = document;
    let text = match format {
        DocumentFormat::Html => page_text(&source, text).await,
        _ => text,
    };
    let parts = chunks(&text, format).into_iter();
    let chunk = |part: chunk::Chunk| {
        let text = text.get(part.range.clone())?;
        let digest = hmac_sha256::Hash::hash(embedded_text(&part.heading, text).as_bytes());
        let mut chunk = IndexedChunk::new(part.range.start, text, digest);
        chunk.heading = part.heading;
        Some(chunk)
    };
    parts.filter_map(chunk).collect()
}

/// Identifies the content of a document and how it is divided.
fn digest_of(document: &Document) -> Digest {
    // Stored digests contain these names, so a renamed format keeps its name here.
    let format = match document.format {
        DocumentFormat::Text => "Text",
        DocumentFormat::Markdown => "Markdown",
        DocumentFormat::Code => "Code",
        DocumentFormat::Html => "Html",
    };
    // In parts, because a text may be large.
    let mut hash = hmac_sha256::Hash::new();
    hash.update(format!("{}\n\"{format}\"\n", chunk::VERSION));
    hash.update(&document.text);
    hash.finalize()
}

#[cfg(test)]
mod tests {
    use super::{BATCH_BYTES, Document, next_batch};

    #[test]
    fn batches_are_bounded_by_documents_and_bytes() {
        for (len, count, expected) in [
            (1, 600, &[256, 256, 88][..]),
            (BATCH_BYTES / 100, 210, &[101, 101, 8]),
            (2 * BATCH_BYTES, 3, &[1, 1, 1]),
        ] {
            let text = "x".repeat(len);
            let mut documents =
                (0..count).map(|number: usize| Document::text(number.to_string(), &text));
            let batches = std::iter::from_fn(|| Some(next_batch(&mut documents).len()));
            let batches: Vec<usize> = batches.take_while(|len| *len > 0).collect();
            assert_eq!(batches, expected, "{len}");
        }
        let same = ["a", "b", "a"].map(|source| Document::text(source, "x"));
        let batch = next_batch(&mut same.into_iter());
        assert_eq!(batch.iter().map(|it| it.source.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    }
}
