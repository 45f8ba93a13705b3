//! The contents of the fixtures, with which stores of each version are filled.

use tool_dynamic::catalog::{CatalogStore, MemoryCatalog};
use tool_dynamic::{BodyLanguage, Catalog, Connection, EntryContent, EntryId, ToolSpec};
use tool_runtime::{Effect, ToolPreference};

/// Changes an empty catalog until it has an entry of each kind.
pub(crate) async fn fill(store: impl CatalogStore + 'static) {
    let catalog = Catalog::new(store);
    let connection = |path: &str| Connection::http(format!("https://example.com/{path}"));
    catalog.create("docs", connection("mcp")).await.unwrap();
    catalog.replace("docs", connection("v2/mcp")).await.unwrap();
    let spec = |body: &str| {
        ToolSpec::new(BodyLanguage::JavaScript, "greet", "Greets a person, in Ünïcode 🦀.", body)
            .effect(Effect::Read)
    };
    for body in ["return 'Hi';", "return 'Hello';", "return \"Hey\";"] {
        let tool = EntryContent::from(spec(body));
        if catalog.replace("greet", tool.clone()).await.is_err() {
            catalog.create("greet", tool).await.unwrap();
        }
    }
    catalog.roll_back(&EntryId::tool("greet"), 1).await.unwrap();
    let mut preference = ToolPreference::default();
    preference.weight = 2.5;
    catalog.create("docs__find", preference).await.unwrap();
    let description = EntryContent::Description("Finds a page.".into());
    catalog.create("find", description).await.unwrap();
    catalog.create("gone", connection("gone")).await.unwrap();
    catalog.remove(&EntryId::connection("gone")).await.unwrap();
}

/// Checks that a store has the contents, and continues them.
pub(crate) async fn check(store: impl CatalogStore + 'static) {
    let memory = MemoryCatalog::new();
    fill(memory.clone()).await;
    let expected = Catalog::new(memory).contents().await.unwrap();
    let catalog = Catalog::new(store);
    let contents = catalog.contents().await.unwrap();
    assert_eq!(contents.entries, expected.entries);
    assert_eq!((contents.revision, contents.skipped.len()), (expected.revision, 0));
    assert_eq!(contents.entries.len(), 4);
    let entry = catalog.roll_back(&EntryId::tool("greet"), 3).await.unwrap();
    assert_eq!(entry.versions().count(), 5);
    assert_eq!(catalog.contents().await.unwrap().revision, expected.revision + 1);
}
