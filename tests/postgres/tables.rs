//! Tables of other parts of a program in the database of the sessions.

use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::store::{ConnectError, Postgres, PostgresTables};

use super::{client, schema};

const MIGRATIONS: &[&str] = &[
    "CREATE TABLE a (x BIGINT)",
    "ALTER TABLE a ADD COLUMN y BIGINT; UPDATE a SET y = x * 2",
    "CREATE TABLE b (z BIGINT); INSERT INTO b SELECT y FROM a",
];

async fn insert(tables: &PostgresTables, x: i64) {
    let client = tables.client().await.unwrap();
    client.execute("INSERT INTO a (x) VALUES ($1)", &[&x]).await.unwrap();
}

async fn count(tables: &PostgresTables) -> i64 {
    let client = tables.client().await.unwrap();
    client.query_one("SELECT count(*) FROM a", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn any_version_of_tables_migrates_to_the_newest() {
    for age in 0..=MIGRATIONS.len() {
        let config = schema().await;
        if age > 0 {
            let store = Postgres::connect(&config).await.unwrap();
            insert(&store.tables("part", &MIGRATIONS[..age]).await.unwrap(), 21).await;
        }
        for _ in 0..2 {
            let store = Postgres::connect(&config).await.unwrap();
            let client = store.tables("part", MIGRATIONS).await.unwrap().client().await.unwrap();
            let highest = client.query_one("SELECT max(y) FROM a", &[]).await.unwrap();
            let highest: Option<i64> = highest.get(0);
            assert_eq!(highest, (age == 1).then_some(42), "from version {age}");
        }
    }
}

#[tokio::test]
async fn failing_or_older_migrations_change_nothing() {
    const FAILING: &[&str] = &["CREATE TABLE a (x BIGINT)", "CREATE TABLE c (x INT); SELECT no"];
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    insert(&store.tables("part", &MIGRATIONS[..1]).await.unwrap(), 1).await;
    let error = store.tables("part", FAILING).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("column \"no\" does not exist"), "{error}");
    let error = store.tables("part", &[]).await.unwrap_err();
    let ConnectError::UnsupportedVersion { part, version: 1, supported: 0 } = error else {
        panic!("{error}")
    };
    assert_eq!(part, "part");
    assert_eq!(count(&store.tables("part", MIGRATIONS).await.unwrap()).await, 1);
    let created = "SELECT to_regclass('c') IS NOT NULL";
    let created = client(&config).await.query_one(created, &[]).await.unwrap();
    assert!(!created.get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_open_tables_at_once_migrate_them_once() {
    let config = schema().await;
    let openers: Vec<_> = (0..8)
        .map(|_| {
            let config = config.clone();
            tokio::spawn(async move {
                let store = Postgres::connect(&config).await.unwrap();
                insert(&store.tables("part", MIGRATIONS).await.unwrap(), 1).await;
            })
        })
        .collect();
    for opener in openers {
        opener.await.unwrap();
    }
    let store = Postgres::connect(&config).await.unwrap();
    assert_eq!(count(&store.tables("part", MIGRATIONS).await.unwrap()).await, 8);
}

#[tokio::test]
async fn dropped_transaction_of_tables_changes_nothing() {
    let store = Postgres::connect(&schema().await).await.unwrap();
    let tables = store.tables("part", MIGRATIONS).await.unwrap();
    let mut client = tables.client().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO a (x) VALUES (1)", &[]).await.unwrap();
    drop(transaction);
    drop(client);
    assert_eq!(count(&tables).await, 0);
    insert(&tables, 1).await;
    // Beside the sessions, in one schema.
    store.save("ada", SessionWrite::create()).await.unwrap();
    assert_eq!(count(&tables).await, 1);
}
