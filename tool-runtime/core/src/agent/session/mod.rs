//! Sessions: named, persisted conversations.
//!
//! 1. `handle.rs`: a [`Session`] loads its record from the store, and starts or resumes a run from
//!    it.
//! 2. Each step of the run is saved as a [`SessionWrite`]: the messages that are new or changed,
//!    and the state.
//! 3. `store.rs`: a [`SessionStore`] keeps the messages of a conversation in their order and,
//!    beside them, one opaque text that only the loop reads. It knows nothing of runs.
//!
//! `concurrent.rs` and `locks.rs` order the runs of one process; `edit.rs` forks, renames and
//! truncates a session; `record.rs` and `listing.rs` are the values that a store takes and returns.
//!
//! # Invariants
//! - What a store has acknowledged survives the end of the process.
//! - Each write builds on a revision. If another writer was first, the write is refused as a whole.
//!
//! The crate `tool-conformance` tests a store against these promises.

mod concurrent;
mod edit;
mod handle;
mod listing;
mod locks;
mod memory;
mod record;
mod store;

pub use crate::errors::SessionError;
pub use handle::Session;
pub use listing::{SessionInfo, SessionQuery};
pub use locks::{SessionLock, SessionLocks};
pub use memory::MemorySessions;
pub use record::{SessionPart, SessionRecord, SessionWrite};
pub use store::SessionStore;
