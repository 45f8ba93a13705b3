//! Tables of the file, and the migration of older versions.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::OpenFailure;
use super::names;
use super::row::{self, COLUMNS};
use crate::sessions::{SessionRow, checksum};

/// Application id of the files of this store: "tool" in ASCII.
const APPLICATION_ID: i32 = 0x746f_6f6c;

/// Migrations from each version to the next; `user_version` counts the ones that were run. Never
/// change an existing one: files in use were created by it.
pub(super) const MIGRATIONS: [&str; 3] = [
    "
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        -- How many there are, so that one that was lost is missed.
        messages INTEGER NOT NULL,
        state TEXT NOT NULL,
        -- In microseconds since 1970.
        saved_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE messages (
        session INTEGER NOT NULL,
        place INTEGER NOT NULL,
        message TEXT NOT NULL,
        PRIMARY KEY (session, place)
    ) STRICT;
",
    "
    ALTER TABLE sessions ADD COLUMN state_checksum INTEGER NOT NULL DEFAULT 0;
    -- The checksum of all messages.
    ALTER TABLE sessions ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
    -- The checksum of the name and of the other columns.
    ALTER TABLE sessions ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    -- The checksum of the messages up to this one.
    ALTER TABLE messages ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
    -- The names of all sessions: one row.
    CREATE TABLE names (
        id INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        digest INTEGER NOT NULL
    ) STRICT;
",
    "
    -- Binds the checksums of messages to their sessions: the exclusive or of both.
    UPDATE messages SET chain = (chain | session) - (chain & session);
",
];

/// The version that introduced checksums.
pub(super) const CHECKSUMS: usize = 2;

/// Migrates the file to the newest version in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), OpenFailure> {
    apply_with(connection, &MIGRATIONS, |transaction, before| {
        if before < CHECKSUMS { write_checksums(transaction) } else { Ok(()) }
    })
}

/// Writes the checksums of sessions that were stored without them.
fn write_checksums(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut sessions =
        transaction.prepare(&format!("SELECT {COLUMNS}, name, state FROM sessions"))?;
    let mut texts = transaction
        .prepare("SELECT place, message FROM messages WHERE session = ?1 ORDER BY place")?;
    let mut update_message =
        transaction.prepare("UPDATE messages SET chain = ?3 WHERE session = ?1 AND place = ?2")?;
    let mut update_session = transaction.prepare(
        "UPDATE sessions SET state_checksum = ?2, chain = ?3, checksum = ?4 WHERE id = ?1",
    )?;
    let mut found = sessions.query(())?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        // A damaged text has a checksum as well: it concerns its session only.
        let state_checksum = checksum::of_text(row.get_ref(8)?.as_bytes()?);
        let name = String::from_utf8_lossy(row.get_ref(7)?.as_bytes()?).into_owned();
        rows.push((SessionRow { state_checksum, ..row::read(row)? }, name));
    }
    for (row, name) in rows {
        let mut chain = checksum::EMPTY;
        let mut chains: Vec<(i64, i64)> = Vec::new();
        let mut found = texts.query((row.id,))?;
        while let Some(message) = found.next()? {
            chain = checksum::after_message(chain, message.get_ref(1)?.as_bytes()?);
            chains.push((message.get(0)?, checksum::in_session(chain, row.id)));
        }
        for (place, chain) in chains {
            update_message.execute((row.id, place, chain))?;
        }
        let row = SessionRow { chain, ..row };
        let checksum = row.checksum_as(&name);
        update_session.execute((row.id, row.state_checksum, chain, checksum))?;
    }
    names::record_all(transaction)
}

pub(super) fn apply(connection: &mut Connection, migrations: &[&str]) -> Result<(), OpenFailure> {
    apply_with(connection, migrations, |_, _| Ok(()))
}

/// Runs the missing migrations, and then `complete` with the version before them.
fn apply_with(
    connection: &mut Connection,
    migrations: &[&str],
    complete: impl FnOnce(&Transaction<'_>, usize) -> rusqlite::Result<()>,
) -> Result<(), OpenFailure> {
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
    complete(&transaction, version)?;
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
