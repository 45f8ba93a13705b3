//! Descriptions and preferences of tools, shared through the database.

use tool_runtime::Registry;
use tool_runtime::registry::overrides::SharedOverrides;
use tool_runtime::store::Postgres;

use super::schema;

#[tokio::test]
async fn change_by_another_process_is_noticed_by_notification() {
    let config = schema().await;
    let open = async || {
        let store = Postgres::connect(&config).await.unwrap();
        SharedOverrides::open(store.records().await.unwrap()).await.unwrap()
    };
    let (writer, reader) = (open().await, open().await);
    let registry = reader.apply(Registry::new());
    for version in 1..=20 {
        writer.set_description("now", Some("Text.")).await.unwrap();
        assert_eq!(writer.overrides().version, version);
        while reader.overrides().version < version {
            tokio::task::yield_now().await;
        }
    }
    drop(registry);
}
