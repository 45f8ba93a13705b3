//! The error of operations on a catalog.

use tool_core::records::StoreError;

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
    /// Other writers changed the entry at the same time.
    #[error("{id} was changed by other writers: load it again and repeat the change")]
    Conflict {
        /// The entry that other writers changed.
        id: EntryId,
    },
    /// The catalog already has an entry of this kind and name.
    #[error("the catalog already has a {id}: replace it, or use another name")]
    AlreadyExists {
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
    #[error("the catalog is full: it has {count} of {max_entries} entries; remove some")]
    Full {
        /// The number of entries.
        count: usize,
        /// The maximum number of entries of a catalog.
        max_entries: usize,
    },
    /// The store can't be reached or has failed, or the record of the entry can't be decoded.
    #[error("catalog: {0}")]
    Store(#[from] StoreError),
}
