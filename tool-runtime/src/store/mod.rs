//! Stores in databases: SQLite files.
//!
//! One file serves every part of a program. A store implements the
//! traits of other modules, such as [`SessionStore`](crate::agent::session::SessionStore).
//!
//! `sqlite/` is the database. `sessions/` has what tables of sessions of any database share: rows,
//! checksums, and the encoding of messages.

mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, Sqlite, SqliteError, SqliteTables, rusqlite};
