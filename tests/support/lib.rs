//! What several tests share: prepared models and servers, generators, and invariants.

#[cfg(feature = "providers")]
pub mod canned;
pub mod conversation;
pub mod damage;
pub mod histories;
#[cfg(feature = "providers")]
pub mod oracle;
pub mod panics;
pub mod processes;
pub mod run_events;
pub mod server;
pub mod sessions;
pub mod streamed;
