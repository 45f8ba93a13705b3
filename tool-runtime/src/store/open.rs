//! Opening of files of sessions.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema::migrate;

/// The time that a writer waits for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why a file of sessions cannot be opened. The file is unchanged.
///
/// ```
/// use tool_runtime::store::{OpenError, Sqlite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = Sqlite::open("/no/such/folder/sessions.db").await.unwrap_err();
/// assert!(matches!(&error, OpenError::Unavailable { .. }));
/// assert!(error.to_string().starts_with("session file /no/such/folder/sessions.db can't be"));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer version of this crate has written the file.
    #[error(
        "unsupported version of session file {}: {version}, at most {supported}; use a newer \
         version of the program, or another file",
        path.display()
    )]
    UnsupportedVersion {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        version: usize,
        /// Highest version that this crate supports.
        supported: usize,
    },
    /// The file belongs to another program, or is not a database.
    #[error("not a session file: {}; use a separate file for sessions", path.display())]
    NotASessionFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file cannot be opened now: it may be locked, or its folder may be missing.
    #[error("session file {} can't be opened: {source}", path.display())]
    Unavailable {
        /// Path of the file; `:memory:` if the store is in memory.
        path: PathBuf,
        /// Error of SQLite or of the operating system.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// An error of a connection, which does not know the path.
#[derive(Debug)]
pub(super) enum OpenFailure {
    UnsupportedVersion { version: usize, supported: usize },
    NotASessionFile,
    Sqlite(rusqlite::Error),
}

impl OpenFailure {
    /// Adds the path of the file.
    fn at(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::UnsupportedVersion { version, supported } => {
                OpenError::UnsupportedVersion { path, version, supported }
            }
            Self::NotASessionFile => OpenError::NotASessionFile { path },
            Self::Sqlite(error) => OpenError::Unavailable { path, source: error.into() },
        }
    }
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotASessionFile,
            _ => Self::Sqlite(error),
        }
    }
}

pub(super) fn file(path: &Path) -> Result<Connection, OpenError> {
    open_file(path).map_err(|failure| failure.at(path))
}

fn open_file(path: &Path) -> Result<Connection, OpenFailure> {
    // Without the flag for URIs, so that a path with special characters is only a path. Without a
    // mutex, because one thread at a time uses the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    #[cfg(test)]
    super::tests::kills::stop_at_statement(&mut connection);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Before any change, because the file may belong to another program.
    migrate(&mut connection)?;
    enable_wal(&connection)?;
    // With a write-ahead log, a level below FULL syncs only now and then: a power failure could
    // undo an acknowledged save.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

pub(super) fn in_memory() -> Result<Connection, OpenError> {
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        migrate(&mut connection)?;
        Ok(connection)
    };
    open().map_err(|failure: OpenFailure| failure.at(Path::new(":memory:")))
}

/// Enables the write-ahead log (WAL): one sync for each change, and readers do not block writers.
///
/// Enabling it needs exclusive access, for which SQLite does not wait, whatever its timeout.
fn enable_wal(connection: &Connection) -> Result<(), OpenFailure> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                sleep(Duration::from_millis(5));
            }
            done => return Ok(done?),
        }
    }
}
