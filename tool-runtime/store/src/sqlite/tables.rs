//! Tables of other parts of a program in the file of a store.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::task::{JoinError, spawn_blocking};

use super::error::OpenFailure;
use super::migrations::migrate;

/// Tables of one part of a program, in the file of an [`Sqlite`](super::Sqlite) store.
///
/// A crate that stores something of its own, such as documents, creates its tables
/// with [`Sqlite::tables`](super::Sqlite::tables). A program then has one file for everything.
///
/// The tables have a separate connection: reading them does not wait for sessions, nor for
/// writers. Two writers wait for each other for at most five seconds. The tables of a store in
/// memory share its only connection. Clones share one connection.
///
/// An operation runs on tokio's blocking pool. If its future is dropped, the operation still
/// completes.
///
/// ```
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// const MIGRATIONS: &[&str] = &["CREATE TABLE notes (text TEXT NOT NULL) STRICT"];
///
/// let notes = Sqlite::in_memory()?.tables("notes", MIGRATIONS).await?;
/// notes.write(|it| it.execute("INSERT INTO notes VALUES (?1)", ["Buy milk"])).await?;
/// let count = "SELECT count(*) FROM notes";
/// let count: i64 = notes.read(|it| it.query_row(count, (), |row| row.get(0))).await?;
/// assert_eq!(count, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteTables {
    part: &'static str,
    connection: Arc<Mutex<Connection>>,
}

/// The reason why an operation on [`SqliteTables`] failed. An operation that fails has changed
/// nothing.
///
/// ```
/// use tool_runtime::store::{Sqlite, SqliteError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let notes = Sqlite::in_memory()?.tables("notes", &[]).await?;
/// let error = notes.write(|it| it.execute("DELETE FROM notes", ())).await.unwrap_err();
/// assert!(matches!(&error, SqliteError::Statement(_)));
/// assert!(error.to_string().starts_with("SQLite statement failed: no such table: notes"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// SQLite refused a statement.
    #[error("SQLite statement failed: {0}")]
    Statement(#[from] rusqlite::Error),
    /// The operation panicked, or the runtime of tokio is shutting down.
    #[error("SQLite operation did not finish: {0}")]
    Interrupted(#[from] JoinError),
}

impl SqliteTables {
    pub(super) fn open(
        part: &'static str,
        migrations: &[&str],
        connection: Arc<Mutex<Connection>>,
    ) -> Result<Self, OpenFailure> {
        {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            migrate(&mut connection, part, migrations)?;
        }
        Ok(Self { part, connection })
    }

    /// Runs an operation that only reads, in one transaction: everything it reads is from the same
    /// moment. What it writes is undone.
    ///
    /// # Errors
    /// [`SqliteError::Statement`] with the error that the operation returns.
    ///
    /// ```
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let migrations = &["CREATE TABLE notes (text TEXT NOT NULL) STRICT"];
    /// let notes = Sqlite::in_memory()?.tables("notes", migrations).await?;
    /// let all = "SELECT count(*), max(length(text)) FROM notes";
    /// let all = notes.read(|it| it.query_row(all, (), |row| <(i64, Option<i64>)>::try_from(row)));
    /// assert_eq!(all.await?, (0, None));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteError> {
        self.run(move |connection| operation(&connection.transaction()?)).await
    }

    /// Runs an operation in one transaction, which is committed if the operation returns `Ok`.
    /// Other writers of the file wait until it ends.
    ///
    /// # Errors
    /// [`SqliteError::Statement`] with the error that the operation returns, or if another writer
    /// does not end within five seconds.
    ///
    /// ```
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let migrations = &["CREATE TABLE notes (text TEXT NOT NULL) STRICT"];
    /// let notes = Sqlite::in_memory()?.tables("notes", migrations).await?;
    /// let add = "INSERT INTO notes VALUES (?1)";
    /// let added = notes.write(|it| {
    ///     let mut add = it.prepare(add)?;
    ///     Ok(add.execute(["Buy milk"])? + add.execute(["Call Ada"])?)
    /// });
    /// assert_eq!(added.await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteError> {
        self.run(move |connection| {
            // Immediate: a transaction that reads first and writes later fails if another writer
            // came between.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = operation(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let connection = Arc::clone(&self.connection);
        // A transaction that a panic interrupts is rolled back while the stack unwinds.
        let operation =
            move || operation(&mut connection.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(spawn_blocking(operation).await??)
    }
}

impl fmt::Debug for SqliteTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTables").field("part", &self.part).finish_non_exhaustive()
    }
}
