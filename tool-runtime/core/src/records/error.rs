use std::error::Error;

/// The reason why a store has refused or failed an operation, which then has changed nothing.
///
/// ```
/// use tool_runtime::records::StoreError;
///
/// let error = StoreError::unavailable("the disk is full");
/// assert_eq!(error.to_string(), "store unavailable: the disk is full");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store can't be reached, or has failed. The operation may succeed later. If the
    /// connection broke while a write was confirmed, the write may have been done.
    #[error("store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// Another writer has changed the record.
    #[error(
        "`{key}` was changed by another writer: expected revision {expected}, found {actual}; \
         load it again and repeat the change"
    )]
    Conflict {
        /// The key of the record.
        key: String,
        /// The revision that the writer has seen.
        expected: u64,
        /// The revision that is stored.
        actual: u64,
    },
    /// The record of this key, which was to be changed, does not exist or was deleted.
    #[error("`{0}` is not stored, or was deleted by another writer")]
    NotFound(String),
    /// The record of this key, which was to be created, exists already.
    #[error("`{0}` exists already: load it, or choose another name")]
    AlreadyExists(String),
    /// The stored record can't be read. It is left unchanged, so that an operator can repair it.
    #[error(
        "the record of `{key}` can't be read: {reason}; it was left unchanged: repair it, or \
         delete it"
    )]
    Corrupt {
        /// The key of the record.
        key: String,
        /// The reason why it can't be read.
        reason: String,
    },
    /// A text is longer than the store accepts.
    #[error("`{key}` has {bytes} bytes; the limit is {max_bytes}")]
    TooLarge {
        /// The key, or the name of the collection, shortened.
        key: String,
        /// The size of the text in bytes.
        bytes: usize,
        /// The largest size in bytes.
        max_bytes: usize,
    },
}

impl StoreError {
    /// Creates the error of a store that can't be reached.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }

    /// Creates the error for a text that is too long, with the beginning of its key.
    pub(super) fn too_large(key: &str, bytes: usize, max_bytes: usize) -> Self {
        Self::TooLarge { key: key.chars().take(40).collect(), bytes, max_bytes }
    }

    /// Returns whether an expectation was not met: another writer has changed, created or deleted
    /// the record.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::NotFound(_) | Self::AlreadyExists(_))
    }
}
