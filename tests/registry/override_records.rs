//! Overrides that are damaged, whatever the store.

use tool_runtime::ToolPreference;
use tool_runtime::registry::overrides::{OverrideStore, SharedOverrides};

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
