//! Document store in an SQLite file.
//!
//! Words are found by the index FTS5 of SQLite, which ranks them by BM25. It holds stems
//! (`words.rs`) and not the texts. Vectors are found in two steps: the codes of few bytes,
//! which lie in blocks (`blocks.rs`), are compared, and then the vectors of the closest ones.
//!
//! - `schema.rs`, `write.rs`, `read.rs`: the tables and their rows.
//! - `word_search.rs`, `small_tenant.rs`, `vector_search.rs`: searches, which `filter.rs`
//!   restricts.
//! - `word_counts.rs`: which words are too frequent for a search.

mod blocks;
mod filter;
mod read;
mod schema;
mod small_tenant;
mod vector_bytes;
mod vector_search;
mod word_counts;
mod word_search;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tool_store::rusqlite::Transaction;
use tool_store::{OpenError, Sqlite, SqliteError, SqliteTables};

use vector_search::by_vector;
use word_counts::WordCounts;
use word_search::{Bounds, by_words};

use super::incoming::checked;
use super::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedDocument, SearchFilter,
    StoredChunk,
};

/// The pages of the file that a connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 32 << 10;

/// Store for documents in the file of an [`Sqlite`] store. Clones share one connection.
///
/// A search by vectors takes memory for the codes of 1,024 chunks at a time, however many documents
/// there are. A filter of metadata also takes memory for the numbers of the chunks that pass it.
///
/// ```
/// use tool_runtime::knowledge::{Document, Knowledge, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("documents-{}.db", std::process::id()));
/// let store = Sqlite::open(&path).await?;
/// let knowledge = Knowledge::new(SqliteDocuments::open(&store).await?);
/// knowledge.add(Document::text("notes.txt", "Buy milk.")).await?;
/// # drop((store, knowledge));
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteDocuments {
    tables: SqliteTables,
    counts: Arc<Mutex<WordCounts>>,
}

impl SqliteDocuments {
    /// Opens the tables of documents, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Sqlite::tables`].
    ///
    /// ```
    /// use tool_runtime::knowledge::SqliteDocuments;
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let documents = SqliteDocuments::open(&Sqlite::in_memory()?).await?;
    /// # drop(documents);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: &Sqlite) -> Result<Self, OpenError> {
        let tables = store.tables("knowledge", schema::MIGRATIONS).await?;
        // A search reads the same pages several times. Without the larger cache, it only is slower.
        let _ = tables.read(|it| it.pragma_update(None, "cache_size", -CACHE_KIB)).await;
        Ok(Self { tables, counts: Arc::default() })
    }
}

impl From<SqliteError> for DocumentStoreError {
    fn from(error: SqliteError) -> Self {
        Self::Unavailable(error.into())
    }
}

#[async_trait]
impl DocumentStore for SqliteDocuments {
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError> {
        let (tenant, sources) = (tenant.to_owned(), owned(sources));
        self.tables.read(move |it| read::find(it, &tenant, &sources)).await?
    }

    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError> {
        let (tenant, prefix) = (tenant.to_owned(), prefix.to_owned());
        let after = after.map(str::to_owned);
        self.tables
            .read(move |it| read::list(it, &tenant, &prefix, after.as_deref(), limit))
            .await?
    }

    async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError> {
        let documents = checked(documents)?;
        Ok(self.tables.write(move |it| write::put(it, &documents)).await?)
    }

    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError> {
        document.check_vectors()?;
        let expected = expected.cloned();
        let put = move |transaction: &Transaction<'_>| {
            write::put_if(transaction, &document, expected.as_ref(), max_documents)
        };
        self.tables.write(put).await?
    }

    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError> {
        let (tenant, sources) = (tenant.to_owned(), owned(sources));
        Ok(self.tables.write(move |it| write::remove(it, &tenant, &sources)).await?)
    }

    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError> {
        let (embedder, digests) = (embedder.to_owned(), digests.to_owned());
        Ok(self.tables.read(move |it| read::vectors(it, &embedder, &digests)).await?)
    }

    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        let (query, filter) = (crate::words::query_stems(query), filter.clone());
        let counts = Arc::clone(&self.counts);
        let search = move |transaction: &Transaction<'_>| {
            by_words(transaction, &counts, &query, &filter, limit, Bounds::default())
        };
        Ok(self.tables.read(search).await?)
    }

    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        let (embedder, vector, filter) = (embedder.to_owned(), vector.to_owned(), filter.clone());
        let search = move |transaction: &Transaction<'_>| {
            by_vector(transaction, &embedder, &vector, &filter, limit)
        };
        Ok(self.tables.read(search).await?)
    }

    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError> {
        let ids = ids.to_owned();
        self.tables.read(move |it| read::chunks(it, &ids)).await?
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Converts a count into the type of a column.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
