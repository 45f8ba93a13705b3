//! The error of changes through a registrar.

use crate::catalog::{CatalogError, EntryId};
use crate::spec::BodyLanguage;

/// The reason why a change through a [`Registrar`](crate::Registrar) failed. Neither the catalog
/// nor the registry is changed.
///
/// ```
/// use tool_runtime::dynamic::{EntryId, RegistrarError};
///
/// let error = RegistrarError::NameTaken { id: EntryId::tool("read") };
/// let text = "tool `read`: the program has a tool or provider of this name; use another name";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrarError {
    /// The catalog refused the change, or can't be reached.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A tool of the program has the name, or a provider that is not in the catalog.
    #[error("{id}: the program has a tool or provider of this name; use another name")]
    NameTaken {
        /// The entry that was refused.
        id: EntryId,
    },
    /// No backend of the program builds tools in this language.
    #[error(
        "tool `{name}`: the program has no backend for bodies in {language}; add one with `RegistrarBuilder::backend`"
    )]
    NoBackend {
        /// The name of the tool.
        name: String,
        /// The language of the body.
        language: BodyLanguage,
    },
    /// The registrar was stopped, or the registry was dropped.
    #[error("the registrar was stopped")]
    Stopped,
}
