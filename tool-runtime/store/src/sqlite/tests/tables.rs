use std::sync::mpsc;

use rusqlite::Connection;

use super::folder::Folder;
use crate::sqlite::tables::SqliteTables;
use crate::sqlite::{OpenError, Sqlite, SqliteError};
use tool_core::Message;
use tool_core::agent::session::{SessionStore, SessionWrite};

const MIGRATIONS: &[&str] = &[
    "CREATE TABLE a (x)",
    "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x * 2",
    "CREATE TABLE b (z); INSERT INTO b SELECT y FROM a",
];

async fn insert(tables: &SqliteTables, x: i64) {
    tables.write(move |it| it.execute("INSERT INTO a (x) VALUES (?1)", [x])).await.unwrap();
}

async fn count(tables: &SqliteTables) -> i64 {
    let count = "SELECT count(*) FROM a";
    tables.read(move |it| it.query_row(count, (), |row| row.get(0))).await.unwrap()
}

#[tokio::test]
async fn any_version_of_tables_migrates_to_the_newest() {
    for age in 0..=MIGRATIONS.len() {
        let folder = Folder::new();
        if age > 0 {
            let store = Sqlite::open(folder.file()).await.unwrap();
            insert(&store.tables("part", &MIGRATIONS[..age]).await.unwrap(), 21).await;
        }
        for _ in 0..2 {
            let store = Sqlite::open(folder.file()).await.unwrap();
            let tables = store.tables("part", MIGRATIONS).await.unwrap();
            let highest = "SELECT max(y) FROM a";
            let highest: Option<i64> =
                tables.read(move |it| it.query_row(highest, (), |row| row.get(0))).await.unwrap();
            assert_eq!(highest, (age == 1).then_some(42), "from version {age}");
        }
    }
}

#[tokio::test]
async fn failing_or_older_migrations_change_nothing() {
    const FAILING: &[&str] = &["CREATE TABLE a (x)", "CREATE TABLE c (x); SELECT no FROM such"];
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).await.unwrap();
    insert(&store.tables("part", &MIGRATIONS[..1]).await.unwrap(), 1).await;
    let error = store.tables("part", FAILING).await.unwrap_err();
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("no such table: such"), "{error}");
    let error = store.tables("part", &[]).await.unwrap_err();
    assert!(matches!(error, OpenError::UnsupportedVersion { version: 1, supported: 0, .. }));
    assert!(error.to_string().contains("the tables of `"), "{error}");
    assert_eq!(count(&store.tables("part", MIGRATIONS).await.unwrap()).await, 1);
    let connection = Connection::open(folder.file()).unwrap();
    let count = "SELECT count(*) FROM sqlite_schema WHERE name = 'c'";
    assert_eq!(connection.query_row(count, (), |row| row.get(0)), Ok(0));
}

#[tokio::test]
async fn parts_and_sessions_share_a_file() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).await.unwrap();
    let first = store.tables("first", MIGRATIONS).await.unwrap();
    let second = store.tables("second", &["CREATE TABLE second_notes (x)"]).await.unwrap();
    insert(&first, 1).await;
    second.write(|it| it.execute("INSERT INTO second_notes VALUES (1)", ())).await.unwrap();
    store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hi")])).await.unwrap();
    drop((store, first, second));
    let store = Sqlite::open(folder.file()).await.unwrap();
    assert_eq!(count(&store.tables("first", MIGRATIONS).await.unwrap()).await, 1);
    assert_eq!(store.load("ada").await.unwrap().unwrap().messages.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_open_tables_at_once_migrate_them_once() {
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).await.unwrap());
    let openers = (0..8).map(|_| {
        let path = folder.file();
        tokio::spawn(async move {
            let tables = Sqlite::open(path).await.unwrap().tables("part", MIGRATIONS).await;
            insert(&tables.unwrap(), 1).await;
        })
    });
    for opener in openers.collect::<Vec<_>>() {
        opener.await.unwrap();
    }
    let store = Sqlite::open(folder.file()).await.unwrap();
    assert_eq!(count(&store.tables("part", MIGRATIONS).await.unwrap()).await, 8);
}

#[tokio::test]
async fn operation_that_fails_or_panics_changes_nothing() {
    let folder = Folder::new();
    for store in [Sqlite::open(folder.file()).await.unwrap(), Sqlite::in_memory().unwrap()] {
        let tables = store.tables("part", MIGRATIONS).await.unwrap();
        let insert_row = "INSERT INTO a (x) VALUES (1)";
        let failed = tables
            .write(move |it| {
                it.execute(insert_row, ())?;
                it.execute("INSERT INTO such VALUES (1)", ())
            })
            .await;
        assert!(matches!(failed, Err(SqliteError::Statement(_))));
        let panicked = tables
            .write(move |it| -> rusqlite::Result<()> {
                it.execute(insert_row, ())?;
                panic!("defect of an operation");
            })
            .await;
        assert!(matches!(panicked, Err(SqliteError::Interrupted(_))));
        tables.read(move |it| it.execute(insert_row, ())).await.unwrap();
        assert_eq!(count(&tables).await, 0);
        insert(&tables, 1).await;
        assert_eq!(count(&tables).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reader_does_not_wait_for_a_writer() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).await.unwrap();
    let [writer, reader] = [
        store.tables("part", MIGRATIONS).await.unwrap(),
        store.tables("part", MIGRATIONS).await.unwrap(),
    ];
    let (started, is_started) = tokio::sync::oneshot::channel();
    let (end, may_end) = mpsc::channel::<()>();
    let writing = tokio::spawn(async move {
        let write = writer.write(move |it| {
            it.execute("INSERT INTO a (x) VALUES (1)", ())?;
            _ = started.send(());
            _ = may_end.recv();
            Ok(())
        });
        write.await.unwrap();
    });
    is_started.await.unwrap();
    assert_eq!(count(&reader).await, 0);
    end.send(()).unwrap();
    writing.await.unwrap();
    assert_eq!(count(&reader).await, 1);
}
