//! Preferences that are saved and loaded.

use std::collections::BTreeMap;

use super::*;

fn weight(registry: &Registry, name: &str) -> f64 {
    registry.snapshot().definition(name).unwrap().preference.weight
}

#[test]
fn loaded_preferences_apply_to_tools_that_are_registered_later() {
    let registry = Registry::new();
    registry.register(named("a", "A.")).unwrap();
    registry.register_from("p", named("b", "B.")).unwrap();
    let heavy = |weight| ToolPreference::default().weight(weight);
    registry.prefer("a", heavy(2.0)).unwrap();
    registry.prefer("b", heavy(3.0).disabled().with_override("rank", 1)).unwrap();
    let _ = registry.unregister_provider("p");
    let saved = serde_json::to_string(&registry.preferences()).unwrap();

    let loaded = Registry::new();
    loaded.register(named("a", "A.")).unwrap();
    loaded.register(named("c", "C.")).unwrap();
    loaded.prefer("c", heavy(9.0)).unwrap();
    loaded.without(["a"]).set_preferences(serde_json::from_str(&saved).unwrap()).unwrap();
    // All preferences are replaced, also those of tools outside of the view.
    assert_eq!((weight(&loaded, "a"), weight(&loaded, "c")), (2.0, 1.0));
    loaded.register_from("p", named("b", "B.")).unwrap();
    loaded.register_from("q", named("b", "B.")).unwrap();
    let snapshot = loaded.snapshot();
    assert_eq!(snapshot.disabled_entries().next().unwrap().full_name(), "p__b");
    assert_eq!(weight(&loaded, "q__b"), 1.0);
    assert_eq!(serde_json::to_string(&loaded.preferences()).unwrap(), saved);
    loaded.set_preferences(BTreeMap::new()).unwrap();
    assert_eq!((weight(&loaded, "a"), weight(&loaded, "p__b")), (1.0, 1.0));
}

#[test]
fn invalid_preferences_change_nothing() {
    let registry = Registry::try_from(tools![always]).unwrap();
    registry.prefer("always", ToolPreference::default().weight(2.0)).unwrap();
    let plain = ToolPreference::default;
    let large = plain().with_override("text", "x".repeat(1 << 20));
    for (name, preference) in [
        ("later", plain().weight(f64::INFINITY)),
        ("later", large),
        ("no name", plain()),
        ("", plain()),
        (&"n".repeat(129), plain()),
    ] {
        let map = [("always".to_owned(), plain()), (name.to_owned(), preference)].into();
        let error = registry.set_preferences(map).unwrap_err();
        assert!(error.to_string().len() < 300, "{error}");
        assert_eq!(weight(&registry, "always"), 2.0);
    }
}

/// A misspelt member would otherwise leave a tool offered that should not be.
#[test]
fn unknown_member_of_a_preference_is_refused() {
    let error = serde_json::from_str::<ToolPreference>(r#"{"hiden": true}"#).unwrap_err();
    assert!(error.to_string().starts_with("unknown field `hiden`"), "{error}");
}
