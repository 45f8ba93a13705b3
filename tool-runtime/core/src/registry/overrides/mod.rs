//! Descriptions and preferences of tools that are stored, and shared by all processes.
//!
//! `shared.rs`: a [`SharedOverrides`] has a copy in memory and a task that follows a store of
//! [records](crate::records). It applies each change to registries. `contents.rs` is what the store
//! contains, and how it is stored.
//!
//! # Invariants
//! - All of a version are loaded together, and never a part of one.
//! - A process that has changed a store has the change in its own copy when the method returns.

mod contents;
mod shared;

pub use contents::ToolOverrides;
pub use shared::SharedOverrides;
