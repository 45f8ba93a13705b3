use std::fs;

use rusqlite::Connection;

use super::folder::Folder;
use crate::sqlite::error::OpenFailure;
use crate::sqlite::migrations::migrate;
use crate::sqlite::schema::PART;
use crate::sqlite::{OpenError, Sqlite};

const MIGRATIONS: [&str; 3] = [
    "CREATE TABLE a (x)",
    "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x * 2",
    "CREATE TABLE b (z); INSERT INTO b SELECT y FROM a",
];

#[test]
fn any_version_migrates_to_the_newest() {
    for age in 0..=MIGRATIONS.len() {
        let mut connection = Connection::open_in_memory().unwrap();
        if age > 0 {
            migrate(&mut connection, "part", &MIGRATIONS[..age]).unwrap();
            connection.execute("INSERT INTO a (x) VALUES (21)", ()).unwrap();
        }
        for _ in 0..2 {
            migrate(&mut connection, "part", &MIGRATIONS).unwrap();
        }
        let highest: Option<i64> =
            connection.query_row("SELECT max(y) FROM a", (), |row| row.get(0)).unwrap();
        assert_eq!(highest, (age == 1).then_some(42), "from version {age}");
    }
}

#[test]
fn failing_migration_changes_nothing() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, "part", &MIGRATIONS[..1]).unwrap();
    let failing = [MIGRATIONS[0], "ALTER TABLE a ADD COLUMN y; SELECT no FROM such"];
    let error = migrate(&mut connection, "part", &failing).unwrap_err();
    assert!(matches!(error, OpenFailure::Sqlite(_)), "{error:?}");
    migrate(&mut connection, "part", &MIGRATIONS).unwrap();
}

#[tokio::test]
async fn newer_file_is_unchanged() {
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).await.unwrap());
    let newer = Connection::open(folder.file()).unwrap();
    newer.execute("UPDATE table_versions SET version = 7 WHERE part = ?1", [PART]).unwrap();
    drop(newer);
    let before = fs::read(folder.file()).unwrap();
    let error = Sqlite::open(folder.file()).await.unwrap_err();
    assert!(
        matches!(error, OpenError::UnsupportedVersion { version: 7, supported: 1, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("sessions.db: 7, at most 1"), "{error}");
    assert_eq!(fs::read(folder.file()).unwrap(), before);
}

#[tokio::test]
async fn file_of_another_program_is_unchanged() {
    let tables = |connection: &Connection| {
        connection.execute_batch("CREATE TABLE sessions (mine)").unwrap();
    };
    let application = |connection: &Connection| {
        connection.execute_batch("PRAGMA application_id = 1").unwrap();
    };
    for make in [tables, application] {
        let folder = Folder::new();
        make(&Connection::open(folder.file()).unwrap());
        let before = fs::read(folder.file()).unwrap();
        let error = Sqlite::open(folder.file()).await.unwrap_err();
        assert!(matches!(error, OpenError::NotAStoreFile { .. }), "{error}");
        assert_eq!(fs::read(folder.file()).unwrap(), before);
    }
    let folder = Folder::new();
    let text = "no database, but long enough that it could be taken for one\n".repeat(100);
    fs::write(folder.file(), &text).unwrap();
    let error = Sqlite::open(folder.file()).await.unwrap_err();
    assert!(matches!(error, OpenError::NotAStoreFile { .. }), "{error}");
    assert_eq!(fs::read_to_string(folder.file()).unwrap(), text);
}

/// The page with the schema is damaged, or the end of the file is missing.
#[tokio::test]
async fn damaged_file_is_unchanged() {
    let fill = |bytes: &mut Vec<u8>| bytes[100..2_000].fill(0xff);
    let truncate = |bytes: &mut Vec<u8>| bytes.truncate(3_000);
    for damage in [fill, truncate] {
        let folder = Folder::new();
        drop(Sqlite::open(folder.file()).await.unwrap());
        let mut bytes = fs::read(folder.file()).unwrap();
        damage(&mut bytes);
        fs::write(folder.file(), &bytes).unwrap();
        let error = Sqlite::open(folder.file()).await.unwrap_err();
        assert!(matches!(error, OpenError::CorruptFile { .. }), "{error:?}");
        assert!(error.to_string().ends_with("; restore it from a copy"), "{error}");
        assert_eq!(fs::read(folder.file()).unwrap(), bytes);
    }
}

#[tokio::test]
async fn missing_folder_is_reported() {
    let error = Sqlite::open("/no/such/folder/sessions.db").await.unwrap_err();
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}
