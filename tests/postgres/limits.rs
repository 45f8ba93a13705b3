//! Limits of time and size.

use std::time::{Duration, Instant};

use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};
use tool_runtime::store::Postgres;
use tool_runtime::store::deadpool_postgres::{Manager, Pool};
use tool_runtime::store::tokio_postgres::NoTls;
use tool_runtime::{AssistantPart, Message, ToolCall};

use super::{client, schema, user_messages};

#[tokio::test]
async fn lock_of_another_program_is_waited_for() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    let revision = store.save("s", SessionWrite::create()).await.unwrap();
    let other = client(&config).await;
    other.batch_execute("BEGIN; SELECT FROM tool_sessions FOR UPDATE").await.unwrap();
    // The limit of the connection string takes precedence over that of the store.
    let impatient = config.replace("-c search", "-c lock_timeout=50ms -c search");
    let impatient = Postgres::connect(&impatient).await.unwrap();
    let error = impatient.save("s", SessionWrite::update(revision)).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("lock timeout"), "{error}");
    // Reading does not wait.
    assert!(store.load("s").await.unwrap().is_some());
    let saving = tokio::spawn(async move { store.save("s", SessionWrite::update(revision)).await });
    tokio::task::yield_now().await;
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(saving.await.unwrap().unwrap(), revision + 1);
}

#[tokio::test]
async fn lock_that_is_not_released_is_an_error_after_five_seconds() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    let revision = store.save("s", SessionWrite::create()).await.unwrap();
    let other = client(&config).await;
    other.batch_execute("BEGIN; SELECT FROM tool_sessions FOR UPDATE").await.unwrap();
    let start = Instant::now();
    let error = store.save("s", SessionWrite::update(revision)).await.unwrap_err();
    assert!(error.to_string().contains("lock timeout"), "{error}");
    assert!(start.elapsed() >= Duration::from_secs(5));
}

#[tokio::test]
async fn pool_of_the_program_keeps_its_limits() {
    let manager = Manager::new(schema().await.parse().unwrap(), NoTls);
    let pool = Pool::builder(manager).max_size(1).build().unwrap();
    let store = Postgres::from_pool(pool.clone()).await.unwrap();
    store.save("s", SessionWrite::create()).await.unwrap();
    let limit = "SELECT current_setting('lock_timeout')";
    let row = pool.get().await.unwrap().query_one(limit, &[]).await.unwrap();
    assert_eq!(row.get::<_, String>(0), "0");
}

#[tokio::test]
async fn name_too_long_for_the_index_is_invalid() {
    let store = Postgres::connect(&schema().await).await.unwrap();
    // Random, because the server compresses names.
    let mut random = fastrand::Rng::with_seed(7);
    let name: String = (0..4_000).map(|_| random.alphanumeric()).collect();
    let error = store.save(&name, SessionWrite::create()).await.unwrap_err();
    assert!(matches!(error, SessionError::InvalidWrite { .. }), "{error}");
    assert_eq!(store.load(&name).await.unwrap(), None);
}

#[tokio::test]
async fn message_too_deep_to_decode_is_not_saved() {
    let deep = (0..200).fold(serde_json::json!({}), |inner, _| serde_json::json!([inner]));
    let call = AssistantPart::Call(ToolCall::new("c", "t", deep));
    let store = Postgres::connect(&schema().await).await.unwrap();
    let messages = [Message::user("Go"), Message::reply(vec![call])];
    let error = store.save("s", SessionWrite::create().messages(0, &messages)).await.unwrap_err();
    assert!(error.to_string().contains("message 1 cannot be decoded again"), "{error}");
    assert_eq!(store.load("s").await.unwrap(), None);
}

#[tokio::test]
async fn save_of_many_bytes_takes_several_statements() {
    let store = Postgres::connect(&schema().await).await.unwrap();
    let long = "x".repeat(9 << 20);
    let messages = user_messages(&[&long, "short", &long, "last"]);
    store.save("s", SessionWrite::create().messages(0, &messages)).await.unwrap();
    assert_eq!(store.load("s").await.unwrap().unwrap().messages, messages);
}
