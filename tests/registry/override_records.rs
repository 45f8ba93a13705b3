//! The overrides of the fixtures, with which stores of each version are filled.

use serde_json::json;
use tool_runtime::ToolPreference;
use tool_runtime::registry::overrides::{OverrideStore, SharedOverrides};

fn preference() -> ToolPreference {
    let mut preference = ToolPreference::default().hidden();
    preference.weight = 2.5;
    preference.overrides = json!({ "rank": [1, "x"] }).as_object().unwrap().clone();
    preference
}

/// Changes the overrides of an empty store.
pub(crate) async fn fill(store: &impl OverrideStore) {
    store.set_description("now", Some("Returns the time.")).await.unwrap();
    store.set_description("ünï\0", Some("\0 \"🦀\"")).await.unwrap();
    store.set_preference("clock__now", Some(&preference())).await.unwrap();
    store.set_preference("gone", Some(&ToolPreference::default())).await.unwrap();
    store.set_preference("gone", None).await.unwrap();
}

/// Checks that a store has the overrides, and continues them.
pub(crate) async fn check(store: &impl OverrideStore) {
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.version, 5);
    let descriptions = [("now", "Returns the time."), ("ünï\0", "\0 \"🦀\"")];
    let expected = descriptions.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert!(
        loaded.descriptions.iter().map(|(name, text)| (name.clone(), text.clone())).eq(expected)
    );
    let preferences: Vec<_> = loaded.preferences.iter().collect();
    assert_eq!(preferences, [(&"clock__now".to_owned(), &preference())]);
    assert_eq!(store.set_description("now", None).await.unwrap(), 6);
}

/// Writes three entries, of which two are damaged afterwards.
pub(crate) async fn fill_damaged(store: &impl OverrideStore) {
    for name in ["hidden", "kept"] {
        store.set_description(name, Some("Text.")).await.unwrap();
    }
    let preference = ToolPreference::default().weight(2.0);
    store.set_preference("weighted", Some(&preference)).await.unwrap();
}

/// Checks a store in which the description of `hidden` and the preference of `weighted` are
/// damaged.
pub(crate) async fn check_damaged(store: impl OverrideStore + 'static) {
    let overrides = SharedOverrides::open(store).await.unwrap();
    let loaded = overrides.overrides();
    assert_eq!(loaded.descriptions.keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(loaded.corrupt.keys().collect::<Vec<_>>(), ["hidden", "weighted"]);
    assert!(loaded.corrupt["weighted"].contains("invalid type: string"), "{loaded:?}");
    // Setting them again repairs them.
    overrides.set_description("hidden", Some("Text.")).await.unwrap();
    overrides.set_preference("weighted", None).await.unwrap();
    let loaded = overrides.overrides();
    assert!(loaded.corrupt.is_empty() && loaded.descriptions.len() == 2, "{loaded:?}");
}
