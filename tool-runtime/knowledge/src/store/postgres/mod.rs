//! Document store in a PostgreSQL database.
//!
//! 1. `rows.rs` and `terms.rs` compute the rows of documents: stems, codes of vectors, and digests
//!    of metadata.
//! 2. `write.rs` locks the tenant, removes the earlier documents, inserts the new ones
//!    (`insert.rs`, `columns.rs`), and counts the chunks of each stem.
//! 3. `word_search.rs` and `vector_search.rs` find chunks. `read.rs` reads them.
//! 4. `create_indexes.rs` creates the indexes that `pgvector.rs` describes if the server has this
//!    extension.
//!
//! `schema.rs` has the tables.

mod columns;
mod create_indexes;
mod insert;
mod pgvector;
mod read;
mod rows;
mod schema;
mod terms;
mod vector_search;
mod word_search;
mod write;

use std::collections::HashMap;

use async_trait::async_trait;
use tool_store::deadpool_postgres::{Client, Transaction};
use tool_store::tokio_postgres::{self, IsolationLevel};
use tool_store::{ConnectError, Postgres, PostgresError, PostgresTables};

use rows::{DocumentRow, rows_of};
use vector_search::by_vector;
use word_search::by_words;

use super::incoming::checked;
use super::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedDocument, SearchFilter,
    StoredChunk,
};

/// Store for documents in the database of a [`Postgres`] store, beside sessions and other tables.
///
/// Any number of processes and machines may use one database. Writers of one tenant wait for each
/// other, and those of different tenants do not. Clones share the pool of the store.
///
/// Words are ranked by BM25, which counts only the words of the tenant. The server compares codes
/// of vectors, one bit for each dimension, and needs no extension. If it has `pgvector`,
/// [`index_vectors`](Self::index_vectors) makes searches in many vectors faster. It requires
/// PostgreSQL 14 or later.
///
/// If the connection is lost during a commit, the change may be stored although an error is
/// returned. [`put`](DocumentStore::put) and [`remove`](DocumentStore::remove) can be repeated.
///
/// ```no_run
/// use tool_runtime::knowledge::{Document, Knowledge, PostgresDocuments};
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let knowledge = Knowledge::new(PostgresDocuments::open(&store).await?);
/// knowledge.add(Document::text("notes.txt", "Buy milk.")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresDocuments(PostgresTables);

impl PostgresDocuments {
    /// Opens the tables of documents, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Postgres::tables`].
    ///
    /// ```no_run
    /// use tool_runtime::knowledge::PostgresDocuments;
    /// use tool_runtime::store::{ConnectError, Postgres};
    ///
    /// # async fn f() -> Result<(), ConnectError> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let documents = PostgresDocuments::open(&store).await?;
    /// # drop(documents);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        Ok(Self(store.tables("tool_knowledge", schema::MIGRATIONS).await?))
    }

    /// Creates indexes for the vectors of a tenant and an embedder with the extension `pgvector`,
    /// and returns whether all of these vectors have one. The embedder is named by its
    /// [id](tool_core::models::Embedder::id).
    ///
    /// Searches use an index from the moment when it is finished, in every process, and writers
    /// keep it current. Call the method when a tenant has tens of thousands of chunks, and again
    /// when its embedder changes. Repeated calls change nothing.
    ///
    /// Without an index, a search compares the codes of all vectors. The method first creates the
    /// extension if the server has it and the user may; otherwise a superuser can with
    /// `CREATE EXTENSION vector`. It returns `false` and creates no index if the tenant has no
    /// vectors, or if the extension is missing or older than 0.8. It also returns `false` if some
    /// of the vectors have more than 4,000 dimensions.
    ///
    /// An index takes about 3 bytes for each dimension of a vector, is built faster if it fits into
    /// `maintenance_work_mem`, and makes adding documents slower. Others read and write while it is
    /// built. Concurrent calls wait for each other.
    ///
    /// # Errors
    /// Returns [`DocumentStoreError::Unavailable`] if the server can't be reached, or if the user
    /// does not own the tables.
    ///
    /// # Cancellation
    /// If the future is dropped, the server may finish the index, or leave an unfinished one. The
    /// next call replaces it.
    ///
    /// ```no_run
    /// use tool_runtime::knowledge::PostgresDocuments;
    /// use tool_runtime::store::Postgres;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let documents = PostgresDocuments::open(&store).await?;
    /// let has_index = documents.index_vectors("acme", "text-embedding-3-small").await?;
    /// # drop(has_index);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn index_vectors(
        &self,
        tenant: &str,
        embedder: &str,
    ) -> Result<bool, DocumentStoreError> {
        Ok(create_indexes::create(self.0.client().await?, tenant, embedder).await?)
    }
}

/// Begins a transaction. Each statement has to see what others have committed while this one waited
/// for the lock of a tenant.
async fn begin(client: &mut Client) -> Result<Transaction<'_>, tokio_postgres::Error> {
    let level = IsolationLevel::ReadCommitted;
    client.build_transaction().isolation_level(level).start().await
}

impl From<PostgresError> for DocumentStoreError {
    fn from(error: PostgresError) -> Self {
        Self::unavailable(error)
    }
}

#[async_trait]
impl DocumentStore for PostgresDocuments {
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError> {
        read::find(&self.0.client().await?, tenant, sources).await?
    }

    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError> {
        read::list(&self.0.client().await?, tenant, prefix, after, limit).await?
    }

    async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError> {
        let documents = checked(documents)?;
        // Stems of many documents take too long for a thread that runs other tasks.
        let rows = tokio::task::spawn_blocking(|| rows_of(documents)).await;
        let rows = rows.map_err(DocumentStoreError::unavailable)?;
        let mut client = self.0.client().await?;
        let transaction = begin(&mut client).await.map_err(PostgresError::from)?;
        write::put(&transaction, &rows).await?;
        Ok(transaction.commit().await.map_err(PostgresError::from)?)
    }

    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError> {
        document.check_vectors()?;
        let document = DocumentRow::new(document);
        let mut client = self.0.client().await?;
        let transaction = begin(&mut client).await.map_err(PostgresError::from)?;
        write::put_if(&transaction, &document, expected, max_documents).await??;
        Ok(transaction.commit().await.map_err(PostgresError::from)?)
    }

    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError> {
        let mut client = self.0.client().await?;
        let transaction = begin(&mut client).await.map_err(PostgresError::from)?;
        let count = write::remove(&transaction, tenant, sources).await?;
        transaction.commit().await.map_err(PostgresError::from)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError> {
        Ok(read::vectors(&self.0.client().await?, embedder, digests).await?)
    }

    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        Ok(by_words(&self.0.client().await?, query, filter, limit).await?)
    }

    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        Ok(by_vector(&mut self.0.client().await?, embedder, vector, filter, limit).await?)
    }

    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError> {
        read::chunks(&self.0.client().await?, ids).await?
    }
}
