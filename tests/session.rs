//! Conversations that last: what every store keeps to, and what SQLite does beyond that.

#[path = "support/histories.rs"]
#[expect(dead_code, reason = "shared with tests that use the rest")]
mod histories;
#[path = "session/laws.rs"]
mod laws;
#[cfg(feature = "sqlite")]
#[path = "session/sqlite.rs"]
mod sqlite;
