//! Tables of other parts of a program in the database of a store.

use std::error::Error;
use std::fmt;

use deadpool_postgres::{Client, Pool, PoolError};

use tokio_postgres::error::SqlState;

use super::error::{ConnectError, Failure};
use super::migrations;

/// Tables of one part of a program, in the database of a [`Postgres`](super::Postgres) store.
///
/// A crate that stores something of its own, such as documents, creates its tables
/// with [`Postgres::tables`](super::Postgres::tables). A program then has one database for
/// everything. Clones share the pool of the store.
///
/// ```no_run
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// const MIGRATIONS: &[&str] = &["CREATE TABLE notes (text TEXT NOT NULL)"];
///
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let notes = store.tables("notes", MIGRATIONS).await?;
/// let client = notes.client().await?;
/// client.execute("INSERT INTO notes VALUES ($1)", &[&"Buy milk"]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresTables {
    part: &'static str,
    pool: Pool,
}

impl PostgresTables {
    pub(super) async fn open(
        part: &'static str,
        migrations: &[&str],
        pool: Pool,
    ) -> Result<Self, ConnectError> {
        migrations::migrate(&pool, part, migrations).await?;
        Ok(Self { part, pool })
    }

    /// Takes a connection from the pool of the store, and returns it on drop.
    ///
    /// Use [`transaction`](deadpool_postgres::ClientWrapper::transaction) for statements that
    /// belong together: if it is dropped, it is rolled back. Prepare statements with
    /// [`prepare_cached`](deadpool_postgres::ClientWrapper::prepare_cached).
    ///
    /// # Errors
    /// Returns [`PostgresError`] if the pool has no connection in time, or if the server can't be
    /// reached.
    ///
    /// ```no_run
    /// use tool_runtime::store::{PostgresError, PostgresTables};
    ///
    /// async fn rename_tag(tables: &PostgresTables) -> Result<u64, PostgresError> {
    ///     let mut client = tables.client().await?;
    ///     let transaction = client.transaction().await?;
    ///     let update = "UPDATE tags SET name = $2 WHERE name = $1";
    ///     let update = transaction.prepare_cached(update).await?;
    ///     let count = transaction.execute(&update, &[&"todo", &"task"]).await?;
    ///     transaction.commit().await?;
    ///     Ok(count)
    /// }
    /// ```
    pub async fn client(&self) -> Result<Client, PostgresError> {
        Ok(self.pool.get().await?)
    }
}

impl fmt::Debug for PostgresTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTables").field("part", &self.part).finish_non_exhaustive()
    }
}

/// The reason why an operation on [`PostgresTables`] failed. Errors of the client and of the pool
/// convert into it.
///
/// ```
/// use std::error::Error;
///
/// use tool_runtime::store::PostgresError;
/// use tool_runtime::store::deadpool_postgres::PoolError;
///
/// let error = PostgresError::from(PoolError::Closed);
/// assert!(error.is_transient());
/// assert_eq!(error.to_string(), "database operation failed: Pool has been closed");
/// assert!(error.source().is_some_and(|source| source.is::<PoolError>()));
/// ```
#[derive(Debug)]
pub struct PostgresError(Failure);

impl PostgresError {
    /// Returns whether the same operation may succeed later: the server is busy or can't be
    /// reached, or it has undone the operation in favor of another one.
    ///
    /// If the connection was lost during a commit, the operation may have been done.
    pub fn is_transient(&self) -> bool {
        self.0.is_transient()
    }

    /// Returns the code of the server's error, such as `23505` for a unique key that exists.
    pub fn sql_state(&self) -> Option<&str> {
        self.0.sql_state().map(SqlState::code)
    }
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database operation failed: {}", self.0.text())
    }
}

impl Error for PostgresError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.source())
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(error.into())
    }
}

impl From<PoolError> for PostgresError {
    fn from(error: PoolError) -> Self {
        Self(error.into())
    }
}
