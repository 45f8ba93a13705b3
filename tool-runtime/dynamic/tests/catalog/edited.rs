//! Records that were edited by hand.

use serde_json::{Value, json};
use tool_dynamic::catalog::{CatalogRecord, CatalogStore, MemoryCatalog};
use tool_dynamic::{Catalog, Connection, EntryContent, EntryId, RegistrarEvent};
use tool_runtime::{Registry, tool, tools};

use super::fixture::{Templates, builder, names, output, spec};

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns the record of an entry with one version, whatever its name.
fn record(kind: &str, name: &str, content: impl Into<EntryContent>) -> CatalogRecord {
    let content: EntryContent = content.into();
    let stored = json!({ "versions": [{ "number": 1, "content": content }] });
    CatalogRecord::new(kind, name, stored.to_string())
}

#[tokio::test]
async fn record_under_the_name_of_another_tool_or_provider_is_skipped() {
    let store = MemoryCatalog::new();
    let server = || Connection::stdio("no-such-server");
    let edited = [
        record("connection", "a__b", server()),
        record("connection", "dynamic", server()),
        // Each would replace a tool, or evade a reserved name.
        record("tool", "evil", spec("good", "evil")),
        record("tool", "harmless", spec("add", "evil")),
        record("tool", "other", spec("reserved", "evil")),
    ];
    store.save(&record("tool", "good", spec("good", "good"))).await.unwrap();
    for record in &edited {
        store.save(record).await.unwrap();
    }
    let registry = Registry::try_from(tools![add]).unwrap();
    let (builder, events) = builder(Catalog::new(store));
    let builder = builder.backend(Templates::default()).reserve(["reserved"]);
    let registrar = builder.start(&registry).await.unwrap();
    registrar.wait_until_settled(std::time::Duration::from_secs(60)).await;

    assert_eq!(names(&registry), ["add", "good"]);
    assert_eq!(output(&registry, "good").await, "good");
    let skipped: Vec<_> = events
        .all()
        .into_iter()
        .filter_map(|event| match event {
            RegistrarEvent::RecordSkipped(record) => Some((record.kind, record.name)),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = edited.into_iter().map(|it| (it.kind, it.name)).collect();
    assert_eq!(skipped, expected, "{}", events.text());
    // A record that is skipped can be removed.
    registrar.remove(&EntryId::tool("evil")).await.unwrap();
    assert_eq!(output(&registry, "good").await, "good");
}

#[tokio::test]
async fn records_of_any_form_leave_the_other_entries_in_effect() {
    let number = |number: Value| json!({ "number": number, "content": { "tool": {} } });
    for content in [
        String::new(),
        "null".to_owned(),
        "[".repeat(100_000),
        json!({ "versions": [] }).to_string(),
        json!({ "versions": [number(1.into())] }).to_string(),
        json!({ "versions": [number((-1).into())] }).to_string(),
        json!({ "versions": {}, "more": 1 }).to_string(),
    ] {
        let store = MemoryCatalog::new();
        store.save(&record("tool", "good", spec("good", "good"))).await.unwrap();
        store.save(&CatalogRecord::new("tool", "bad", &content)).await.unwrap();
        store.save(&CatalogRecord::new("no such kind", "\u{202e}", &content)).await.unwrap();
        let registry = Registry::new();
        let (builder, _) = builder(Catalog::new(store));
        let registrar = builder.backend(Templates::default()).start(&registry).await.unwrap();
        registrar.wait_until_settled(std::time::Duration::from_secs(60)).await;
        assert_eq!(names(&registry), ["good"]);
        assert_eq!(output(&registry, "good").await, "good");
        assert_eq!(registrar.catalog().contents().await.unwrap().skipped.len(), 2);
    }
}
