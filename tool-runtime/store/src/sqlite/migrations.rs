//! Creation and migration of the tables of each part.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::error::OpenFailure;

/// Application id of the files of this store: "tool" in ASCII.
const APPLICATION_ID: i32 = 0x746f_6f6c;

/// The table that records which migrations of which part were run.
const VERSIONS: &str = "
    CREATE TABLE IF NOT EXISTS table_versions (
        part TEXT PRIMARY KEY,
        version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// Runs the missing migrations of a part in one transaction.
pub(super) fn migrate(
    connection: &mut Connection,
    part: &str,
    migrations: &[&str],
) -> Result<(), OpenFailure> {
    // Without a write, so that a read-only file can be read. In one transaction: another process
    // may create the tables between two reads, which then look like those of another program.
    let snapshot = connection.transaction()?;
    if is_store(&snapshot)? && version(&snapshot, part)? == migrations.len() {
        return Ok(());
    }
    drop(snapshot);
    // Another process may migrate the tables too; the second one finds it done.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_store(&transaction)? {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.execute_batch(VERSIONS)?;
    let version = version(&transaction, part)?;
    let Some(missing) = migrations.get(version..) else {
        return Err(unsupported(part, version, migrations));
    };
    for migration in missing {
        transaction.execute_batch(migration)?;
    }
    let record = "INSERT OR REPLACE INTO table_versions VALUES (?1, ?2)";
    transaction.execute(record, (part, i64::try_from(migrations.len()).unwrap_or(i64::MAX)))?;
    Ok(transaction.commit()?)
}

/// Returns whether this is a file of a store, rather than an empty one.
///
/// # Errors
/// [`OpenFailure::NotAStoreFile`] if the file is that of another program.
pub(super) fn is_store(connection: &Connection) -> Result<bool, OpenFailure> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let count = "SELECT count(*) FROM sqlite_schema";
    let count: i64 = connection.query_row(count, (), |row| row.get(0))?;
    match (id, count) {
        (APPLICATION_ID, _) => Ok(count > 0),
        (0, 0) => Ok(false),
        _ => Err(OpenFailure::NotAStoreFile),
    }
}

/// Returns the number of migrations of a part that were run.
pub(super) fn version(connection: &Connection, part: &str) -> Result<usize, OpenFailure> {
    let version = "SELECT version FROM table_versions WHERE part = ?1";
    let version: Option<i64> =
        connection.query_row(version, [part], |row| row.get(0)).optional()?;
    usize::try_from(version.unwrap_or_default()).map_err(|_| OpenFailure::NotAStoreFile)
}

/// Returns the error for tables that a newer version has written.
pub(super) fn unsupported(part: &str, version: usize, migrations: &[&str]) -> OpenFailure {
    let (part, supported) = (part.to_owned(), migrations.len());
    OpenFailure::UnsupportedVersion { part, version, supported }
}
