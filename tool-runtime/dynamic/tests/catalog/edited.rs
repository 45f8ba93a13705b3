//! Records that were edited by hand.

use serde_json::{Value, json};
use tool_dynamic::{Catalog, Connection, EntryContent, EntryId, RegistrarEvent};
use tool_runtime::records::{Expected, MemoryRecords, Records};
use tool_runtime::{Registry, tool, tools};

use super::fixture::{Templates, builder, names, output, spec};

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns the key and the value of a record with one version, whatever its name.
fn record(key: &str, content: impl Into<EntryContent>) -> (String, String) {
    let content: EntryContent = content.into();
    let stored = json!({ "versions": [{ "number": 1, "content": content }] });
    (key.to_owned(), stored.to_string())
}

async fn save(store: &MemoryRecords, (key, value): &(String, String)) {
    store.save("catalog", key, Expected::Absent, value, None).await.unwrap();
}

#[tokio::test]
async fn record_under_the_name_of_another_tool_or_provider_is_corrupt() {
    let store = MemoryRecords::new();
    let server = || Connection::stdio("no-such-server");
    let edited = [
        record("connection/a__b", server()),
        record("connection/dynamic", server()),
        // Each would replace a tool, or evade a reserved name.
        record("tool/evil", spec("good", "evil")),
        record("tool/harmless", spec("add", "evil")),
        record("tool/other", spec("reserved", "evil")),
    ];
    save(&store, &record("tool/good", spec("good", "good"))).await;
    for record in &edited {
        save(&store, record).await;
    }
    let registry = Registry::try_from(tools![add]).unwrap();
    let (builder, events) = builder(Catalog::new(store));
    let builder = builder.backend(Templates::default()).reserve(["reserved"]);
    let registrar = builder.start(&registry).await.unwrap();
    registrar.wait_until_settled(std::time::Duration::from_secs(60)).await;

    assert_eq!(names(&registry), ["add", "good"]);
    assert_eq!(output(&registry, "good").await, "good");
    let corrupt: Vec<_> = events
        .all()
        .into_iter()
        .filter_map(|event| match event {
            RegistrarEvent::RecordCorrupt(record) => Some(record.key),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = edited.into_iter().map(|(key, _)| key).collect();
    assert_eq!(corrupt, expected, "{}", events.text());
    // A corrupt record can be removed.
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
        let store = MemoryRecords::new();
        save(&store, &record("tool/good", spec("good", "good"))).await;
        save(&store, &("tool/bad".to_owned(), content.clone())).await;
        save(&store, &("no such kind/\u{202e}".to_owned(), content)).await;
        let registry = Registry::new();
        let (builder, _) = builder(Catalog::new(store));
        let registrar = builder.backend(Templates::default()).start(&registry).await.unwrap();
        registrar.wait_until_settled(std::time::Duration::from_secs(60)).await;
        assert_eq!(names(&registry), ["good"]);
        assert_eq!(output(&registry, "good").await, "good");
        assert_eq!(registrar.catalog().contents().await.unwrap().corrupt.len(), 2);
    }
}
