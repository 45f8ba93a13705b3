//! Notifications, also over lost connections.

use tool_runtime::store::PostgresNotification::{MaybeMissed, Received};
use tool_runtime::store::deadpool_postgres::{Manager, Pool};
use tool_runtime::store::tokio_postgres::NoTls;
use tool_runtime::store::{ConnectError, Postgres};

use super::{client, schema, server};

#[tokio::test]
async fn committed_notifications_arrive_in_order() {
    let config = schema().await;
    let [store, other] = [Postgres::connect(&config).await, Postgres::connect(&config).await];
    let channel = "it's a \"channel\"";
    let mut notifications = store.unwrap().listen(channel).await.unwrap();
    let other = other.unwrap();
    other.notify("another channel", "no").await.unwrap();
    let sender = client(&config).await;
    sender
        .batch_execute("BEGIN; SELECT pg_notify('it''s a \"channel\"', 'undone'); ROLLBACK")
        .await
        .unwrap();
    for payload in ["1", "", "\u{1f980}"] {
        other.notify(channel, payload).await.unwrap();
    }
    for payload in ["1", "", "\u{1f980}"] {
        assert_eq!(notifications.next().await, Received(payload.to_owned()));
    }
}

#[tokio::test]
async fn lost_connection_is_replaced_and_reported() {
    let config = format!("{} application_name=listener", schema().await);
    let store = Postgres::connect(&config).await.unwrap();
    let mut notifications = store.listen("changes").await.unwrap();
    let admin = client(&server()).await;
    for round in 0..3 {
        let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                         WHERE application_name = 'listener' AND query LIKE 'LISTEN%'";
        assert_eq!(admin.query(terminate, &[]).await.unwrap().len(), 1);
        // It may be sent while no connection listens.
        store.notify("changes", "maybe").await.unwrap();
        while notifications.next().await != MaybeMissed {}
        let payload = round.to_string();
        store.notify("changes", &payload).await.unwrap();
        let next = loop {
            match notifications.next().await {
                Received(payload) if payload == "maybe" => {}
                next => break next,
            }
        };
        assert_eq!(next, Received(payload));
    }
}

#[tokio::test]
async fn store_on_a_pool_of_the_program_cannot_listen() {
    let manager = Manager::new(schema().await.parse().unwrap(), NoTls);
    let pool = Pool::builder(manager).max_size(2).build().unwrap();
    let store = Postgres::from_pool(pool).await.unwrap();
    let error = store.listen("changes").await.unwrap_err();
    assert!(matches!(error, ConnectError::InvalidConfig { .. }), "{error}");
    assert!(error.to_string().contains("connect_with"), "{error}");
}
