//! Rows that another program altered: the session can't be loaded or overwritten.

use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};
use tool_runtime::store::Postgres;

use super::{client, exchanged_records, schema, user_messages};

#[tokio::test]
async fn altered_row_is_reported_and_left_unchanged() {
    let config = schema().await;
    let client = client(&config).await;
    for (damage, expected) in [
        ("UPDATE tool_messages SET message = '{\"role\": \"user\"' WHERE place = 1", Some(1)),
        ("UPDATE tool_messages SET chain = chain + 1 WHERE place = 2", Some(2)),
        ("DELETE FROM tool_messages WHERE place = 0", Some(0)),
        ("DELETE FROM tool_messages WHERE place = 2", Some(2)),
        (
            "INSERT INTO tool_messages SELECT session, 3, message, chain FROM tool_messages \
             WHERE place = 2",
            Some(3),
        ),
        ("UPDATE tool_sessions SET messages = 2", None),
        ("UPDATE tool_sessions SET state = '\\xff'", None),
        ("UPDATE tool_sessions SET revision = revision - 1", None),
        ("UPDATE tool_sessions SET name = 's', id = DEFAULT WHERE name = 's'", None),
    ] {
        let store = Postgres::connect(&config).await.unwrap();
        let messages = user_messages(&["a", "b", "c"]);
        let write = SessionWrite::create().messages(0, &messages);
        store.save("s", write).await.unwrap();
        assert_eq!(client.execute(damage, &[]).await.unwrap(), 1, "{damage}");
        match store.load("s").await.unwrap_err() {
            SessionError::Corrupt { session, message_index, reason } => {
                assert_eq!((&*session, message_index), ("s", expected), "{damage}: {reason}");
            }
            error => panic!("{damage}: {error}"),
        }
        // It can't be overwritten without reading it.
        let blind = store.save("s", SessionWrite::create()).await;
        let is_refused =
            matches!(blind, Err(SessionError::Conflict { .. } | SessionError::Corrupt { .. }));
        assert!(is_refused, "{damage}: {blind:?}");
        store.delete("s", None).await.unwrap();
        client.execute("DELETE FROM tool_messages", &[]).await.unwrap();
    }
}

#[tokio::test]
async fn exchanged_sessions_are_errors() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    for name in ["ada", "bob"] {
        let messages = user_messages(&[name]);
        store.save(name, SessionWrite::create().messages(0, &messages)).await.unwrap();
    }
    let exchange = "
        UPDATE tool_sessions SET name = 'x' WHERE name = 'ada';
        UPDATE tool_sessions SET name = 'ada' WHERE name = 'bob';
        UPDATE tool_sessions SET name = 'bob' WHERE name = 'x'";
    client(&config).await.batch_execute(exchange).await.unwrap();
    for name in ["ada", "bob"] {
        let error = store.load(name).await.unwrap_err();
        assert!(matches!(error, SessionError::Corrupt { .. }), "{error}");
    }
}

#[tokio::test]
async fn records_exchanged_between_sessions_are_errors() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    let names = exchanged_records::fill(&store).await;
    let other = client(&config).await;
    let run = async |statements: &str| other.batch_execute(statements).await.unwrap();
    exchanged_records::check(&store, &names, "tool_", run).await;
}

#[tokio::test]
async fn missing_table_is_damage() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    store.save("s", SessionWrite::create()).await.unwrap();
    client(&config).await.batch_execute("DROP TABLE tool_messages").await.unwrap();
    let error = store.load("s").await.unwrap_err();
    assert!(matches!(error, SessionError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("\"tool_messages\" does not exist"), "{error}");
}
