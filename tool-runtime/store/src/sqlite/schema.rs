//! Tables of the file, and the migration of older versions.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::OpenFailure;

/// Application id of the files of this store: "tool" in ASCII.
const APPLICATION_ID: i32 = 0x746f_6f6c;

/// Migrations from each version to the next; `user_version` counts the ones that were run. Never
/// change an existing one: files in use were created by it.
pub(super) const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        -- How many there are, so that one that was lost is missed.
        messages INTEGER NOT NULL,
        state TEXT NOT NULL,
        -- In microseconds since 1970.
        saved_at INTEGER NOT NULL,
        state_checksum INTEGER NOT NULL,
        -- The checksum of all messages.
        chain INTEGER NOT NULL,
        -- The checksum of the name and of the other columns.
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE messages (
        session INTEGER NOT NULL,
        place INTEGER NOT NULL,
        message TEXT NOT NULL,
        -- The checksum of the messages up to this one, bound to the session.
        chain INTEGER NOT NULL,
        PRIMARY KEY (session, place)
    ) STRICT;
    -- The names of all sessions: one row.
    CREATE TABLE names (
        id INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        digest INTEGER NOT NULL
    ) STRICT;
    INSERT INTO names (id, count, digest) VALUES (1, 0, 0);
"];

/// Migrates the file to the newest version.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), OpenFailure> {
    apply(connection, &MIGRATIONS)
}

/// Runs the missing migrations in one transaction.
pub(super) fn apply(connection: &mut Connection, migrations: &[&str]) -> Result<(), OpenFailure> {
    if version(connection)? == migrations.len() {
        return check_application(connection);
    }
    // Another process may migrate the file too; the second one finds it done.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = version(&transaction)?;
    if version == 0 {
        check_empty(&transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    } else {
        check_application(&transaction)?;
    }
    let Some(missing) = migrations.get(version..) else {
        return Err(unsupported(version, migrations.len()));
    };
    for migration in missing {
        transaction.execute_batch(migration)?;
    }
    finish(transaction, migrations.len())
}

/// Returns the error for tables of sessions that a newer version has written.
pub(super) fn unsupported(version: usize, supported: usize) -> OpenFailure {
    OpenFailure::UnsupportedVersion { part: "sessions".to_owned(), version, supported }
}

fn finish(transaction: Transaction<'_>, version: usize) -> Result<(), OpenFailure> {
    // The version is in the first page of the file, so it is part of the transaction.
    transaction.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

pub(super) fn version(connection: &Connection) -> Result<usize, OpenFailure> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    usize::try_from(version).map_err(|_| OpenFailure::NotAStoreFile)
}

pub(super) fn check_application(connection: &Connection) -> Result<(), OpenFailure> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id == APPLICATION_ID { Ok(()) } else { Err(OpenFailure::NotAStoreFile) }
}

fn check_empty(connection: &Connection) -> Result<(), OpenFailure> {
    let count = "SELECT count(*) FROM sqlite_schema";
    let count: i64 = connection.query_row(count, (), |row| row.get(0))?;
    if count == 0 { Ok(()) } else { Err(OpenFailure::NotAStoreFile) }
}
