//! Sessions: the contract of every store, runs that survive a crash, and the SQLite store.

#[path = "session/early.rs"]
mod early;
#[path = "session/ends.rs"]
mod ends;
#[path = "session/failing.rs"]
mod failing;
#[path = "session/given_up.rs"]
mod given_up;
#[cfg(feature = "sqlite")]
#[path = "session/killed.rs"]
mod killed;
#[path = "session/laws.rs"]
mod laws;
#[path = "session/runs.rs"]
mod runs;
#[cfg(feature = "sqlite")]
#[path = "session/sqlite.rs"]
mod sqlite;
#[path = "session/taken.rs"]
mod taken;
#[path = "session/told.rs"]
mod told;
#[path = "session/values.rs"]
mod values;
