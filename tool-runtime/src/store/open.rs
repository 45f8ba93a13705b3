use std::error::Error;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema::bring_up_to_date;

/// How long one who writes waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a file of conversations can't be opened. It was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer version of this crate has written it.
    #[error(
        "the file of sessions is of version {version}, and this program knows up to {known}: use a \
         newer version of the program, or another file"
    )]
    Newer {
        /// The version that it is of.
        version: usize,
        /// The newest that is known here.
        known: usize,
    },
    /// It is another program's, or no database.
    #[error("the file is no file of sessions: give them a file of their own")]
    Foreign,
    /// It can't be opened for now: it may be locked, or its folder may be missing.
    #[error("the file of sessions can't be opened: {source}")]
    Unavailable {
        /// What stands in its way.
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
            Some(ErrorCode::NotADatabase) => Self::Foreign,
            _ => Self::unavailable(error),
        }
    }
}

pub(super) fn file(path: &Path) -> Result<Connection, OpenError> {
    // Without the flag for URIs: a path is a path, whatever signs are in it. One connection is used by
    // one thread at a time, so it needs no lock of its own.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    #[cfg(test)]
    super::tests::kills::stop_where_told(&mut connection);
    connection.busy_timeout(PATIENCE)?;
    // Before anything is changed: it may be another's.
    bring_up_to_date(&mut connection)?;
    use_log(&connection)?;
    // With a log, less than FULL would sync it only now and then: a power cut might undo what was
    // acknowledged.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

pub(super) fn in_memory() -> Result<Connection, OpenError> {
    let mut connection = Connection::open_in_memory()?;
    bring_up_to_date(&mut connection)?;
    Ok(connection)
}

/// Has changes written to a log beside the file (WAL): one sync for each, and who reads holds up nobody.
///
/// To begin it takes the file for oneself, and SQLite doesn't wait for that whatever its timeout.
fn use_log(connection: &Connection) -> Result<(), OpenError> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(5));
            }
            done => return Ok(done?),
        }
    }
}
