//! Labels: views, removal and replacement of tools by label.

use super::*;

fn list(own_names: &[&str]) -> Tools {
    own_names.iter().map(|own_name| named(own_name, "It.")).collect()
}

fn labels(registry: &Registry, name: &str) -> Vec<String> {
    registry.snapshot().entry(name).unwrap().labels().map(str::to_owned).collect()
}

fn labeled_registry() -> Registry {
    let registry = Registry::new();
    registry.register_all(list(&["plain"])).unwrap();
    let labeled = list(&["find"]).labeled(["remote", "beta", "remote"]);
    let tools = labeled.merge(list(&["read"])).labeled(["remote"]);
    registry.register_all_from("jira", tools.merge(list(&["move"]))).unwrap();
    registry
}

#[test]
fn labels_of_a_merged_list_stay_with_their_tools() {
    let registry = labeled_registry();
    assert_eq!(labels(&registry, "find"), ["beta", "remote"]);
    assert_eq!(labels(&registry, "read"), ["remote"]);
    assert!(labels(&registry, "move").is_empty() && labels(&registry, "plain").is_empty());
    // A replacement brings its own labels.
    registry.register_from("jira", named("find", "New.")).unwrap();
    assert!(labels(&registry, "find").is_empty());
}

#[test]
fn label_selects_tools_of_a_view() {
    let registry = labeled_registry();
    for (selected, expected) in [
        (vec!["remote"], vec!["find", "read"]),
        (vec!["beta"], vec!["find"]),
        (vec!["beta", "remote"], vec!["find", "read"]),
        (vec!["jira"], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(names(&registry.only_labeled(selected.clone())), expected, "{selected:?}");
    }
    let later = registry.only_labeled(["later"]);
    registry.register_all(list(&["late"]).labeled(["later"])).unwrap();
    assert_eq!(names(&later), ["late"]);
}

#[test]
fn unregistered_label_can_be_restored() {
    let registry = labeled_registry();
    // A view only removes the tools that it contains.
    let partly = registry.without(["find"]).unregister_labeled("remote");
    assert_eq!(
        (partly.len(), names(&registry)),
        (1, vec!["find".into(), "move".into(), "plain".into()])
    );
    registry.restore(partly).unwrap();
    let removed = registry.unregister_labeled("remote");
    assert_eq!((removed.len(), names(&registry)), (2, vec!["move".into(), "plain".into()]));
    registry.restore(removed).unwrap();
    assert_eq!(names(&registry.only_labeled(["remote"])), ["find", "read"]);
    assert!(registry.unregister_labeled("unknown").is_empty());
}

#[test]
fn replacement_of_a_label_removes_tools_of_all_providers() {
    let registry = labeled_registry();
    let removed = registry.replace_all_labeled("remote", list(&["new", "plain"])).unwrap();
    assert_eq!(
        (removed.len(), names(&registry)),
        (3, vec!["move".into(), "new".into(), "plain".into()])
    );
    assert_eq!(names(&registry.only_labeled(["remote"])), ["new", "plain"]);
    // An invalid list changes nothing.
    registry.replace_all_labeled("remote", list(&["other", " "])).unwrap_err();
    assert_eq!(names(&registry.only_labeled(["remote"])), ["new", "plain"]);
}

#[test]
fn invalid_labels_are_rejected() {
    let long = "l".repeat(129);
    for label in ["", &long, "hid\u{202e}den", "\u{1b}[2J"] {
        let error = Registry::new().register_all(list(&["a"]).labeled([label])).unwrap_err();
        assert!(matches!(&error, RegistryError::Label { name, .. } if name == "a"), "{error}");
        let text = error.to_string();
        assert!(text.len() < 200 && !text.contains(['\u{202e}', '\u{1b}']), "{text}");
    }
    let numbered = (0..129).map(|n| n.to_string());
    let error = Registry::new().register_all(list(&["a"]).labeled(numbered)).unwrap_err();
    assert_eq!(error.to_string(), "tool `a` has 129 labels, at most 128");
    let registry = Registry::try_from(list(&["a"]).labeled(["Größe 2", &long[1..]])).unwrap();
    assert_eq!(labels(&registry, "a").len(), 2);
}
