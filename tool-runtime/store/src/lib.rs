//! Stores in databases: SQLite files and PostgreSQL.
//!
//! One file, or one pool of connections, serves every part of a program. A store implements the
//! traits of other modules, such as [`SessionStore`](tool_core::agent::session::SessionStore).
//! Tables of other crates are beside those of the traits.
//!
//! `sqlite/` and `postgres/` are the databases. `sessions/` has what their tables of sessions
//! share: rows, checksums, and the encoding of messages. `records.rs` has the statements of the
//! tables of small records.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod records;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::{
    ConnectError, Postgres, PostgresError, PostgresNotification, PostgresNotifications,
    PostgresRecords, PostgresTables, deadpool_postgres, tokio_postgres,
};
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, Sqlite, SqliteError, SqliteRecords, SqliteTables, rusqlite};
