//! Opening of files that can't be written: the file or its file system is read-only.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::OpenFailure;
use super::migrations::{is_store, migrate, unsupported, version};
use super::schema::{MIGRATIONS, PART};

/// Returns whether a file could not be opened because it, or its folder, can't be written.
pub(super) fn is_read_only(failure: &OpenFailure) -> bool {
    let OpenFailure::Sqlite(error) = failure else { return false };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly)
    )
}

/// Opens a file for reading. A file of an earlier version is copied to memory and migrated there.
pub(super) fn open(path: &Path) -> Result<Connection, OpenFailure> {
    open_with(path, &MIGRATIONS)
}

pub(super) fn open_with(path: &Path, migrations: &[&str]) -> Result<Connection, OpenFailure> {
    let connection = open_at(path)?;
    // One transaction, as in `migrate`.
    let snapshot = connection.unchecked_transaction()?;
    if !is_store(&snapshot)? {
        return Err(OpenFailure::NotAStoreFile);
    }
    let found = version(&snapshot, PART)?;
    drop(snapshot);
    match found {
        newest if newest == migrations.len() => Ok(connection),
        newer if newer > migrations.len() => Err(unsupported(PART, newer, migrations)),
        earlier => migrated_copy(path, migrations, earlier),
    }
}

fn open_at(path: &Path) -> Result<Connection, OpenFailure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(uri(path), flags)?)
}

fn migrated_copy(
    path: &Path,
    migrations: &[&str],
    version: usize,
) -> Result<Connection, OpenFailure> {
    // Without the flag for memory, which would apply to the attached file as well.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags(":memory:", flags)?;
    migrate(&mut copy, PART, migrations.get(..version).unwrap_or_default())?;
    copy.execute("ATTACH ?1 AS file", (uri(path),))?;
    for table in ["sessions", "messages", "names"] {
        copy.execute(&format!("REPLACE INTO {table} SELECT * FROM file.{table}"), ())?;
    }
    copy.execute("DETACH file", ())?;
    migrate(&mut copy, PART, migrations)?;
    // What is written to the copy would be lost.
    copy.pragma_update(None, "query_only", true)?;
    Ok(copy)
}

/// Returns the URI of a file. Without a log, the file is read as immutable: SQLite could not
/// create the files by which it notices changes.
fn uri(path: &Path) -> String {
    let mut uri = String::from(if cfg!(windows) { "file:/" } else { "file:" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string can't fail.
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    uri + if has_log { "?mode=ro" } else { "?immutable=1" }
}
