//! Session store in an SQLite file, and further tables in the same file.
//!
//! The store does not interpret conversations: messages are JSON texts in their order, and the
//! state of the run is an opaque text. The tables are in `schema.rs`. Opening a file runs the
//! missing migrations (`open.rs`, `schema.rs`), and every operation is one transaction
//! (`session_table.rs`, and `lease_table.rs` for the leases, whose owners lock files: `owners.rs`).
//!
//! An altered file is an error and never another conversation: every row has a checksum
//! (`row.rs`), and a session is missing only if the list of names is complete
//! (`names.rs`). A read-only file can be read (`read_only.rs`).
//!
//! Other parts of a program keep tables of their own in the file (`tables.rs`).

mod error;
mod lease_table;
mod migrations;
mod names;
mod open;
mod owners;
mod read_only;
mod records;
mod row;
mod schema;
mod session_table;
mod tables;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::task::spawn_blocking;

pub use error::OpenError;
pub use records::SqliteRecords;
/// The version of the crate `rusqlite` that this crate uses, for operations on [`SqliteTables`].
pub use rusqlite;
pub use tables::{SqliteError, SqliteTables};

use crate::sessions::EncodedWrite;
use names::CompleteNames;
use owners::OwnerFiles;
use tool_core::agent::session::{
    SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionStore, SessionWrite,
};

/// Session store in an SQLite file. Clones share one connection.
///
/// **Durability.** A [`save`](SessionStore::save) that has returned is on the disk: neither a kill
/// nor a power failure undoes it, as far as the disk keeps its guarantees. Each save is one
/// transaction, so a kill at any moment leaves all of it or nothing.
///
/// **Concurrency.** Several processes may use one file. They wait for each other for at most five
/// seconds. A writer whose revision is no longer current gets a [conflict](SessionError::Conflict).
/// One process at a time runs a session. A process that has run a session locks a file beside the
/// database, `NAME-owner-ID`, until it ends. Its [leases](SessionStore::acquire) end with it, or
/// after it was suspended for 30 seconds. A clock that jumps may end a lease early: then the run
/// that writes later stops. The file must not be on a network file system.
///
/// **Damage.** Every record of a session has a checksum. If a failing disk or another program
/// altered the file, loading returns [`Corrupt`](SessionError::Corrupt) or another
/// error, and never another conversation. Deleting a session that the index has lost is an error,
/// too. Checksums are not signatures: anyone who can write the file can also write valid
/// checksums. The [tables](Self::tables) of other parts have none.
///
/// **Read-only files.** A read-only file, or a file on a read-only file system, can be opened and
/// read. Saving returns [`InvalidWrite`](SessionError::InvalidWrite). If a program that was killed
/// has left a write-ahead log (`-wal`), its index (`-shm`) must be beside it as well.
///
/// **Cancellation.** The store runs on tokio's blocking pool, one operation at a time. If the
/// future of a save is dropped, the save still completes.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{SessionStore, SessionWrite};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("sessions-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("sessions.db");
/// let store = Sqlite::open(&path).await?;
/// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
/// drop(store);
///
/// // Later, in another process.
/// let saved = Sqlite::open(&path).await?.load("ada").await?.expect("it was saved");
/// assert_eq!(saved.messages, [Message::user("Hello")]);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sqlite {
    // One connection is enough: SQLite allows one writer at a time, and reading a session is quick.
    connection: Arc<Mutex<Connection>>,
    names: Arc<CompleteNames>,
    owners: Arc<OwnerFiles>,
    /// `None` in memory.
    path: Option<Arc<Path>>,
    locks: SessionLocks,
}

impl Sqlite {
    /// Opens a file of sessions and creates it if it does not exist; its folder has to exist. A
    /// file of an older version of this crate is migrated. Links in the path of the folder are
    /// followed, so choose one that no model can change.
    ///
    /// # Errors
    /// - [`OpenError::UnsupportedVersion`] if a newer version of this crate has written the file.
    /// - [`OpenError::NotAStoreFile`] if the file belongs to another program or is not a
    ///   database.
    /// - [`OpenError::CorruptFile`] if the file is damaged.
    /// - [`OpenError::Unavailable`] if the file cannot be opened, for example because its folder is
    ///   missing, or because the path is a link.
    ///
    /// The file is unchanged after each of these errors.
    ///
    /// ```
    /// use tool_runtime::store::Sqlite;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let path = std::env::temp_dir().join(format!("open-{}.db", std::process::id()));
    /// # let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let store = Sqlite::open(&path).await?;
    /// let session = agent.session(store, "ada");
    /// session.run("Hello").await?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = open_in_background(path.to_owned()).await?;
        Ok(Self::new(connection, Some(path.into())))
    }

    /// Creates a store in memory, which ends with the process; for tests of programs that use a
    /// file.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::session::{SessionQuery, SessionStore, SessionWrite};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Sqlite::in_memory()?;
    /// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
    /// assert_eq!(store.list(SessionQuery::all()).await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`OpenError::Unavailable`] if there is not enough memory.
    pub fn in_memory() -> Result<Self, OpenError> {
        Ok(Self::new(open::in_memory()?, None))
    }

    fn new(connection: Connection, path: Option<Arc<Path>>) -> Self {
        // The path that SQLite has resolved: the process may change its folder later.
        let file = connection.path().filter(|file| !file.is_empty()).map(Path::new);
        let owners = Arc::new(OwnerFiles::of_database(file));
        Self {
            connection: Arc::new(Mutex::new(connection)),
            names: Arc::default(),
            owners,
            path,
            locks: SessionLocks::new(),
        }
    }

    /// Creates, or opens, tables of another part of the program in this file.
    ///
    /// `part` names the part, and `migrations` are the statements that lead from each version of
    /// its tables to the next. Those that the file does not have yet are run, in one transaction.
    /// Never change or remove a migration that a program in use has run: append another. Begin the
    /// names of tables with the name of the part, so that they never collide with those of others.
    ///
    /// # Errors
    /// - [`OpenError::UnsupportedVersion`] if the file has more migrations of this part.
    /// - [`OpenError::Unavailable`] if a migration fails, or if the file can't be written.
    ///
    /// ```
    /// use tool_runtime::store::{OpenError, Sqlite};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// const MIGRATIONS: &[&str] = &[
    ///     "CREATE TABLE notes (text TEXT NOT NULL) STRICT",
    ///     "ALTER TABLE notes ADD COLUMN author TEXT",
    /// ];
    /// let store = Sqlite::in_memory()?;
    /// store.tables("notes", MIGRATIONS).await?;
    ///
    /// // A program of an earlier version refuses the tables.
    /// let error = store.tables("notes", &MIGRATIONS[..1]).await.unwrap_err();
    /// assert!(matches!(error, OpenError::UnsupportedVersion { version: 2, supported: 1, .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn tables(
        &self,
        part: &'static str,
        migrations: &'static [&'static str],
    ) -> Result<SqliteTables, OpenError> {
        let (path, connection) = match &self.path {
            Some(path) => {
                let connection = open_in_background(path.to_path_buf()).await?;
                (path.to_path_buf(), Arc::new(Mutex::new(connection)))
            }
            None => (PathBuf::from(":memory:"), Arc::clone(&self.connection)),
        };
        let open = move || SqliteTables::open(part, migrations, connection);
        match spawn_blocking(open).await {
            Ok(opened) => opened.map_err(|failure| failure.at(&path)),
            Err(source) => Err(OpenError::Unavailable { path, source: Box::new(source) }),
        }
    }

    /// Opens the small records in this file: what schedules, catalogs and other parts of a program
    /// keep.
    ///
    /// # Errors
    /// Returns the errors of [`tables`](Self::tables).
    ///
    /// ```
    /// use tool_runtime::records::{RecordQuery, Records};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let records = Sqlite::in_memory()?.records().await?;
    /// assert_eq!(records.list("notes", RecordQuery::all()).await?.counter, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn records(&self) -> Result<SqliteRecords, OpenError> {
        SqliteRecords::open(self).await
    }

    /// Runs an operation on the blocking pool.
    async fn with_connection<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Connection, Context<'_>) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let connection = Arc::clone(&self.connection);
        let (names, owners) = (Arc::clone(&self.names), Arc::clone(&self.owners));
        // A transaction that a panic interrupts is rolled back while the stack unwinds.
        let operation = move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            operation(&mut connection, Context { names: &names, owners: &owners })
        };
        spawn_blocking(operation).await.map_err(SessionError::unavailable)?
    }
}

/// The state of a process that belongs to a file, apart from its tables.
#[derive(Clone, Copy)]
struct Context<'s> {
    names: &'s CompleteNames,
    owners: &'s OwnerFiles,
}

async fn open_in_background(path: PathBuf) -> Result<Connection, OpenError> {
    let opened = spawn_blocking({
        let path = path.clone();
        move || open::file(&path)
    });
    let stopped = |source| OpenError::Unavailable { path, source: Box::new(source) };
    opened.await.map_err(stopped)?
}

#[async_trait]
impl SessionStore for Sqlite {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let session = session.to_owned();
        self.with_connection(move |connection, context| {
            session_table::load(connection, context.names, &session)
        })
        .await
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        let session = session.to_owned();
        self.with_connection(move |connection, context| {
            session_table::load_range(connection, context.names, &session, range)
        })
        .await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let write = EncodedWrite::new(session, &write)?;
        self.with_connection(move |connection, context| {
            session_table::save(connection, context, &write)
        })
        .await
    }

    async fn fork(
        &self,
        session: &str,
        to: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let write = EncodedWrite::new(session, &write)?;
        let (session, to) = (session.to_owned(), to.to_owned());
        self.with_connection(move |connection, context| {
            session_table::fork(connection, context, &session, to, write)
        })
        .await
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        let (prefix, after) = (query.prefix.to_owned(), query.after.map(str::to_owned));
        let (status, limit) = (query.status, query.limit);
        let principal = query.principal.map(str::to_owned);
        self.with_connection(move |connection, context| {
            let query = SessionQuery::all().prefix(&prefix).status(status).limit(limit);
            let query = query.principal(principal.as_deref());
            let query = after.iter().fold(query, |query, after| query.after(after));
            session_table::list(connection, context, &query)
        })
        .await
    }

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        let (session, title) = (session.to_owned(), title.map(str::to_owned));
        self.with_connection(move |connection, context| {
            session_table::set_title(connection, context, &session, title.as_deref())
        })
        .await
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        let (session, to) = (session.to_owned(), to.to_owned());
        self.with_connection(move |connection, context| {
            session_table::rename(connection, context, &session, &to, epoch)
        })
        .await
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        let session = session.to_owned();
        self.with_connection(move |connection, context| {
            session_table::delete(connection, context, &session, epoch)
        })
        .await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        let (session, owner) = (session.to_owned(), owner.clone());
        self.with_connection(move |connection, context| {
            lease_table::acquire(connection, context.owners, &session, &owner, lifetime)
        })
        .await
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        let session = session.to_owned();
        self.with_connection(move |connection, context| {
            lease_table::renew(connection, context.owners, &session, epoch, lifetime)
        })
        .await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        let session = session.to_owned();
        self.with_connection(move |connection, _| lease_table::release(connection, &session, epoch))
            .await
    }

    fn locks(&self) -> &SessionLocks {
        &self.locks
    }
}
