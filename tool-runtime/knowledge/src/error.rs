//! The error of adding and searching documents.

use std::io;
use std::path::PathBuf;

use tool_core::ModelError;

use crate::store::DocumentStoreError;

/// The reason why documents can't be added or searched.
///
/// ```
/// use tool_runtime::knowledge::{Knowledge, KnowledgeError, SqliteDocuments};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// let error = knowledge.add_folder("no/such/folder", "").await.unwrap_err();
/// assert!(matches!(error, KnowledgeError::Folder { .. }));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnowledgeError {
    /// The document store failed.
    #[error(transparent)]
    Store(#[from] DocumentStoreError),
    /// The request to the embedder failed.
    #[error("texts can't be embedded: {0}")]
    Embedder(#[from] ModelError),
    /// The embedder returned another number of vectors than there are texts.
    #[error("embedder returned {actual} vectors for {expected} texts")]
    VectorCount {
        /// The number of texts.
        expected: usize,
        /// The number of vectors.
        actual: usize,
    },
    /// The embedder returned a vector that can't be compared with others.
    #[error("embedder returned an invalid vector for text {index}: {reason}")]
    InvalidVector {
        /// The index of the text in the request, from 0.
        index: usize,
        /// The reason why it can't be compared.
        reason: String,
    },
    /// A folder can't be read.
    #[error("folder {} can't be read: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
