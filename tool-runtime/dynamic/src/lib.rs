//! Tools that a program or a model makes at run time, built on the public API of
//! [tool-runtime](https://docs.rs/tool-runtime).
//!
//! A [`ToolSpec`] describes a tool as data: its name, description, arguments, effect and body.
//! [`ToolSpec::check`] reports all errors in it at once. A [`ToolBackend`] turns the
//! [`CheckedSpec`] into a tool, which is called like every other tool.
//!
//! | feature | item | what it does |
//! |---|---|---|
//! | `catalog` | `Catalog` | stores dynamic tools and connections to MCP servers |
//! | `catalog` | `Registrar` | registers the entries of a catalog, and applies its changes |
//! | `catalog` | `DynamicTools` | provides the tools with which a model makes tools |
//! | `catalog` | `CatalogConnections` | keeps the MCP connections that a model makes |
//! | `javascript` | `JavaScript` | makes tools whose bodies are scripts, without a toolchain |
//! | `fetch` | `JavaScript::web` | lets scripts send requests through the client of `tool_runtime::web::Web` |
//! | `rust-tools` | `RustTools` | compiles bodies in Rust and runs them in sandboxes (Linux) |
//! | `keyring` | `KeyringSecrets` | keeps secrets of connections in the keyring of the system |
//!
//! The [guide] has a page for each task.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
#[cfg(feature = "catalog")]
mod catalog;
#[cfg(any(doc, doctest))]
#[path = "docs/guide.rs"]
pub mod guide;
#[cfg(feature = "javascript")]
mod javascript;
#[cfg(feature = "catalog")]
mod registrar;
#[cfg(all(feature = "rust-tools", target_os = "linux"))]
mod rust;
#[cfg(feature = "catalog")]
mod secrets;
mod spec;
#[cfg(feature = "catalog")]
mod tools;

pub use backend::ToolBackend;
#[cfg(feature = "catalog")]
pub use catalog::{
    Catalog, CatalogContents, CatalogEntry, CatalogError, Connection, ConnectionTarget,
    EntryContent, EntryId, EntryKind, EntryVersion,
};
#[cfg(feature = "javascript")]
pub use javascript::JavaScript;
#[cfg(feature = "catalog")]
pub use registrar::{
    EntryState, EntryStatus, Registrar, RegistrarBuilder, RegistrarError, RegistrarEvent,
};
#[cfg(all(feature = "rust-tools", target_os = "linux"))]
pub use rust::{RustTools, RustToolsError};
#[cfg(feature = "catalog")]
pub use secrets::{EnvironmentSecrets, FileSecrets, Secret, SecretError, SecretStore};
#[cfg(feature = "keyring")]
pub use secrets::{KeyringSecrets, keyring_core};
pub use spec::{
    ArgumentField, ArgumentType, BodyLanguage, CheckedField, CheckedSpec, CheckedType, ElementType,
    ExampleCall, Presence, SpecError, SpecErrors, ToolSpec,
};
#[cfg(feature = "catalog")]
pub use tools::{CatalogConnections, DynamicTools, tools};
