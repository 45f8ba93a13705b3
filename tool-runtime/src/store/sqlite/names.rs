//! The names of all sessions: their number and a checksum that does not depend on their order.
//!
//! A session that is not found is reported as missing only if the list of names is complete.
//! Otherwise its entry in the index is damaged, and its name must not be used again.

use rusqlite::Connection;

use crate::store::sessions::checksum;

/// Adds a name, or removes one that was added.
pub(super) fn toggle(connection: &Connection, name: &str, by: i64) -> rusqlite::Result<()> {
    let (count, digest) = recorded(connection)?;
    let digest = digest ^ checksum::of_text(name.as_bytes());
    record(connection, (count.wrapping_add(by), digest))
}

/// Records the names that the table of sessions has.
pub(super) fn record_all(connection: &Connection) -> rusqlite::Result<()> {
    let all = present(connection)?;
    record(connection, all)
}

/// Returns whether the index of names is complete.
pub(super) fn are_complete(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(recorded(connection)? == present(connection)?)
}

fn record(connection: &Connection, (count, digest): (i64, i64)) -> rusqlite::Result<()> {
    let replace = "REPLACE INTO names (id, count, digest) VALUES (1, ?1, ?2)";
    connection.execute(replace, (count, digest)).map(drop)
}

fn recorded(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let names = "SELECT count, digest FROM names WHERE id = 1";
    connection.query_row(names, (), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Reads the names in the index, which is much smaller than the table.
fn present(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let mut names = connection.prepare("SELECT name FROM sessions")?;
    let mut names = names.query(())?;
    let (mut count, mut digest) = (0, 0);
    while let Some(row) = names.next()? {
        count += 1;
        digest ^= checksum::of_text(row.get_ref(0)?.as_bytes()?);
    }
    Ok((count, digest))
}
