//! What the file is made of, and how one of an earlier version comes to be of this.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::OpenError;

/// Tells a file of ours from any other: "tool" in ASCII.
const APPLICATION: i32 = 0x746f_6f6c;

/// What brings a file from each version to the next; `user_version` counts those that were done. What
/// stands here stays as it is: files in the world were made by it.
const STEPS: [&str; 1] = ["
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
"];

/// Brings the file to the newest version; all of it or nothing.
pub(super) fn bring_up_to_date(connection: &mut Connection) -> Result<(), OpenError> {
    apply(connection, &STEPS)
}

pub(super) fn apply(connection: &mut Connection, steps: &[&str]) -> Result<(), OpenError> {
    if version(connection)? == steps.len() {
        return is_ours(connection);
    }
    // Another process may be at it as well: whoever comes second finds it done.
    let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = version(&work)?;
    if version == 0 {
        is_empty(&work)?;
        work.pragma_update(None, "application_id", APPLICATION)?;
    } else {
        is_ours(&work)?;
    }
    let Some(missing) = steps.get(version..) else {
        return Err(OpenError::Newer { version, known: steps.len() });
    };
    for step in missing {
        work.execute_batch(step)?;
    }
    finish(work, steps.len())
}

fn finish(work: Transaction<'_>, version: usize) -> Result<(), OpenError> {
    // Part of the transaction, for it stands in the file's first page.
    work.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
    Ok(work.commit()?)
}

fn version(connection: &Connection) -> Result<usize, OpenError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    usize::try_from(version).map_err(|_| OpenError::Foreign)
}

fn is_ours(connection: &Connection) -> Result<(), OpenError> {
    let whose: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if whose == APPLICATION { Ok(()) } else { Err(OpenError::Foreign) }
}

fn is_empty(connection: &Connection) -> Result<(), OpenError> {
    let count = "SELECT count(*) FROM sqlite_schema";
    let count: i64 = connection.query_row(count, (), |row| row.get(0))?;
    if count == 0 { Ok(()) } else { Err(OpenError::Foreign) }
}
