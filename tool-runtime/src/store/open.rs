//! Opening of files of sessions.

use std::error::Error;
use std::path::Path;
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
/// assert!(matches!(error, OpenError::Unavailable { .. }));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer version of this crate has written the file.
    #[error(
        "unsupported session file version: {version}, at most {supported}; use a newer version of \
         the program, or another file"
    )]
    UnsupportedVersion {
        /// Version of the file.
        version: usize,
        /// Highest version that this crate supports.
        supported: usize,
    },
    /// The file belongs to another program, or is not a database.
    #[error("not a session file: use a separate file for sessions")]
    NotASessionFile,
    /// The file cannot be opened now: it may be locked, or its folder may be missing.
    #[error("cannot open the session file: {source}")]
    Unavailable {
        /// Error of SQLite or of the operating system.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl OpenError {
    pub(super) fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { source: source.into() }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotASessionFile,
            _ => Self::unavailable(error),
        }
    }
}

pub(super) fn file(path: &Path) -> Result<Connection, OpenError> {
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
    let mut connection = Connection::open_in_memory()?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Enables the write-ahead log (WAL): one sync for each change, and readers do not block writers.
///
/// Enabling it needs exclusive access, for which SQLite does not wait, whatever its timeout.
fn enable_wal(connection: &Connection) -> Result<(), OpenError> {
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
