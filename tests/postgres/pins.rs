//! Pinned definitions in the database.

use tool_runtime::mcp::{PinStore, RecordPins, pin_conformance};
use tool_runtime::store::Postgres;

use super::{client, schema};

async fn open(config: &str) -> RecordPins {
    RecordPins::new(Postgres::connect(config).await.unwrap().records().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_conform_to_the_contract() {
    pin_conformance::check(|| async { open(&schema().await).await }).await.unwrap();
    let config = schema().await;
    pin_conformance::check_handles(open(&config).await, open(&config).await).await.unwrap();
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
