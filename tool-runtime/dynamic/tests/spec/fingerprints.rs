//! Fingerprints, to which approvals of dynamic tools are bound.

use serde_json::json;
use tool_dynamic::{ArgumentField, ArgumentType, BodyLanguage, ExampleCall, ToolSpec};
use tool_runtime::{Effect, Permission};

use super::spec;

#[test]
fn every_change_changes_both_fingerprints() {
    let base = spec([]).effect(Effect::Read);
    let mut other_language = base.clone();
    other_language.language = BodyLanguage::Rust;
    let mut other_body = base.clone();
    other_body.body.push(' ');
    let variants = [
        base.clone(),
        other_language,
        other_body,
        base.clone().capability("network"),
        base.clone().tool("grep"),
        base.clone().timeout_seconds(3),
        base.clone().example(ExampleCall::new([("text", json!(1))]).output(1)),
        base.clone().field(ArgumentField::new("text", ArgumentType::String)),
        base.clone().effect(Effect::Write),
    ];
    let mut fingerprints = Vec::new();
    for variant in &variants {
        // An example has to match the fields.
        let Ok(checked) = variant.check() else { continue };
        fingerprints.push(checked.fingerprint());
        fingerprints.push(checked.definition().fingerprint());
    }
    assert_eq!(fingerprints.len(), 2 * (variants.len() - 1));
    let count = fingerprints.len();
    fingerprints.sort();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), count);
}

#[test]
fn stored_specs_keep_their_fingerprint() {
    let spec = spec([ArgumentField::new("n", ArgumentType::Integer).range(1, 7)])
        .effect(Effect::None)
        .example(ExampleCall::new([("n", json!(2))]).output(json!({"b": 1, "a": [1.5]})));
    let json = serde_json::to_string(&spec).unwrap();
    let stored: ToolSpec = serde_json::from_str(&json).unwrap();
    assert_eq!(stored, spec);
    assert_eq!(stored.check().unwrap().fingerprint(), spec.check().unwrap().fingerprint());
}

#[test]
fn definition_has_the_policy_of_the_spec() {
    for (effect, permission) in [
        (Effect::None, Permission::Allow),
        (Effect::Read, Permission::Allow),
        (Effect::Write, Permission::Ask),
        (Effect::External, Permission::Ask),
    ] {
        let checked = spec([]).effect(effect).timeout_seconds(7).check().unwrap();
        let definition = checked.definition();
        assert_eq!((definition.effect, definition.permission), (effect, permission));
        assert_eq!(definition.timeout, Some(checked.timeout()));
        assert!(definition.validate().is_ok());
    }
    let checked = spec([]).capability("network").check().unwrap();
    assert_eq!(checked.definition().requires, ["network"]);
}
