//! Entries are created, replaced, rolled back and removed.

use tool_dynamic::{CatalogEntry, CatalogError, Connection, EntryContent, EntryId};
use tool_runtime::ToolPreference;

use super::fixture::{memory, spec};

fn numbers(entry: &CatalogEntry) -> Vec<u64> {
    entry.versions().map(|version| version.number).collect()
}

fn body(entry: &CatalogEntry) -> &str {
    match &entry.current().content {
        EntryContent::Tool(spec) => &spec.body,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn entry_keeps_its_latest_versions_and_rolls_back_to_each() {
    let catalog = memory();
    let id = EntryId::tool("add");
    catalog.create("add", spec("add", "0")).await.unwrap();
    for number in 1..CatalogEntry::MAX_VERSIONS {
        catalog.replace("add", spec("add", &number.to_string())).await.unwrap();
    }
    let entry = catalog.entry(&id).await.unwrap().unwrap();
    assert_eq!(numbers(&entry), (1..=20).collect::<Vec<_>>());

    let entry = catalog.roll_back(&id, 2).await.unwrap();
    assert_eq!(numbers(&entry), (2..=21).collect::<Vec<_>>());
    assert_eq!(body(&entry), "1");
    // The current version is rolled back to, too: it becomes a further version.
    assert_eq!(body(&catalog.roll_back(&id, 21).await.unwrap()), "1");
    for version in [0, 2, 23] {
        let error = catalog.roll_back(&id, version).await.unwrap_err();
        let text = format!("tool `add` has no version {version}: it has 3 to 22");
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn name_is_unique_within_a_kind() {
    let catalog = memory();
    catalog.create("docs", Connection::http("https://example.com/mcp")).await.unwrap();
    catalog.create("docs", spec("docs", "1")).await.unwrap();
    catalog.create("docs", ToolPreference::default().hidden()).await.unwrap();
    let error = catalog.create("docs", spec("docs", "2")).await.unwrap_err();
    assert!(matches!(error, CatalogError::AlreadyExists { .. }), "{error}");
    let contents = catalog.contents().await.unwrap();
    let ids: Vec<_> = contents.entries.iter().map(|entry| entry.id().to_string()).collect();
    assert_eq!(ids, ["connection `docs`", "preference `docs`", "tool `docs`"]);
}

#[tokio::test]
async fn missing_entry_is_not_replaced_rolled_back_or_removed() {
    let catalog = memory();
    let id = EntryId::tool("add");
    let errors = [
        catalog.replace("add", spec("add", "1")).await.unwrap_err(),
        catalog.roll_back(&id, 1).await.unwrap_err(),
        catalog.remove(&id).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "the catalog has no tool `add`");
    }
    assert_eq!(catalog.contents().await.unwrap().revision, 0);
}

#[tokio::test]
async fn invalid_content_is_never_stored() {
    let catalog = memory();
    let invalid = [
        catalog.create("add", spec("sub", "1")).await.unwrap_err(),
        catalog.create("add", spec("add", "")).await.unwrap_err(),
        catalog.create("a__b", Connection::http("https://example.com")).await.unwrap_err(),
        catalog.create("add", ToolPreference::default().weight(f64::NAN)).await.unwrap_err(),
        catalog.create("add", EntryContent::Description(String::new())).await.unwrap_err(),
        catalog.create("a b", EntryContent::Description("Adds.".into())).await.unwrap_err(),
    ];
    for error in invalid {
        assert!(matches!(error, CatalogError::Invalid { .. }), "{error:?}");
    }
    assert_eq!(catalog.contents().await.unwrap().revision, 0);
}

#[tokio::test]
async fn concurrent_replacements_are_all_versions() {
    let catalog = memory();
    catalog.create("add", spec("add", "0")).await.unwrap();
    let writers: Vec<_> = (1..=8)
        .map(|number| {
            let catalog = catalog.clone();
            tokio::spawn(async move {
                catalog.replace("add", spec("add", &number.to_string())).await.unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let entry = catalog.entry(&EntryId::tool("add")).await.unwrap().unwrap();
    assert_eq!(numbers(&entry), (1..=9).collect::<Vec<_>>());
}
