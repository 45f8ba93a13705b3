//! The store for catalogs: its contract, changes by other processes, and processes that are killed.

#[path = "../../tool-runtime/dynamic/tests/catalog/crashes.rs"]
mod crashes;
#[path = "../../tool-runtime/dynamic/tests/catalog/fixture.rs"]
#[allow(dead_code, reason = "other tests of catalogs use the rest")]
mod fixture;

use std::path::Path;
use std::time::Instant;

use tool_runtime::dynamic::catalog::{
    CatalogError, CatalogRecord, CatalogStore, PostgresCatalog, conformance,
};
use tool_runtime::dynamic::{Catalog, Connection};
use tool_runtime::store::Postgres;
use tool_runtime::store::deadpool_postgres::{Manager, Pool};
use tool_runtime::store::tokio_postgres::NoTls;

use super::{client, schema, schema_of_process, wait_for_server};

async fn open(config: &str) -> PostgresCatalog {
    PostgresCatalog::open(&Postgres::connect(config).await.unwrap()).await.unwrap()
}

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> Catalog {
    let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
    Catalog::new(open(&schema_of_process(&name).await).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalog_conforms_to_the_contract() {
    conformance::check(|| async { open(&schema().await).await }).await.unwrap();
    let config = schema().await;
    conformance::check_handles(open(&config).await, open(&config).await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalog_on_the_pool_of_the_program_conforms_without_notifications() {
    let open = || async {
        let manager = Manager::new(schema().await.parse().unwrap(), NoTls);
        let pool = Pool::builder(manager).max_size(4).build().unwrap();
        PostgresCatalog::open(&Postgres::from_pool(pool).await.unwrap()).await.unwrap()
    };
    conformance::check(open).await.unwrap();
    let store = open().await;
    conformance::check_handles(store.clone(), store).await.unwrap();
}

#[tokio::test]
async fn change_of_the_catalog_by_another_process_is_noticed_by_notification() {
    let config = schema().await;
    let (writer, reader) = (open(&config).await, open(&config).await);
    let start = Instant::now();
    let mut revision = 0;
    for number in 0..20 {
        let record = CatalogRecord::new("tool", number.to_string(), "{}");
        let changed = tokio::spawn({
            let (reader, since) = (reader.clone(), revision);
            async move { reader.changed(since).await.unwrap() }
        });
        tokio::task::yield_now().await;
        revision = writer.save(&record).await.unwrap();
        assert_eq!(changed.await.unwrap(), revision);
    }
    // Each look without a notification takes a second.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[tokio::test]
async fn refused_write_has_no_revision() {
    let store = open(&schema().await).await;
    let record = CatalogRecord::new("tool", "add", "{}");
    let revision = store.save(&record).await.unwrap();
    for _ in 0..3 {
        let refused = store.save(&record).await.unwrap_err();
        assert!(matches!(refused, CatalogError::Conflict { .. }), "{refused}");
        let refused = store.delete("tool", "add", revision + 1).await.unwrap_err();
        assert!(matches!(refused, CatalogError::Conflict { .. }), "{refused}");
    }
    assert_eq!(store.revision().await.unwrap(), revision);
    assert_eq!(store.delete("tool", "add", revision).await.unwrap(), revision + 1);
}

#[tokio::test]
async fn entries_outlive_the_process_and_altered_ones_are_skipped() {
    let config = schema().await;
    let catalog = Catalog::new(open(&config).await);
    for name in ["docs", "news"] {
        let connection = Connection::http(format!("https://example.com/{name}"));
        catalog.create(name, connection).await.unwrap();
    }
    let damage = "UPDATE tool_catalog SET content = '{}' WHERE name = 'docs'";
    assert_eq!(client(&config).await.execute(damage, &[]).await.unwrap(), 1);
    let contents = Catalog::new(open(&config).await).contents().await.unwrap();
    let names: Vec<_> = contents.entries.iter().map(|it| it.id().to_string()).collect();
    assert_eq!(names, ["connection `news`"]);
    assert_eq!(contents.skipped.len(), 1);
}
