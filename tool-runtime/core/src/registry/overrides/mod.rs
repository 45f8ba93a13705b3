//! Descriptions and preferences of tools that are stored, and shared by all processes.
//!
//! 1. `store.rs`: an [`OverrideStore`] keeps them, with a version that each change increments.
//! 2. `shared.rs`: a [`SharedOverrides`] has a copy in memory and a task that follows the store. It
//!    applies each change to registries.
//!
//! `contents.rs` is what a store contains, and `memory.rs` a store in memory.
//!
//! # Invariants
//! - All of a version are loaded together, and never a part of one.
//! - A process that has changed a store has the change in its own copy when the method returns.
//!
//! [`conformance::check`] tests a store.

pub mod conformance;
pub(crate) mod contents;
mod memory;
mod shared;
mod store;

pub use contents::ToolOverrides;
pub use memory::MemoryOverrides;
pub use shared::SharedOverrides;
pub use store::{OverrideError, OverrideStore};
