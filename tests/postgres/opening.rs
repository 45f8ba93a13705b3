//! Tables that are created, found, refused, or read without the right to write.

use tool_runtime::agent::session::{SessionError, SessionQuery, SessionStore, SessionWrite};
use tool_runtime::store::{ConnectError, Postgres};

use super::{client, schema, server, user_messages};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_that_are_opened_at_once_create_the_tables_once() {
    let config = schema().await;
    let openers: Vec<_> = (0..8)
        .map(|number| {
            let config = config.clone();
            tokio::spawn(async move {
                let store = Postgres::connect(&config).await.unwrap();
                store.save(&number.to_string(), SessionWrite::create()).await.unwrap();
            })
        })
        .collect();
    for opener in openers {
        opener.await.unwrap();
    }
    let store = Postgres::connect(&config).await.unwrap();
    assert_eq!(store.list(SessionQuery::all()).await.unwrap().len(), 8);
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused() {
    let config = schema().await;
    drop(Postgres::connect(&config).await.unwrap());
    let newer = "UPDATE tool_table_versions SET version = 7";
    assert_eq!(client(&config).await.execute(newer, &[]).await.unwrap(), 1);
    let error = Postgres::connect(&config).await.unwrap_err();
    assert!(
        matches!(error, ConnectError::UnsupportedVersion { version: 7, supported: 1, .. }),
        "{error}"
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn tables_of_another_program_are_unchanged() {
    let config = schema().await;
    let client = client(&config).await;
    client.batch_execute("CREATE TABLE tool_messages (mine TEXT)").await.unwrap();
    let error = Postgres::connect(&config).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("\"tool_messages\" already exists"), "{error}");
    // No table was created.
    let tables = "SELECT to_regclass('tool_sessions') IS NULL \
                  AND to_regclass('tool_table_versions') IS NULL";
    assert!(client.query_one(tables, &[]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test]
async fn tables_are_those_of_the_first_schema_of_the_search_path() {
    let others = schema().await;
    let other = Postgres::connect(&others).await.unwrap();
    other.save("theirs", SessionWrite::create()).await.unwrap();
    // Names with capitals are quoted.
    let name = format!("\"First_{}\"", std::process::id());
    let config = others.replace("search_path=", &format!("search_path={name},"));
    client(&server()).await.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
    for _ in 0..2 {
        let store = Postgres::connect(&config).await.unwrap();
        assert_eq!(store.load("theirs").await.unwrap(), None);
        store.save(&fastrand::u64(..).to_string(), SessionWrite::create()).await.unwrap();
    }
    assert_eq!(other.list(SessionQuery::all()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn tables_that_cannot_be_written_are_read() {
    let config = schema().await;
    let messages = user_messages(&["Hello"]);
    let store = Postgres::connect(&config).await.unwrap();
    store.save("ada", SessionWrite::create().messages(0, &messages)).await.unwrap();
    let read_only = config.replace("-c search", "-c default_transaction_read_only=on -c search");
    let store = Postgres::connect(&read_only).await.unwrap();
    assert_eq!(store.load("ada").await.unwrap().unwrap().messages, messages);
    let error = store.save("bob", SessionWrite::create()).await.unwrap_err();
    assert!(matches!(error, SessionError::InvalidWrite { .. }), "{error}");
    assert!(error.to_string().contains("read-only transaction"), "{error}");
}

#[tokio::test]
async fn connection_errors_tell_transient_from_permanent() {
    for (config, is_transient) in [
        ("host=127.0.0.1 port=1 user=app".to_owned(), true),
        (server() + " dbname=none", false),
        (server() + " user=none", false),
    ] {
        let error = Postgres::connect(&config).await.unwrap_err();
        assert_eq!(error.is_transient(), is_transient, "{error}");
    }
    let error = Postgres::connect(&(server() + " user=none")).await.unwrap_err().to_string();
    assert!(error.ends_with("role \"none\" does not exist"), "{error}");
}
