//! Pinned definitions in the database.

use tool_conformance::pins::{check, check_handles};
use tool_runtime::mcp::{PinStore, RecordPins};
use tool_runtime::store::Postgres;

use super::{client, schema};

async fn open(config: &str) -> RecordPins {
    RecordPins::new(Postgres::connect(config).await.unwrap().records().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_conform_to_the_contract() {
    assert_eq!(check(|| async { open(&schema().await).await }).await, []);
    let config = schema().await;
    assert_eq!(check_handles(open(&config).await, open(&config).await).await, []);
}

#[tokio::test]
async fn altered_pins_are_an_error() {
    let config = schema().await;
    let store = open(&config).await;
    store.save("docs", &Default::default()).await.unwrap();
    let damage = "UPDATE tool_records SET value = '[]' WHERE collection = 'mcp_pins'::bytea";
    assert_eq!(client(&config).await.execute(damage, &[]).await.unwrap(), 1);
    let error = store.load("docs").await.unwrap_err();
    assert!(error.to_string().contains("can't be read"), "{error}");
}
