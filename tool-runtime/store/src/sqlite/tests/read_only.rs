use std::fs;

use rusqlite::Connection;

use super::folder::Folder;
use crate::sqlite::error::OpenFailure;
use crate::sqlite::migrations::migrate;
use crate::sqlite::schema::{MIGRATIONS, PART};
use crate::sqlite::{Sqlite, read_only};
use tool_core::Message;
use tool_core::agent::session::{SessionError, SessionQuery, SessionStore, SessionWrite};

#[tokio::test]
async fn file_that_cannot_be_written_is_read() {
    let folder = Folder::new();
    let file = folder.file().with_file_name("100% odd? #name.db");
    let store = Sqlite::open(&file).await.unwrap();
    let messages = [Message::user("Hello")];
    store.save("ada", SessionWrite::create().messages(0, &messages)).await.unwrap();
    // With the log of another connection, and without one.
    let before = fs::read(&file).unwrap();
    let with_log = Sqlite::new(read_only::open(&file).unwrap(), None);
    assert_eq!(with_log.load("ada").await.unwrap().unwrap().messages, messages);
    // The last connection writes the log to the file.
    drop(with_log);
    drop(store);
    assert!(fs::read(&file).unwrap() != before);
    let before = fs::read(&file).unwrap();
    let store = Sqlite::new(read_only::open(&file).unwrap(), None);
    assert_eq!(store.load("ada").await.unwrap().unwrap().messages, messages);
    assert_eq!(store.load("bob").await.unwrap(), None);
    assert_eq!(store.list(SessionQuery::all()).await.unwrap().len(), 1);
    let error = store.save("bob", SessionWrite::create()).await.unwrap_err();
    assert!(matches!(error, SessionError::InvalidWrite { .. }), "{error}");
    assert!(error.to_string().contains("read-only"), "{error}");
    drop(store);
    assert!(fs::read(&file).unwrap() == before);
    // No file of a log is left behind.
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn earlier_version_that_cannot_be_written_is_migrated_in_memory() {
    let folder = Folder::new();
    let messages = [Message::user("Hello")];
    let store = Sqlite::open(folder.file()).await.unwrap();
    store.save("ada", SessionWrite::create().messages(0, &messages)).await.unwrap();
    drop(store);
    let before = fs::read(folder.file()).unwrap();
    let next = "ALTER TABLE messages ADD COLUMN size INTEGER;
        UPDATE messages SET size = length(message)";
    let migrated = read_only::open_with(&folder.file(), &[MIGRATIONS[0], next]).unwrap();
    let count = "SELECT count(*) FROM messages WHERE size = length(message) AND size > 0";
    assert_eq!(migrated.query_row(count, (), |row| row.get(0)), Ok(1));
    let store = Sqlite::new(migrated, None);
    assert_eq!(store.load("ada").await.unwrap().unwrap().messages, messages);
    assert_eq!(store.load("bob").await.unwrap(), None);
    let error = store.save("bob", SessionWrite::create()).await.unwrap_err();
    assert!(matches!(error, SessionError::InvalidWrite { .. }), "{error}");
    assert!(fs::read(folder.file()).unwrap() == before);
}

#[test]
fn other_files_that_cannot_be_written_are_refused() {
    let folder = Folder::new();
    assert!(matches!(read_only::open(&folder.file()), Err(OpenFailure::Sqlite(_))));
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    assert!(matches!(read_only::open(&folder.file()), Err(OpenFailure::NotAStoreFile)));
    fs::remove_file(folder.file()).unwrap();
    let mut newer = Connection::open(folder.file()).unwrap();
    migrate(&mut newer, PART, &[]).unwrap();
    newer.execute("UPDATE table_versions SET version = 7", ()).unwrap();
    drop(newer);
    let error = read_only::open(&folder.file()).unwrap_err();
    assert!(matches!(error, OpenFailure::UnsupportedVersion { version: 7, .. }), "{error:?}");
}
