//! Descriptions and preferences of tools, shared through the database.

use tool_runtime::Registry;
use tool_runtime::registry::overrides::{OverrideStore, SharedOverrides, conformance};
use tool_runtime::store::Postgres;
use tool_runtime::store::deadpool_postgres::{Manager, Pool};
use tool_runtime::store::tokio_postgres::NoTls;

use super::{client, override_records, schema};

#[tokio::test]
async fn postgres_overrides_conform() {
    let open = || async {
        let store = Postgres::connect(&schema().await).await.unwrap();
        store.overrides().await.unwrap()
    };
    conformance::check(open).await.unwrap();
    let config = schema().await;
    let open = async || Postgres::connect(&config).await.unwrap().overrides().await.unwrap();
    conformance::check_handles(open().await, open().await).await.unwrap();
}

#[tokio::test]
async fn overrides_on_a_pool_of_the_program_conform() {
    let open = || async {
        let manager = Manager::new(schema().await.parse().unwrap(), NoTls);
        let pool = Pool::builder(manager).max_size(4).build().unwrap();
        Postgres::from_pool(pool).await.unwrap().overrides().await.unwrap()
    };
    conformance::check(open).await.unwrap();
    let store = open().await;
    conformance::check_handles(store.clone(), store).await.unwrap();
}

#[tokio::test]
async fn change_by_another_process_is_noticed_by_notification() {
    let config = schema().await;
    let open = async || Postgres::connect(&config).await.unwrap().overrides().await.unwrap();
    let writer = open().await;
    let overrides = SharedOverrides::open(open().await).await.unwrap();
    let registry = overrides.apply(Registry::new());
    for version in 1..=20 {
        assert_eq!(writer.set_description("now", Some("Text.")).await.unwrap(), version);
        while overrides.overrides().version < version {
            tokio::task::yield_now().await;
        }
    }
    drop(registry);
}

#[tokio::test]
async fn damaged_overrides_are_reported_and_others_apply() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap().overrides().await.unwrap();
    override_records::fill_damaged(&store).await;
    let damage = "UPDATE tool_descriptions SET description = '\\xff' WHERE name = 'hidden';
        UPDATE tool_preferences SET preference = '{\"weight\": \"2\"}'";
    client(&config).await.batch_execute(damage).await.unwrap();
    override_records::check_damaged(store).await;
}
