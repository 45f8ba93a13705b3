//! The error of operations on a catalog.

use std::error::Error;

use super::id::EntryId;

/// The reason why an operation on a catalog failed. The catalog is unchanged.
///
/// ```
/// use tool_runtime::dynamic::{CatalogError, EntryId};
///
/// let error = CatalogError::NotFound { id: EntryId::tool("add") };
/// assert_eq!(error.to_string(), "the catalog has no tool `add`");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The stored record has another revision, or does not exist.
    #[error("{kind} `{name}` is no longer at revision {revision}: load it and repeat the change")]
    Conflict {
        /// The kind of the record.
        kind: String,
        /// The name of the record.
        name: String,
        /// The revision that the write was based on.
        revision: u64,
    },
    /// The catalog already has an entry of this kind and name.
    #[error("the catalog already has a {id}: replace it, or use another name")]
    Exists {
        /// The existing entry of the catalog.
        id: EntryId,
    },
    /// The catalog has no entry of this kind and name.
    #[error("the catalog has no {id}")]
    NotFound {
        /// The entry that was looked up.
        id: EntryId,
    },
    /// The entry has no version of this number: it never had one, or has evicted it.
    #[error("{id} has no version {version}: it has {first} to {last}")]
    UnknownVersion {
        /// The entry that has other versions.
        id: EntryId,
        /// The version that was requested.
        version: u64,
        /// The oldest version that the entry has.
        first: u64,
        /// The latest version that the entry has.
        last: u64,
    },
    /// The name or the content of an entry is invalid.
    #[error("invalid {id}: {reason}")]
    Invalid {
        /// The entry that was refused.
        id: EntryId,
        /// The reason for the refusal.
        reason: String,
    },
    /// The catalog has the maximum number of entries.
    #[error("the catalog is full: it has {count} of {limit} entries; remove some")]
    Full {
        /// The number of entries.
        count: usize,
        /// The limit of the catalog.
        limit: usize,
    },
    /// A stored record can't be decoded.
    #[error("catalog record {kind} `{name}` can't be decoded: {reason}; remove the record")]
    CorruptRecord {
        /// The kind of the record.
        kind: String,
        /// The name of the record.
        name: String,
        /// The reason why the record can't be decoded.
        reason: String,
    },
    /// The store can't be reached, or has failed.
    #[error("catalog store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

impl CatalogError {
    /// Creates the error of a store that can't be reached.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }

    /// Creates the error of a write that is based on another revision than the stored one.
    pub fn conflict(kind: &str, name: &str, revision: u64) -> Self {
        Self::Conflict { kind: kind.to_owned(), name: name.to_owned(), revision }
    }
}
