//! The contract of document stores.

mod bm25;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod codes;
pub(crate) mod incoming;
pub(crate) mod memory;
mod nearest;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// SHA-256 digest that identifies the content of a document or a chunk.
///
/// ```
/// use tool_runtime::knowledge::Digest;
///
/// let none: Digest = [0; 32];
/// assert_eq!(none.len(), 32);
/// ```
pub type Digest = [u8; 32];

/// A document and its chunks, as a store keeps them.
///
/// ```
/// use tool_runtime::knowledge::{DocumentRecord, IndexedChunk, IndexedDocument};
///
/// let chunk = IndexedChunk::new(0, "Buy milk.", [1; 32]);
/// let document = IndexedDocument::new(DocumentRecord::new("", "note", [2; 32]), vec![chunk]);
/// assert_eq!(document.chunks.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexedDocument {
    /// The name, the digest and the metadata of the document.
    pub record: DocumentRecord,
    /// The chunks, in the order of the document.
    pub chunks: Vec<IndexedChunk>,
}

impl IndexedDocument {
    /// Creates a document of these chunks.
    pub fn new(record: DocumentRecord, chunks: Vec<IndexedChunk>) -> Self {
        Self { record, chunks }
    }
}

/// A stored document without its chunks.
///
/// ```
/// use tool_runtime::knowledge::DocumentRecord;
///
/// let record = DocumentRecord::new("acme", "leave.md", [0; 32]);
/// assert!(record.embedder.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DocumentRecord {
    /// The tenant that can find the document; empty if there are no tenants.
    pub tenant: String,
    /// Unique name within the tenant.
    pub source: String,
    /// Digest of the content and of the rules by which it is divided.
    pub digest: Digest,
    /// The [id](tool_core::models::Embedder::id) of the embedder of the vectors; empty without
    /// vectors.
    pub embedder: String,
    /// Values by which searches can filter.
    pub metadata: Map<String, Value>,
}

impl DocumentRecord {
    /// Creates a record without vectors and metadata.
    pub fn new(tenant: impl Into<String>, source: impl Into<String>, digest: Digest) -> Self {
        Self {
            tenant: tenant.into(),
            source: source.into(),
            digest,
            embedder: String::new(),
            metadata: Map::new(),
        }
    }
}

/// A chunk: a part of a document that a search finds by itself.
///
/// ```
/// use tool_runtime::knowledge::IndexedChunk;
///
/// let chunk = IndexedChunk::new(10, "Buy milk.", [0; 32]);
/// assert_eq!((chunk.start, chunk.vector), (10, None));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexedChunk {
    /// The headings above the chunk.
    pub heading: String,
    /// The byte offset of the chunk in the document.
    pub start: usize,
    /// The text of the chunk.
    pub text: String,
    /// Digest of the text and the headings.
    pub digest: Digest,
    /// The vector, of length 1, if there is an embedder.
    pub vector: Option<Vec<f32>>,
}

impl IndexedChunk {
    /// Creates a chunk without headings and vector.
    pub fn new(start: usize, text: impl Into<String>, digest: Digest) -> Self {
        Self { heading: String::new(), start, text: text.into(), digest, vector: None }
    }
}

/// Selects the chunks that a search considers.
///
/// ```
/// use tool_runtime::knowledge::SearchFilter;
///
/// let filter = SearchFilter::tenant("acme").metadata("department", "people");
/// assert_eq!(filter.metadata.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SearchFilter {
    /// The tenant of the documents.
    pub tenant: String,
    /// The values that the metadata of a document must have, by name. Values are compared as JSON:
    /// `1` and `"1"` differ.
    pub metadata: Map<String, Value>,
}

impl SearchFilter {
    /// Creates a filter that passes all documents of a tenant.
    pub fn tenant(tenant: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), metadata: Map::new() }
    }

    /// Requires a value of the metadata.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

/// A chunk that a search found, with its document.
///
/// ```
/// use tool_runtime::knowledge::StoredChunk;
///
/// let chunk = StoredChunk::new(1, "leave.md", 0, "Everyone has 30 days.");
/// assert!(chunk.heading.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredChunk {
    /// The number of the chunk in the store.
    pub id: i64,
    /// The source of the document.
    pub source: String,
    /// The metadata of the document.
    pub metadata: Map<String, Value>,
    /// The headings above the chunk.
    pub heading: String,
    /// The byte offset of the chunk in the document.
    pub start: usize,
    /// The text of the chunk.
    pub text: String,
}

impl StoredChunk {
    /// Creates a chunk without headings and metadata.
    pub fn new(id: i64, source: impl Into<String>, start: usize, text: impl Into<String>) -> Self {
        Self {
            id,
            source: source.into(),
            metadata: Map::new(),
            heading: String::new(),
            start,
            text: text.into(),
        }
    }
}

/// The reason why a document store failed.
///
/// ```
/// use tool_runtime::knowledge::DocumentStoreError;
///
/// let error = DocumentStoreError::unavailable("the server is gone");
/// assert_eq!(error.to_string(), "document store unavailable: the server is gone");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentStoreError {
    /// The store can't be reached, or refused the operation. Nothing has changed, unless the
    /// connection was lost during a commit: then the change may have been made.
    #[error("document store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The stored record can't be decoded: another program has changed it, or the disk is failing.
    #[error(
        "record of document `{source_name}` can't be decoded: remove the document, and add it again"
    )]
    Corrupt {
        /// The source of the document.
        source_name: String,
    },
    /// The document has changed since it was read. Read it again, and repeat the change.
    #[error(
        "document `{source_name}` has changed since it was read: read it again, and repeat the change"
    )]
    Conflict {
        /// The source of the document.
        source_name: String,
    },
    /// The tenant has no room for another document.
    #[error("tenant has {max_documents} documents, and no room for another; remove one first")]
    TenantFull {
        /// The maximum number of documents of the tenant.
        max_documents: usize,
    },
    /// A vector has a component that can't be indexed. Nothing has changed.
    #[error(
        "a vector of document `{source_name}` has the component {component}, expected a number \
         from -65504 to 65504: scale its vectors to the length 1"
    )]
    InvalidVector {
        /// The source of the document.
        source_name: String,
        /// The first component that is infinite, NaN or out of range.
        component: f32,
    },
}

impl DocumentStoreError {
    /// Creates the error of a store that can't be reached.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

/// Storage backend for documents, which finds their chunks by words and by vectors.
///
/// [`MemoryDocuments`](crate::MemoryDocuments) keeps them in memory, `SqliteDocuments` (feature
/// `sqlite`) in a file, and `PostgresDocuments` (feature `postgres`) in a database. The crate
/// `tool-conformance` tests an implementation against these rules.
///
/// ```
/// use tool_runtime::knowledge::{DocumentStore, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteDocuments::open(&Sqlite::in_memory()?).await?;
/// assert!(store.list("", "", None, 10).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait DocumentStore: Send + Sync + Debug {
    /// Returns the records of these documents of a tenant, by their sources. Documents that are not
    /// stored are left out.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError>;

    /// Lists documents of a tenant whose source begins with `prefix`, sorted by the bytes of their
    /// sources, from the first one after `after`.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError>;

    /// Stores documents, and replaces those of the same tenant and source: all of them or none,
    /// also if the future is dropped. Of several documents of one tenant and source, the last one
    /// is stored.
    ///
    /// # Errors
    /// - [`DocumentStoreError::InvalidVector`] if a vector has a component that
    ///   [`IndexedDocument::check_vectors`] refuses. Nothing has changed then.
    /// - Another error if the store can't be written.
    async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError>;

    /// Stores a document, or replaces the one of the same tenant and source, if the stored record
    /// is still the `expected` one; `None` expects that there is none. A new document is stored
    /// only if the tenant has fewer than `max_documents`.
    ///
    /// Of concurrent calls that expect the same record, one succeeds.
    ///
    /// # Errors
    /// - [`DocumentStoreError::Conflict`] if another record than the expected one is stored.
    /// - [`DocumentStoreError::TenantFull`] if the tenant has `max_documents` others.
    /// - [`DocumentStoreError::InvalidVector`], as for [`put`](Self::put).
    /// - Another error if the store can't be written.
    ///
    /// Nothing has changed after the first three errors.
    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError>;

    /// Removes documents of a tenant, and returns how many were stored.
    ///
    /// # Errors
    /// Returns an error if the store can't be written.
    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError>;

    /// Returns the vectors of an embedder that are stored for these digests of chunks, so that no
    /// text is embedded twice.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError>;

    /// Returns the numbers of the chunks that contain words of a query, best first, ranked by BM25.
    ///
    /// Words are compared by their English stems, so `houses` finds `house`. The query is plain
    /// text: operators of a query language are words or punctuation.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError>;

    /// Returns the numbers of the chunks whose vectors of this embedder are closest to a vector,
    /// best first, ranked by the dot product.
    ///
    /// Vectors of another length are not compared. A search for a vector with components that are
    /// infinite or NaN returns nothing.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError>;

    /// Returns the chunks with these numbers, in this order. Chunks that were removed in the
    /// meantime are left out.
    ///
    /// # Errors
    /// Returns an error if the store can't be read.
    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError>;
}

/// Forwards to the store in the `Arc`.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<S: DocumentStore + ?Sized> DocumentStore for Arc<S> {
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError> {
        self.as_ref().find(tenant, sources).await
    }

    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError> {
        self.as_ref().list(tenant, prefix, after, limit).await
    }

    async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError> {
        self.as_ref().put(documents).await
    }

    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError> {
        self.as_ref().put_if(document, expected, max_documents).await
    }

    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError> {
        self.as_ref().remove(tenant, sources).await
    }

    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError> {
        self.as_ref().vectors(embedder, digests).await
    }

    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        self.as_ref().search_words(query, filter, limit).await
    }

    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        self.as_ref().search_vectors(embedder, vector, filter, limit).await
    }

    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError> {
        self.as_ref().chunks(ids).await
    }
}
