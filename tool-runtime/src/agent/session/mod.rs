//! Sessions: named, persisted conversations.
//!
//! 1. `handle.rs`: a [`Session`] loads its record from the store, and starts or resumes a run from
//!    it.
//! 2. Each step of the run is saved as a [`SessionWrite`]: the messages that are new or changed,
//!    and the state.
//! 3. `store.rs`: a [`SessionStore`] keeps the messages of a conversation in their order and,
//!    beside them, one opaque text that only the loop reads. It knows nothing of runs.
//!
//! # Invariants
//! - What a store has acknowledged survives the end of the process.
//! - Each write builds on a revision. If another writer was first, the write is refused as a whole.
//!
//! [`conformance::check`] tests a store against these promises.

pub mod conformance;
mod error;
mod handle;
mod locks;
mod memory;
mod store;

pub use error::SessionError;
pub use handle::Session;
pub use locks::{SessionLock, SessionLocks};
pub use memory::MemoryStore;
pub use store::{SessionInfo, SessionRecord, SessionStore, SessionWrite};
