//! Session store in a PostgreSQL database.
//!
//! 1. `connect.rs` builds the pool of connections, and `migrations.rs` creates or migrates the
//!    tables, in one transaction under an advisory lock.
//! 2. Each operation is one transaction (`session_table/`). If its connection is lost, it runs
//!    again on another one (`retry.rs`). A write that was committed before its connection was lost
//!    is recognized by its checksum and is not done twice.
//! 3. `error.rs` decides which errors are transient.
//!
//! Other parts of a program have separate tables in the database (`tables.rs`), and notify each
//! other of changes (`notifications.rs`, `changes.rs`).
//!
//! Names, states and messages are stored as bytes: texts of PostgreSQL can't contain the character
//! NUL, and would be compared by the rules of a language.

mod changes;
mod connect;
mod error;
mod migrations;
mod notifications;
mod records;
mod retry;
mod session_table;
mod tables;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
/// The version of the crate `deadpool-postgres` that this crate uses, for [`Postgres::from_pool`].
pub use deadpool_postgres;
use deadpool_postgres::Pool;
/// The version of the crate `tokio-postgres` that this crate uses, for
/// [`Postgres::connect_with`].
pub use tokio_postgres;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

pub use error::ConnectError;
use notifications::Connector;
pub use notifications::{PostgresNotification, PostgresNotifications};
pub use records::PostgresRecords;
pub use tables::{PostgresError, PostgresTables};

use crate::sessions::EncodedWrite;
use tool_core::agent::session::{
    SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionStore, SessionWrite,
};

/// Session store in a PostgreSQL database, for programs on several machines. Clones share one pool
/// of connections.
///
/// The tables are named `tool_…` and are created in the first schema of the connection's
/// `search_path`. Names, states and messages are stored as `bytea`; to read them with `psql`, use
/// `convert_from(message, 'UTF8')`.
///
/// **Durability.** A [`save`](SessionStore::save) that has returned is as durable as a commit of
/// the server: with its default settings, neither a kill nor a power failure undoes it. Each save
/// is one transaction.
///
/// **Concurrency.** Any number of processes may use one database. Writers of one session wait for
/// each other, and those of different sessions do not. A writer whose revision is no longer current
/// gets a [conflict](SessionError::Conflict). One process at a time runs a session: the
/// [lease](SessionStore::acquire) of a process that was killed expires after 30 seconds at most, by
/// the clock of the server.
///
/// **Lost connections.** If a connection is lost, the operation runs again on another one. If it
/// was lost during the commit, the store finds out whether the write was done: no write is done
/// twice. If there is no other connection, such as during a restart of the server, the operation
/// returns [`Unavailable`](SessionError::Unavailable).
///
/// **Damage.** Every record has a checksum, as in SQLite. If a row was altered, or if a message is
/// missing, loading returns [`Corrupt`](SessionError::Corrupt). A session whose row was
/// deleted does not exist.
///
/// **Cancellation.** If the future of a save is dropped, the transaction is rolled back, unless its
/// commit was already sent.
///
/// ```no_run
/// use tool_runtime::store::Postgres;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// agent.session(store.clone(), "ada").run("Hello").await?;
///
/// // In another process, on any machine.
/// let messages = agent.session(store, "ada").messages().await?;
/// println!("{} messages", messages.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Postgres {
    pool: Pool,
    /// Opens connections for notifications; `None` if the pool is that of the program.
    connector: Option<Connector>,
    locks: SessionLocks,
}

impl Postgres {
    /// Connects to a database without TLS, and creates or migrates the tables of sessions.
    ///
    /// `config` is a connection string as for libpq: key-value pairs or a URL. The pool has up to
    /// 16 connections. A connection waits for at most five seconds: for the pool, for the server,
    /// and for a lock, unless the database or the string sets other limits.
    ///
    /// To choose the schema of the tables, add `options='-c search_path=NAME'`.
    ///
    /// # Errors
    /// - [`ConnectError::InvalidConfig`] if the connection string is invalid.
    /// - [`ConnectError::Unavailable`] if the server can't be reached, or is starting.
    /// - [`ConnectError::Refused`] if the server refuses the user, the database or a statement.
    /// - [`ConnectError::UnsupportedVersion`] if a newer version of this crate has written the
    ///   tables.
    ///
    /// ```no_run
    /// use tool_runtime::store::Postgres;
    ///
    /// # async fn f() -> Result<(), tool_runtime::store::ConnectError> {
    /// let store = Postgres::connect("postgresql://app:secret@localhost/app").await?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(config: &str) -> Result<Self, ConnectError> {
        let config = config
            .parse()
            .map_err(|source| ConnectError::InvalidConfig { source: Box::new(source) })?;
        Self::connect_with(config, NoTls).await
    }

    /// Connects like [`connect`](Self::connect) with a connector for TLS, such as that of the crate
    /// `tokio-postgres-rustls` or `postgres-native-tls`.
    ///
    /// # Errors
    /// Returns the errors of [`connect`](Self::connect).
    ///
    /// ```no_run
    /// use tool_runtime::store::{ConnectError, Postgres, tokio_postgres};
    /// use tokio_postgres::tls::NoTls;
    ///
    /// # async fn f() -> Result<(), ConnectError> {
    /// let mut config = tokio_postgres::Config::new();
    /// config.host_path("/run/postgresql").user("app").dbname("app");
    /// let store = Postgres::connect_with(config, NoTls).await?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_with<T>(config: Config, tls: T) -> Result<Self, ConnectError>
    where
        T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
        T::Stream: Sync + Send,
        T::TlsConnect: Sync + Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let config = connect::with_defaults(config);
        let connector = Connector::new(config.clone(), tls.clone());
        let store = Self::from_pool(connect::pool(config, tls)?).await?;
        Ok(Self { connector: Some(connector), ..store })
    }

    /// Creates a store that uses the pool of the program, and creates or migrates the tables of
    /// sessions.
    ///
    /// The timeouts of the pool and of its connections apply. Set the timeouts of the pool, and
    /// `lock_timeout` and `idle_in_transaction_session_timeout` of the database: without them, an
    /// operation waits as long as another program holds a lock.
    ///
    /// # Errors
    /// Returns the errors of [`connect`](Self::connect).
    ///
    /// ```no_run
    /// use tool_runtime::store::Postgres;
    /// use tool_runtime::store::deadpool_postgres::{Config, Runtime};
    /// use tool_runtime::store::tokio_postgres::NoTls;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = Config::new();
    /// config.dbname = Some("app".to_owned());
    /// let pool = config.create_pool(Some(Runtime::Tokio1), NoTls)?;
    /// let store = Postgres::from_pool(pool).await?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn from_pool(pool: Pool) -> Result<Self, ConnectError> {
        session_table::migrate(&pool).await?;
        Ok(Self { pool, connector: None, locks: SessionLocks::new() })
    }

    /// Creates, or opens, tables of another part of the program in this database.
    ///
    /// `part` names the part, and `migrations` are the statements that lead from each version of
    /// its tables to the next. Those that the database does not have yet are run, in one
    /// transaction; other processes wait for it. Never change or remove a migration that a program
    /// in use has run: append another. Begin the names of tables with the name of the part, so that
    /// they never collide with those of others.
    ///
    /// # Errors
    /// - [`ConnectError::UnsupportedVersion`] if the database has more migrations of this part.
    /// - [`ConnectError::Refused`] if a migration fails.
    /// - [`ConnectError::Unavailable`] if the server can't be reached.
    ///
    /// ```no_run
    /// use tool_runtime::store::{ConnectError, Postgres};
    ///
    /// # async fn f() -> Result<(), ConnectError> {
    /// const MIGRATIONS: &[&str] = &[
    ///     "CREATE TABLE notes (text TEXT NOT NULL)",
    ///     "ALTER TABLE notes ADD COLUMN author TEXT",
    /// ];
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let notes = store.tables("notes", MIGRATIONS).await?;
    /// # drop(notes);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn tables(
        &self,
        part: &'static str,
        migrations: &'static [&'static str],
    ) -> Result<PostgresTables, ConnectError> {
        PostgresTables::open(part, migrations, self.pool.clone()).await
    }

    /// Opens the small records in this database: what schedules, catalogs and other parts of a
    /// program keep.
    ///
    /// # Errors
    /// Returns the errors of [`tables`](Self::tables).
    ///
    /// ```no_run
    /// use tool_runtime::records::{RecordQuery, Records};
    /// use tool_runtime::store::Postgres;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let records = store.records().await?;
    /// println!("{:?}", records.list("notes", RecordQuery::all()).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn records(&self) -> Result<PostgresRecords, ConnectError> {
        PostgresRecords::open(self).await
    }

    /// Listens to the notifications of a channel, from all processes. None is missed that is sent
    /// after this method has returned, unless [the connection is lost](PostgresNotifications).
    ///
    /// The name of a channel has 63 bytes at most. Channels belong to the database: all schemas
    /// share them.
    ///
    /// # Errors
    /// - [`ConnectError::InvalidConfig`] if [`from_pool`](Self::from_pool) has created the store: a
    ///   pool does not pass notifications on.
    /// - The errors of [`connect`](Self::connect).
    ///
    /// ```no_run
    /// use tool_runtime::store::{Postgres, PostgresNotification};
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let mut notifications = store.listen("prices").await?;
    /// store.notify("prices", "bread").await?;
    /// assert_eq!(notifications.next().await, PostgresNotification::Received("bread".into()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn listen(&self, channel: &str) -> Result<PostgresNotifications, ConnectError> {
        let Some(connector) = &self.connector else {
            let source = "the pool of a program does not pass notifications on; open the store \
                          with `connect` or `connect_with`";
            return Err(ConnectError::InvalidConfig { source: source.into() });
        };
        PostgresNotifications::open(connector.clone(), channel).await
    }

    /// Sends a notification to all processes that listen to a channel.
    ///
    /// To send one when a transaction commits, run `SELECT pg_notify($1, $2)` in it. A payload has
    /// 7,999 bytes at most.
    ///
    /// # Errors
    /// Returns [`PostgresError`] if the server can't be reached, or if the name or the payload is
    /// too long.
    ///
    /// ```no_run
    /// use tool_runtime::store::{Postgres, PostgresError};
    ///
    /// async fn announce(store: &Postgres, article: &str) -> Result<(), PostgresError> {
    ///     store.notify("prices", article).await
    /// }
    /// ```
    pub async fn notify(&self, channel: &str, payload: &str) -> Result<(), PostgresError> {
        let client = self.pool.get().await?;
        let notify = client.prepare_cached("SELECT pg_notify($1, $2)").await?;
        client.execute(&notify, &[&channel, &payload]).await?;
        Ok(())
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the configuration, which has a password.
        f.debug_struct("Postgres").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

#[async_trait]
impl SessionStore for Postgres {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let part = self.load_range(session, 0..usize::MAX).await?;
        Ok(part.map(|part| SessionRecord::new(part.messages, part.state, part.revision)))
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        session_table::load_range(&self.pool, session, &range).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        session_table::save(&self.pool, EncodedWrite::new(session, &write)?).await
    }

    async fn fork(
        &self,
        session: &str,
        to: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let write = EncodedWrite::new(session, &write)?;
        session_table::fork(&self.pool, session, to, write).await
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        session_table::list(&self.pool, query).await
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        session_table::set_title(&self.pool, session, title).await
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        session_table::rename(&self.pool, session, to, epoch).await
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        session_table::delete(&self.pool, session, epoch).await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        session_table::acquire(&self.pool, session, owner, lifetime).await
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        session_table::renew(&self.pool, session, epoch, lifetime).await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        session_table::release(&self.pool, session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
