//! The catalog: the tools and connections that a program adds at run time, stored for restarts.
//!
//! 1. An entry has an [`EntryId`] (`id.rs`) and [`EntryContent`] (`content.rs`, `connection.rs`),
//!    in numbered versions: [`CatalogEntry`] (`entry.rs`). `validation.rs` checks contents.
//! 2. [`Catalog`] (`operations.rs`) creates, replaces, rolls back and removes entries. Each change
//!    is one compare-and-set write of a record. `error.rs` has the reasons of failures.
//!
//! # Invariants
//! - The record of an entry has all of its versions, or names their parts and is written last: a
//!   crash leaves all of a change or nothing.
//! - A catalog contains the names of secrets, never their values.

mod connection;
mod content;
mod entry;
mod error;
mod id;
mod operations;
pub(crate) mod validation;

pub use connection::{Connection, ConnectionTarget};
pub use content::{EntryContent, EntryKind};
pub use entry::{CatalogEntry, EntryVersion};
pub use error::CatalogError;
pub use id::EntryId;
pub use operations::{Catalog, CatalogContents};
