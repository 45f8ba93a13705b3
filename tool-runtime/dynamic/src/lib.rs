//! Tools that are made at run time, built on the public API of [`tool_runtime`].
//!
//! A tool is described by [`Pieces`]: its name, description, arguments, effect and body.
//! [`Pieces::check`] reports everything that is wrong with them at once. A [`ToolBackend`] turns
//! the [`CheckedPieces`] into a tool, which is called like every other tool.
//!
//! With the feature `catalog`, made tools and connections to MCP servers survive a restart: a
//! `Catalog` stores them, and a `Registrar` keeps a registry in step with it.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
#[cfg(feature = "catalog")]
pub mod catalog;
#[cfg(all(any(feature = "catalog", feature = "rust"), any(doc, doctest)))]
#[path = "docs/guide.rs"]
pub mod guide;
mod pieces;
#[cfg(feature = "catalog")]
mod registrar;
#[cfg(all(feature = "rust", target_os = "linux"))]
mod rust;
#[cfg(feature = "catalog")]
mod secrets;

pub use backend::ToolBackend;
#[cfg(feature = "catalog")]
pub use catalog::{
    Catalog, CatalogEntry, CatalogError, Connection, ConnectionTarget, EntryContent, EntryId,
    EntryKind, EntryVersion,
};
pub use pieces::{
    ArgumentField, BodyKind, CheckedField, CheckedPieces, ElementType, ExampleCall, FieldType,
    PieceError, PieceErrors, Pieces, Presence, Shape,
};
#[cfg(feature = "catalog")]
pub use registrar::{
    EntryState, EntryStatus, Registrar, RegistrarBuilder, RegistrarError, RegistrarEvent,
};
#[cfg(all(feature = "rust", target_os = "linux"))]
pub use rust::{RustTools, RustToolsError};
#[cfg(feature = "catalog")]
pub use secrets::{EnvironmentSecrets, FileSecrets, Secret, SecretError, SecretStore};
#[cfg(feature = "keyring")]
pub use secrets::{KeyringSecrets, keyring_core};
