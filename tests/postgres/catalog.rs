//! Catalogs in the database: large and altered entries, and processes that are killed.

#[path = "../../tool-runtime/dynamic/tests/catalog/crashes.rs"]
mod crashes;
#[path = "../../tool-runtime/dynamic/tests/catalog/fixture.rs"]
#[allow(dead_code, reason = "other tests of catalogs use the rest")]
mod fixture;

use std::path::Path;

use tool_runtime::dynamic::{Catalog, EntryId};
use tool_runtime::store::Postgres;

use super::{client, schema, schema_of_process, wait_for_server};
use fixture::spec;

async fn open(config: &str) -> Catalog {
    Catalog::new(Postgres::connect(config).await.unwrap().records().await.unwrap())
}

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> Catalog {
    let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
    open(&schema_of_process(&name).await).await
}

#[tokio::test]
async fn large_entries_outlive_the_process_and_altered_ones_are_corrupt() {
    let config = schema().await;
    let catalog = open(&config).await;
    let large = |name: &str| {
        let mut spec = spec(name, "1");
        spec.body = "x".repeat(60_000);
        spec
    };
    for name in ["add", "sub"] {
        catalog.create(name, large(name)).await.unwrap();
        for _ in 0..6 {
            catalog.replace(name, large(name)).await.unwrap();
        }
    }
    let damage = "DELETE FROM tool_records WHERE collection = 'catalog_parts'::bytea \
                  AND key > 'tool/add'::bytea AND key < 'tool/b'::bytea";
    assert!(client(&config).await.execute(damage, &[]).await.unwrap() > 1);
    let contents = open(&config).await.contents().await.unwrap();
    let entry = catalog.entry(&EntryId::tool("sub")).await.unwrap().unwrap();
    assert_eq!(entry.versions().count(), 7);
    assert_eq!(contents.entries, [entry]);
    assert_eq!(contents.corrupt[0].key, "tool/add");
}
