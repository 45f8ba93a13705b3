//! Pins of many tools are kept in records, and damaged ones are found.

use serde_json::json;
use tool_mcp::{PinStore, PinnedDefinition, Pins, RecordPins};
use tool_runtime::records::{Expected, MemoryRecords, RecordQuery, Records};

#[tokio::test]
async fn pins_of_many_large_tools_are_kept_and_altered_ones_are_an_error() {
    let store = MemoryRecords::new();
    let pins = RecordPins::new(store.clone());
    let pin = |number: usize| {
        let definition = json!({ "description": "x".repeat(100_000 + number) });
        let name = format!("tool{number}");
        (name.clone(), PinnedDefinition::new(&name, definition))
    };
    let mut all: Pins = (0..30).map(pin).collect();
    let long_name = "server ".repeat(1_000);
    pins.save(&long_name, &all).await.unwrap();
    all.insert("tool0".to_owned(), pin(100).1);
    pins.save(&long_name, &all).await.unwrap();
    let loaded = pins.load(&long_name).await.unwrap();
    assert!(loaded == Some(all));
    assert_eq!(pins.count().await.unwrap(), 1);

    let parts = store.list("mcp_pins_parts", RecordQuery::all()).await.unwrap().records;
    assert!((12..16).contains(&parts.len()), "{}", parts.len());
    store.delete("mcp_pins_parts", &parts[3].key, Expected::Any).await.unwrap();
    let error = pins.load(&long_name).await.unwrap_err().to_string();
    assert!(error.contains("of its 12 parts are stored"), "{error}");
    let key = store.list("mcp_pins", RecordQuery::all()).await.unwrap().records[0].key.clone();
    store.save("mcp_pins", &key, Expected::Any, "[]", None).await.unwrap();
    let error = pins.load(&long_name).await.unwrap_err().to_string();
    assert!(error.contains("invalid"), "{error}");
    pins.delete(&long_name).await.unwrap();
    assert_eq!(pins.load(&long_name).await.unwrap(), None);
}
