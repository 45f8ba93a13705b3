//! Stores in databases: SQLite files and PostgreSQL.
//!
//! One file, or one pool of connections, serves every part of a program. A store implements the
//! traits of other modules, such as [`SessionStore`](tool_core::agent::session::SessionStore).
//! Tables of other crates are beside those of the traits.
//!
//! `sqlite/` and `postgres/` are the databases. `sessions/` has what their tables of sessions
//! share: rows, checksums, and the encoding of messages.

#[cfg(feature = "postgres")]
mod postgres;
mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::{
    ConnectError, Postgres, PostgresChanges, PostgresError, PostgresNotification,
    PostgresNotifications, PostgresOverrides, PostgresTables, deadpool_postgres, tokio_postgres,
};
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, Sqlite, SqliteError, SqliteOverrides, SqliteTables, rusqlite};
