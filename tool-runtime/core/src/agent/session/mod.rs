//! Sessions: named, persisted conversations.
//!
//! 1. `handle.rs`: a [`Session`] loads its record from the store, and starts a run from it, or
//!    resumes one (`resume.rs`), with the decisions that were saved for it (`decisions.rs`).
//! 2. Each step of the run is saved as a [`SessionWrite`]: the messages that are new or changed,
//!    and the state.
//! 3. `store.rs`: a [`SessionStore`] keeps the messages of a conversation in their order and,
//!    beside them, one opaque text that only the loop reads. It knows nothing of runs.
//!
//! `hold.rs` acquires a session for a run: `concurrent.rs` and `locks.rs` order the runs of one
//! process, and `lease.rs` lets one process at a time run it. `edit.rs` forks, renames, truncates
//! and deletes a session; `info.rs` lists it with its title and principal; `record.rs`, `status.rs`
//! and `listing.rs` are the values that a store takes and returns.
//!
//! # Invariants
//! - What a store has acknowledged survives the end of the process.
//! - Each write builds on a revision. If another writer was first, the write is refused as a whole.
//! - A session has one owner at a time. A run whose lease may have passed to another owner starts
//!   neither a call nor a request, and writes nothing.
//!
//! The crate `tool-conformance` tests a store against these promises.

mod concurrent;
mod decisions;
mod edit;
mod handle;
mod hold;
mod info;
mod lease;
mod listing;
mod locks;
mod memory;
mod record;
mod resume;
mod status;
mod store;

pub use crate::errors::SessionError;
pub use handle::Session;
pub(super) use hold::{HeldLease, SessionHold};
pub use info::default_title;
pub use lease::{MemoryLeases, SessionLease, SessionOwner};
pub use listing::{SessionInfo, SessionQuery};
pub use locks::{SessionLock, SessionLocks};
pub use memory::MemorySessions;
pub use record::{SessionPart, SessionRecord, SessionWrite};
pub use status::SessionStatus;
pub use store::SessionStore;
