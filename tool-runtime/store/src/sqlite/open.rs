//! Opening of files of sessions.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{OpenError, OpenFailure};
use super::migrations::migrate;
use super::read_only;
use super::schema::{MIGRATIONS, PART};

/// The time that a writer waits for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn file(path: &Path) -> Result<Connection, OpenError> {
    let real_path = in_real_folder(path);
    let opened = open_file(&real_path).or_else(|failure| {
        if read_only::is_read_only(&failure) {
            // The first failure says more if there is no file.
            read_only::open(&real_path).map_err(|_| failure)
        } else {
            Err(failure)
        }
    });
    opened.map_err(|failure| failure.at(path))
}

/// Returns the path of a file without links in its folder, as far as it exists: the flag against
/// links refuses them there, too.
fn in_real_folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (folder.unwrap_or_else(|| Path::new(".")).canonicalize(), path.file_name()) {
        // On Windows, the flag has no effect, and SQLite can't open each canonical path.
        (Ok(folder), Some(name)) if cfg!(unix) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn open_file(path: &Path) -> Result<Connection, OpenFailure> {
    // Without the flag for URIs, so that a path with special characters is only a path. Without a
    // mutex, because one thread at a time uses the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    #[cfg(test)]
    super::tests::kills::stop_at_statement(&mut connection);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Before any change, because the file may belong to another program.
    migrate(&mut connection, PART, &MIGRATIONS)?;
    match enable_wal(&connection) {
        // A read-only file keeps the log that it was written with.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            return Ok(connection);
        }
        enabled => enabled?,
    }
    // With a write-ahead log, a level below FULL syncs only now and then: a power failure could
    // undo an acknowledged save.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

pub(super) fn in_memory() -> Result<Connection, OpenError> {
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        migrate(&mut connection, PART, &MIGRATIONS)?;
        Ok(connection)
    };
    open().map_err(|failure: OpenFailure| failure.at(Path::new(":memory:")))
}

/// Enables the write-ahead log (WAL): one sync for each change, and readers do not block writers.
///
/// Enabling it needs exclusive access, for which SQLite does not wait, whatever its timeout.
fn enable_wal(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}
