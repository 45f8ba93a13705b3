//! The registrar: registers the entries of a catalog, and applies its changes to the registry.
//!
//! 1. `builder.rs`: [`RegistrarBuilder`] collects the options (`options.rs`). `handle.rs`:
//!    [`Registrar`] is the handle, whose changes are stored first and then applied.
//! 2. `shared.rs` holds what is applied, and `apply.rs` applies entries: those that this process
//!    changed, and those that `follow.rs` finds in the catalog when another process changed it.
//! 3. `tasks/`: a task for each entry builds a tool or connects to a server, and tries again after
//!    a failure (`backoff.rs`). What a server lists is registered as far as it is pinned
//!    (`pins.rs`).
//! 4. `registration.rs` changes the registry, and `collision.rs` protects the tools of the program.
//!    `status.rs`, `event.rs` and `error.rs` report what happened.
//!
//! # Invariants
//! - Nothing is registered that is not stored. What is stored is registered again at each start.
//! - Only tools with the label `dynamic` are replaced or removed.
//! - The registry changes under one lock, after a check that the entry is still the current one: an
//!   outdated attempt changes nothing.

mod apply;
mod backoff;
mod builder;
mod collision;
mod error;
mod event;
mod follow;
mod handle;
mod options;
mod pins;
mod registration;
mod shared;
mod status;
mod tasks;

pub use builder::RegistrarBuilder;
pub use error::RegistrarError;
pub use event::RegistrarEvent;
pub use handle::Registrar;
pub use status::{EntryState, EntryStatus};
