//! Search in the documents of a program, by words and by meaning.
//!
//! [`Knowledge`] adds documents to a [`DocumentStore`] and searches them for the program and for
//! the model. [`Memory`](memory::Memory) remembers facts in such a store.
//!
//! tool-runtime exports this crate as `tool_runtime::knowledge`, by the feature `knowledge`. Its
//! [guide](https://docs.rs/tool-runtime) has the pages `knowledge` and `memory`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # The path of a document
// 1. `document.rs`: the program adds a `Document`, or a folder (`index/folder.rs`).
// 2. `index/` skips a document that is stored and has not changed. Otherwise `page.rs` converts it
//    if it is HTML, `chunk.rs` divides it between its blocks (`text_blocks.rs`), and the embedder
//    embeds those chunks that are new (`vectors.rs`).
// 3. A `DocumentStore` checks it (`store/incoming.rs`) and stores it: `store/memory.rs` in
//    memory, `store/sqlite` in a file, and `store/postgres` in a database. The last two find
//    vectors by `codes.rs` and `nearest.rs`.
//
// # The path of a query
// 1. The store ranks chunks by words, and by the vector of the query.
// 2. `fusion.rs` merges both rankings.
// 3. `passage.rs` returns the best chunks as passages, each with the part that matches best.

mod document;
mod error;
mod fusion;
mod index;
pub mod memory;
mod passage;
mod store;
mod tools;
mod words;

use std::fmt;
use std::sync::Arc;

use tool_core::models::{EmbedRequest, Embedder};

pub use document::{Document, DocumentFormat};
pub use error::KnowledgeError;
pub use fusion::Fusion;
pub use index::folder::FolderReport;
pub use index::{AddReport, Added};
pub use passage::Passage;
pub use store::memory::MemoryDocuments;
#[cfg(feature = "postgres")]
pub use store::postgres::PostgresDocuments;
#[cfg(feature = "sqlite")]
pub use store::sqlite::SqliteDocuments;
pub use store::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedChunk, IndexedDocument,
    SearchFilter, StoredChunk,
};

use crate::words::beginning;
use index::vectors::embed;

/// The number of chunks that each ranking contributes.
const RANKED: usize = 100;

/// Documents that a model can search: the tool `knowledge_search`.
///
/// Documents are divided into chunks by their structure, and searched by words (BM25). With an
/// [`embedder`](Self::embedder), they are searched by meaning, too, and both rankings are
/// [fused](Fusion).
///
/// ```
/// use tool_runtime::knowledge::{Document, Knowledge, SearchFilter, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// knowledge.add(Document::markdown("leave.md", "# Leave\n\nEveryone has 30 days.")).await?;
/// knowledge.add(Document::markdown("travel.md", "# Travel\n\nBook by train.")).await?;
///
/// let found = knowledge.search("How many days of leave?", &SearchFilter::default(), 5).await?;
/// assert_eq!(found[0].source, "leave.md");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Knowledge {
    store: Arc<dyn DocumentStore>,
    embedder: Option<Arc<dyn Embedder>>,
    fusion: Fusion,
    filter: SearchFilter,
}

impl Knowledge {
    /// Creates the search over the documents of a store. Without an embedder, it searches by words
    /// only.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Knowledge, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// # drop(knowledge);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(store: impl DocumentStore + 'static) -> Self {
        Self {
            store: Arc::new(store),
            embedder: None,
            fusion: Fusion::default(),
            filter: SearchFilter::default(),
        }
    }

    /// Searches by meaning as well, with the vectors of this embedder.
    ///
    /// Documents that were added with another embedder, or with none, are found by words until they
    /// are added again.
    #[must_use]
    pub fn embedder(mut self, embedder: impl Embedder + 'static) -> Self {
        self.embedder = Some(Arc::new(embedder));
        self
    }

    /// Sets the weights with which the rankings by words and by vectors are merged.
    #[must_use]
    pub fn fusion(mut self, fusion: Fusion) -> Self {
        self.fusion = fusion;
        self
    }

    /// Sets which documents the tool `knowledge_search` finds. Default: those of the empty tenant.
    ///
    /// A model can't widen the filter.
    #[must_use]
    pub fn filter(mut self, filter: SearchFilter) -> Self {
        self.filter = filter;
        self
    }

    /// Returns the passages that match a query best, best first.
    ///
    /// Of a long query, the first 256 words of its first 16 KiB are searched, and the first 1,500
    /// bytes are embedded.
    ///
    /// # Errors
    /// Returns an error if the store or the embedder fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, Knowledge, SearchFilter, SqliteDocuments};
    /// use tool_runtime::models::TestEmbedder;
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteDocuments::open(&Sqlite::in_memory()?).await?;
    /// let knowledge = Knowledge::new(store).embedder(TestEmbedder::new(64));
    /// let note = Document::text("note", "Buy milk.").tenant("ada").metadata("kind", "note");
    /// knowledge.add(note).await?;
    ///
    /// let ada = SearchFilter::tenant("ada");
    /// assert_eq!(knowledge.search("milk", &ada, 5).await?.len(), 1);
    /// let mails = ada.metadata("kind", "mail");
    /// assert!(knowledge.search("milk", &mails, 5).await?.is_empty());
    /// assert!(knowledge.search("milk", &SearchFilter::tenant("bob"), 5).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn search(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<Passage>, KnowledgeError> {
        let query = query.trim();
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let ranked = RANKED.max(limit);
        let words = self.store.search_words(query, filter, ranked).await?;
        let vectors = match &self.embedder {
            Some(embedder) if self.fusion.vectors > 0.0 => {
                let text = beginning(query, index::chunk::MAX_BYTES);
                let vectors = embed(embedder, EmbedRequest::queries(&[text])).await?;
                let vector = vectors.into_iter().next().unwrap_or_default();
                self.store.search_vectors(&embedder.id(), &vector, filter, ranked).await?
            }
            _ => Vec::new(),
        };
        let mut best = self.fusion.merge(&words, &vectors);
        best.truncate(limit);
        let ids: Vec<i64> = best.iter().map(|(id, _)| *id).collect();
        let chunks = self.store.chunks(&ids).await?;
        let scored = |chunk: StoredChunk| {
            let score = best.iter().find(|(id, _)| *id == chunk.id).map_or(0.0, |(_, it)| *it);
            Passage::new(chunk, score, query)
        };
        Ok(chunks.into_iter().map(scored).collect())
    }

    /// Removes documents of a tenant by their sources, and returns how many there were.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, Knowledge, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// knowledge.add(Document::text("note", "Buy milk.")).await?;
    /// assert_eq!(knowledge.remove("", &["note", "other"]).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, KnowledgeError> {
        Ok(self.store.remove(tenant, sources).await?)
    }

    /// Returns the store, for instance to list what it contains.
    pub fn store(&self) -> &Arc<dyn DocumentStore> {
        &self.store
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge")
            .field("store", &self.store)
            .field("embedder", &self.embedder.as_ref().map(Embedder::id))
            .field("fusion", &self.fusion)
            .field("filter", &self.filter)
            .finish()
    }
}
