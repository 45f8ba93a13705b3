//! Descriptions and preferences that are stored, and the registries to which they apply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tool_runtime::records::{Expected, MemoryRecords, Records, StoreError};
use tool_runtime::registry::MemoryDescriptions;
use tool_runtime::registry::overrides::SharedOverrides;
use tool_runtime::{Registry, ToolPreference, tool, tools};

use crate::intercepted::Intercepted;

/// Returns the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

fn registry() -> Registry {
    let registry = Registry::new();
    registry.register_all_from("clock", tools![now]).unwrap();
    registry
}

/// Waits until the registry has this description.
async fn described(registry: &Registry, description: &str) {
    while registry.snapshot().definition("now").unwrap().description != description {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn damaged_overrides_are_reported_and_others_apply() {
    let store = MemoryRecords::new();
    let valid = serde_json::to_string(&ToolPreference::default().weight(2.0)).unwrap();
    for (key, value) in [
        ("description/kept", "Text."),
        ("preference/kept", &*valid),
        ("preference/weighted", r#"{"weight": "2"}"#),
        ("other/tool", "Text."),
    ] {
        store.save("tool_overrides", key, Expected::Any, value, None).await.unwrap();
    }
    let overrides = SharedOverrides::open(store).await.unwrap();
    let loaded = overrides.overrides();
    assert_eq!(loaded.descriptions.keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(loaded.preferences.keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(loaded.corrupt.keys().collect::<Vec<_>>(), ["other/tool", "weighted"]);
    assert!(loaded.corrupt["weighted"].contains("invalid type: string"), "{loaded:?}");
    // Setting it again repairs it.
    overrides.set_preference("weighted", Some(&ToolPreference::default())).await.unwrap();
    assert_eq!(overrides.overrides().corrupt.len(), 1);
}

#[tokio::test]
async fn change_by_another_process_reaches_each_registry() {
    let store = MemoryRecords::new();
    let other = SharedOverrides::open(store.clone()).await.unwrap();
    other.set_description("now", Some("First.")).await.unwrap();
    let overrides = SharedOverrides::open(store).await.unwrap();
    let [first, second] = [overrides.apply(registry()), overrides.apply(registry())];
    // What the store has already applies at once.
    assert_eq!(first.snapshot().definition("now").unwrap().description, "First.");
    // The full name takes precedence.
    other.set_description("clock__now", Some("Second.")).await.unwrap();
    let preference = ToolPreference::default().hidden();
    other.set_preference("clock__now", Some(&preference)).await.unwrap();
    for registry in [&first, &second] {
        described(registry, "Second.").await;
        while registry.snapshot().definition("now").unwrap().preference != preference {
            tokio::task::yield_now().await;
        }
    }
    other.set_description("clock__now", None).await.unwrap();
    other.set_description("now", None).await.unwrap();
    other.set_preference("clock__now", None).await.unwrap();
    described(&first, "Returns the time.").await;
    assert_eq!(overrides.overrides().preferences.len(), 0);
    assert!(!first.snapshot().definition("now").unwrap().preference.hidden);
}

/// The stores of a registry: the program's, a catalog's and an administrator's.
const OWNERS: [&str; 3] = ["program", "catalog", "administrator"];

/// Adds stores in an order, each with a text for the name, and a preference with its rank.
async fn with_stores(order: [usize; 3], texts: [Option<&str>; 3]) -> (Registry, SharedOverrides) {
    let administrator = SharedOverrides::open(MemoryRecords::new()).await.unwrap();
    let mut registry = registry();
    for owner in order {
        let preference = ToolPreference::default().weight(owner as f64 + 2.0);
        let store = MemoryDescriptions::with_precedence([0, 10, 20][owner]);
        registry = match OWNERS[owner] {
            "administrator" => administrator.apply(registry),
            _ => registry.descriptions(store.clone()),
        };
        let Some(text) = texts[owner] else { continue };
        if owner == 2 {
            administrator.set_description("now", Some(text)).await.unwrap();
            administrator.set_preference("clock__now", Some(&preference)).await.unwrap();
        } else {
            // A full name in a store with less precedence does not displace an own name.
            store.set("clock__now", text);
            store.set_preference("clock__now", preference);
        }
    }
    (registry, administrator)
}

#[tokio::test]
async fn stores_compose_in_any_order() {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in ORDERS {
        for having in 0..8_usize {
            let texts = [0, 1, 2].map(|owner| (having >> owner & 1 == 1).then_some(OWNERS[owner]));
            let (registry, _administrator) = with_stores(order, texts).await;
            let snapshot = registry.snapshot();
            let definition = snapshot.definition("now").unwrap();
            let highest = (0..3).rev().find(|owner| texts[*owner].is_some());
            let expected = highest.map_or("Returns the time.", |owner| OWNERS[owner]);
            assert_eq!(definition.description, expected, "{order:?} {texts:?}");
            let weight = highest.map_or(1.0, |owner| owner as f64 + 2.0);
            assert_eq!(definition.preference.weight, weight, "{order:?} {texts:?}");
        }
    }
}

#[tokio::test]
async fn next_store_applies_after_an_override_is_removed() {
    let texts = [Some("program"), Some("catalog"), Some("administrator")];
    let (registry, administrator) = with_stores([2, 0, 1], texts).await;
    administrator.set_description("now", None).await.unwrap();
    administrator.set_preference("clock__now", None).await.unwrap();
    let snapshot = registry.snapshot();
    let definition = snapshot.definition("now").unwrap();
    assert_eq!((&*definition.description, definition.preference.weight), ("catalog", 3.0));
}

#[tokio::test]
async fn next_store_applies_if_a_description_is_invalid() {
    for invalid in ["", "\u{200b}hidden", &"a".repeat(1 << 17)] {
        let (registry, administrator) = with_stores([0, 1, 2], [Some("program"), None, None]).await;
        administrator.set_description("now", Some(invalid)).await.unwrap();
        assert_eq!(registry.snapshot().definition("now").unwrap().description, "program");
        assert!(administrator.overrides().corrupt.contains_key("now"), "{invalid:.20}");
    }
}

#[tokio::test]
async fn later_store_of_the_program_takes_precedence_and_the_earlier_one_stays() {
    let [first, second] = [(); 2].map(|()| MemoryDescriptions::default());
    first.set("now", "First.");
    let registry = registry().descriptions(first.clone()).descriptions(second.clone());
    assert_eq!(registry.snapshot().definition("now").unwrap().description, "First.");
    second.set("now", "Second.");
    first.set("now", "Changed.");
    assert_eq!(registry.snapshot().definition("now").unwrap().description, "Second.");
    second.remove("now");
    assert_eq!(registry.snapshot().definition("now").unwrap().description, "Changed.");
}

#[tokio::test]
async fn overrides_keep_the_preferences_of_the_program() {
    let overrides = SharedOverrides::open(MemoryRecords::new()).await.unwrap();
    let registry = overrides.apply(overrides.apply(registry()));
    registry.prefer("now", ToolPreference::default().hidden()).unwrap();
    overrides.set_preference("other", Some(&ToolPreference::default())).await.unwrap();
    assert!(registry.snapshot().definition("now").unwrap().preference.hidden);
    let heavy = ToolPreference::default().weight(4.0);
    overrides.set_preference("clock__now", Some(&heavy)).await.unwrap();
    assert_eq!(registry.snapshot().definition("now").unwrap().preference, heavy);
    overrides.set_preference("clock__now", None).await.unwrap();
    assert!(registry.snapshot().definition("now").unwrap().preference.hidden);
}

#[tokio::test]
async fn change_by_this_process_is_there_when_it_returns() {
    let overrides = SharedOverrides::open(MemoryRecords::new()).await.unwrap();
    let registry = overrides.apply(registry());
    for text in ["One.", "Two."] {
        overrides.set_description("now", Some(text)).await.unwrap();
        assert_eq!(registry.snapshot().definition("now").unwrap().description, text);
    }
    let preference = ToolPreference::default().weight(3.0);
    overrides.set_preference("clock__now", Some(&preference)).await.unwrap();
    assert_eq!(registry.snapshot().definition("now").unwrap().preference, preference);
}

#[tokio::test]
async fn invalid_preference_is_ignored_and_others_apply() {
    let overrides = SharedOverrides::open(MemoryRecords::new()).await.unwrap();
    let registry = overrides.apply(registry());
    let invalid = ToolPreference::default().weight(f64::NAN);
    overrides.set_preference("other", Some(&invalid)).await.unwrap();
    overrides.set_preference("no name", Some(&ToolPreference::default())).await.unwrap();
    let preference = ToolPreference::default().hidden();
    overrides.set_preference("clock__now", Some(&preference)).await.unwrap();
    assert_eq!(registry.snapshot().definition("now").unwrap().preference, preference);
    let overrides = overrides.overrides();
    assert_eq!(overrides.corrupt.keys().collect::<Vec<_>>(), ["no name", "other"]);
    assert_eq!(overrides.preferences.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn store_that_cannot_be_reached_keeps_the_last_overrides() {
    let (store, fails) = (MemoryRecords::new(), Arc::new(AtomicBool::new(false)));
    let failing = Intercepted::new(store.clone(), {
        let fails = Arc::clone(&fails);
        move |_, _| {
            let fails = fails.load(Ordering::SeqCst);
            let error = || StoreError::unavailable("no route to the host");
            async move { if fails { Err(error()) } else { Ok(()) } }
        }
    });
    let overrides = SharedOverrides::open(failing).await.unwrap();
    let registry = overrides.apply(registry());
    overrides.set_description("now", Some("Before.")).await.unwrap();
    fails.store(true, Ordering::SeqCst);
    let other = SharedOverrides::open(store).await.unwrap();
    other.set_description("now", Some("After.")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(registry.snapshot().definition("now").unwrap().description, "Before.");
    let reason = overrides.store_error().map(|error| error.to_string());
    assert_eq!(reason.as_deref(), Some("store unavailable: no route to the host"));
    let error = overrides.set_description("now", Some("Later.")).await.unwrap_err();
    assert_eq!(error.to_string(), "store unavailable: no route to the host");
    fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(registry.snapshot().definition("now").unwrap().description, "After.");
    assert!(overrides.store_error().is_none());
}
