//! The names of all sessions: their number and a checksum that does not depend on their order.
//!
//! A session that is not found is reported as missing only if the list of names is complete.
//! Otherwise its entry in the index is damaged, and its name must not be used again. All names are
//! read only after another connection has changed the file.

use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::sessions::checksum;

/// Adds a name, or removes one that was added.
pub(super) fn toggle(connection: &Connection, name: &str, by: i64) -> rusqlite::Result<()> {
    let (count, digest) = recorded(connection)?;
    let digest = digest ^ checksum::of_text(name.as_bytes());
    record(connection, (count.wrapping_add(by), digest))
}

/// The version of the file in which a connection has found the index of names to be complete.
#[derive(Debug, Default)]
pub(super) struct CompleteNames(Mutex<Option<i64>>);

impl CompleteNames {
    /// Returns whether the index of names is complete, within a transaction.
    pub(super) fn are_complete(&self, connection: &Connection) -> rusqlite::Result<bool> {
        // It changes when another connection commits. This connection keeps the index complete.
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let mut complete = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *complete != Some(version) {
            let is_complete = recorded(connection)? == present(connection)?;
            *complete = is_complete.then_some(version);
        }
        Ok(complete.is_some())
    }
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

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn names_are_read_again_after_another_connection_has_changed_the_file() {
        let file = std::env::temp_dir().join(format!("names-{}.db", std::process::id()));
        let open = || Connection::open(&file).unwrap();
        let (writer, other) = (open(), open());
        let tables = "CREATE TABLE sessions (name TEXT UNIQUE);
             CREATE TABLE names (id INTEGER PRIMARY KEY, count, digest);
             INSERT INTO sessions VALUES ('ada')";
        writer.execute_batch(tables).unwrap();
        let names = CompleteNames::default();
        assert!(names.are_complete(&writer).is_err());
        record(&writer, present(&writer).unwrap()).unwrap();
        assert!(names.are_complete(&writer).unwrap());
        // What this connection writes needs no check.
        writer.execute("UPDATE names SET count = 7", ()).unwrap();
        assert!(names.are_complete(&writer).unwrap());
        other.execute("INSERT INTO sessions VALUES ('bob')", ()).unwrap();
        assert!(!names.are_complete(&writer).unwrap());
        assert!(!names.are_complete(&writer).unwrap());
        record(&other, present(&other).unwrap()).unwrap();
        assert!(names.are_complete(&writer).unwrap());
        drop((writer, other));
        std::fs::remove_file(&file).unwrap();
    }
}
