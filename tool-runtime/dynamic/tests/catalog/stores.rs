//! Entries in stores: large ones, altered ones, and what a killed process leaves.

use tool_dynamic::{Catalog, CatalogEntry, CatalogError, EntryContent, EntryId};
use tool_runtime::Registry;
use tool_runtime::records::{
    Expected, MAX_RECORD_BYTES, MemoryRecords, RecordQuery, Records, StoreError,
};
use tool_runtime::store::Sqlite;

use super::fixture::{Folder, open, output, spec, start};

async fn part_count(store: &impl Records) -> usize {
    store.list("catalog_parts", RecordQuery::all()).await.unwrap().records.len()
}

#[tokio::test]
async fn large_entry_outlives_the_process_and_leaves_no_parts_behind() {
    let folder = Folder::new();
    let catalog = open(&folder.file()).await;
    let store = Sqlite::open(folder.file()).await.unwrap().records().await.unwrap();
    let body = |number: usize| format!("return {number}; // {}", "ä".repeat(30_000));
    let large = |number: usize| {
        let mut spec = spec("large", "a number");
        spec.body = body(number);
        spec
    };
    catalog.create("large", large(1)).await.unwrap();
    assert_eq!(part_count(&store).await, 0);
    for number in 2..CatalogEntry::MAX_VERSIONS + 5 {
        catalog.replace("large", large(number)).await.unwrap();
    }
    let id = EntryId::tool("large");
    let reopened = open(&folder.file()).await;
    let entry = reopened.entry(&id).await.unwrap().unwrap();
    assert_eq!(entry.versions().count(), CatalogEntry::MAX_VERSIONS);
    let bodies = entry.versions().map(|version| match &version.content {
        EntryContent::Tool(spec) => spec.body.clone(),
        other => panic!("{other:?}"),
    });
    assert!(bodies.eq((5..CatalogEntry::MAX_VERSIONS + 5).map(body)));
    assert_eq!(reopened.contents().await.unwrap().entries, [entry]);
    // Those of the current record alone.
    let parts = part_count(&store).await;
    assert!(parts * MAX_RECORD_BYTES > CatalogEntry::MAX_VERSIONS * 60_000, "{parts}");
    assert!((parts - 1) * MAX_RECORD_BYTES < CatalogEntry::MAX_VERSIONS * 65_000, "{parts}");

    let registry = Registry::new();
    let registrar = start(reopened, &registry).await;
    registrar.wait_until_settled(std::time::Duration::from_secs(60)).await;
    let start = format!("return {}; // ä", CatalogEntry::MAX_VERSIONS + 4);
    assert!(output(&registry, "large").await.starts_with(&start));
    registrar.remove(&id).await.unwrap();
    assert_eq!(part_count(&store).await, 0);
    registrar.stop().await;
}

#[tokio::test]
async fn registrar_deletes_the_parts_that_a_killed_process_left() {
    let store = MemoryRecords::new();
    let part_key = format!("tool/gone/7/{}/00000", "a".repeat(64));
    store.save("catalog_parts", &part_key, Expected::Any, "part", None).await.unwrap();
    let registry = Registry::new();
    let registrar = start(Catalog::new(store.clone()), &registry).await;
    while part_count(&store).await > 0 {
        tokio::task::yield_now().await;
    }
    registrar.stop().await;
}

#[tokio::test]
async fn altered_record_is_reported_and_can_be_removed() {
    let folder = Folder::new();
    let catalog = open(&folder.file()).await;
    for name in ["add", "sub"] {
        catalog.create(name, spec(name, "1")).await.unwrap();
    }
    let file = Sqlite::open(folder.file()).await.unwrap();
    let tables = file.tables("test", &[]).await.unwrap();
    for (alteration, reason) in [
        ("UPDATE tool_records SET value = '{' WHERE key = CAST('tool/add' AS BLOB)", "EOF"),
        (
            r#"UPDATE tool_records SET value = '{"versions":[]}' WHERE key = CAST('tool/add' AS BLOB)"#,
            "no version",
        ),
        (
            "UPDATE tool_records SET value = CAST(x'ff' AS TEXT) WHERE key = CAST('tool/add' AS BLOB)",
            "utf-8",
        ),
        (
            "UPDATE tool_records SET key = CAST('preference/sub' AS BLOB) WHERE key = CAST('tool/sub' AS BLOB)",
            "is a tool",
        ),
        (
            "UPDATE tool_records SET key = CAST('worker/sub' AS BLOB) WHERE key = CAST('preference/sub' AS BLOB)",
            "a newer version",
        ),
    ] {
        let altered = tables.write(move |it| it.execute(alteration, ())).await;
        assert_eq!(altered.unwrap(), 1);
        let corrupt = catalog.contents().await.unwrap().corrupt;
        let texts: Vec<_> = corrupt.iter().map(|record| record.reason.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains(reason)), "{texts:?}");
    }
    let id = EntryId::tool("add");
    let error = catalog.entry(&id).await.unwrap_err();
    assert!(matches!(error, CatalogError::Store(StoreError::Corrupt { .. })), "{error}");
    catalog.remove(&id).await.unwrap();
    let keys: Vec<_> =
        catalog.contents().await.unwrap().corrupt.into_iter().map(|it| it.key).collect();
    assert_eq!(keys, ["worker/sub"]);
}
