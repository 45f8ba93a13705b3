//! The error of remembering and recalling facts.

use crate::KnowledgeError;

/// The reason why a fact can't be remembered or recalled.
///
/// ```
/// use tool_runtime::knowledge::SqliteDocuments;
/// use tool_runtime::knowledge::memory::{Fact, Memory, MemoryError, MemoryScope};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Memory::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
/// let error = memory.remember(&MemoryScope::user("ada"), Fact::new(" ")).await.unwrap_err();
/// assert!(matches!(error, MemoryError::Length { bytes: 1, .. }));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The fact is empty or too long.
    #[error("fact has {bytes} bytes: expected at least one word and at most {max_bytes} bytes")]
    Length {
        /// The number of bytes of the fact.
        bytes: usize,
        /// The maximum number of bytes of a fact.
        max_bytes: usize,
    },
    /// The subject of the fact is too long.
    #[error("subject of the fact has {bytes} bytes: expected at most {max_bytes} bytes")]
    SubjectLength {
        /// The number of bytes of the subject.
        bytes: usize,
        /// The maximum number of bytes of a subject.
        max_bytes: usize,
    },
    /// The scope has no room for another fact.
    #[error("scope of the fact is full: it has {max_facts} facts; forget one first")]
    Full {
        /// The maximum number of facts of a scope.
        max_facts: usize,
    },
    /// The metadata of a fact can't be decoded.
    #[error("metadata of fact `{id}` can't be decoded: forget the fact, and remember it again")]
    Corrupt {
        /// The id of the fact.
        id: String,
    },
    /// The store or the embedder failed.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
}
