//! Versions of a tool, and the return to an earlier one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use serde_json::{Value, json};
use tool_dynamic::{BodyLanguage, Catalog, EntryId, ToolSpec};
use tool_runtime::Effect;
use tool_runtime::records::MemoryRecords;

use super::fixture::{Fixture, allowed};
use super::intercepted::{Intercepted, Operation};

async fn source(fixture: &Fixture, version: u64) -> Value {
    let arguments = json!({ "name": "n", "version": version });
    serde_json::from_str(&fixture.text("tool_source", arguments).await).unwrap()
}

#[tokio::test]
async fn earlier_version_returns() {
    let fixture = Fixture::new().await;
    for (body, expected) in [("return 1;", "1"), ("return 2;", "2")] {
        assert!(fixture.make("n", body).await.is_success());
        assert_eq!(fixture.text("n", json!({})).await, expected);
    }
    let first = source(&fixture, 1).await;
    assert_eq!((&first["versions"], &first["spec"]["body"]), (&json!([1, 2]), &json!("return 1;")));
    let second = source(&fixture, 2).await;
    for (version, fingerprint) in [(1, &second["fingerprint"]), (3, &first["fingerprint"])] {
        let arguments = json!({ "name": "n", "version": version, "fingerprint": fingerprint });
        let execution = fixture.call("tool_rollback", arguments).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"));
    }
    assert_eq!(fixture.text("n", json!({})).await, "2");
    let arguments = json!({ "name": "n", "version": 1, "fingerprint": first["fingerprint"] });
    let text = fixture.text("tool_rollback", arguments).await;
    assert!(text.starts_with("Version 3 is registered."), "{text}");
    assert!(text.ends_with(" It has the content of version 1."), "{text}");
    assert_eq!(fixture.text("n", json!({})).await, "1");
    let listed = fixture.text("tool_list", json!({})).await;
    assert!(listed.contains(r#""version":3"#), "{listed}");
}

#[tokio::test]
async fn failed_new_version_keeps_the_tool() {
    let fixture = Fixture::new().await;
    fixture.make("n", "return 1;").await;
    assert!(fixture.make("n", "return 1 +;").await.is_failure());
    assert_eq!(fixture.text("n", json!({})).await, "1");
}

#[tokio::test]
async fn version_with_a_capability_that_is_not_granted_does_not_return() {
    let fixture = Fixture::new().await;
    let spec = ToolSpec::new(BodyLanguage::JavaScript, "n", "Does something.", "return 1;");
    let spec = spec.effect(Effect::Read);
    // Stored when the capability was granted.
    let granted = spec.clone().capability("network");
    fixture.registrar.create("n", granted.clone()).await.unwrap();
    fixture.registrar.replace("n", spec).await.unwrap();
    let fingerprint = granted.check().unwrap().fingerprint();
    let arguments = json!({ "name": "n", "version": 1, "fingerprint": fingerprint });
    let execution = fixture.call("tool_rollback", arguments).await;
    assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{}", execution.result.text);
    assert!(execution.result.text.contains("`capabilities[0]`"), "{}", execution.result.text);
    let listed = fixture.text("tool_list", json!({})).await;
    assert!(listed.contains(r#""version":2"#), "{listed}");
}

/// Makes the tool `n` again, as another process does.
async fn remake(other: &Catalog) {
    other.remove(&EntryId::tool("n")).await.unwrap();
    let spec = |body: &str| ToolSpec::new(BodyLanguage::JavaScript, "n", "Does more.", body);
    other.create("n", spec("return 'not approved';").effect(Effect::Read)).await.unwrap();
    other.replace("n", spec("return 4;").effect(Effect::Read)).await.unwrap();
}

#[tokio::test]
async fn version_that_changed_after_its_fingerprint_was_checked_does_not_return() {
    let store = MemoryRecords::new();
    let other = Catalog::new(store.clone());
    // The loads that are left before the tool is made again.
    let left = Arc::new(AtomicI32::new(i32::MAX));
    let intercepted = Intercepted::new(store, {
        let left = Arc::clone(&left);
        move |operation, _| {
            let is_load = operation == Operation::Load;
            let is_due = is_load && left.fetch_sub(1, Ordering::Relaxed) == 1;
            let other = other.clone();
            async move {
                if is_due {
                    remake(&other).await;
                }
                Ok(())
            }
        }
    });
    let fixture = Fixture::on(intercepted, allowed()).await;
    for body in ["return 1;", "return 2;"] {
        assert!(fixture.make("n", body).await.is_success());
    }
    let fingerprint = source(&fixture, 1).await["fingerprint"].clone();
    // The fingerprint is compared with what the first load returns.
    left.store(2, Ordering::Relaxed);
    let arguments = json!({ "name": "n", "version": 1, "fingerprint": fingerprint });
    let execution = fixture.call("tool_rollback", arguments).await;
    let text = execution.result.text;
    assert!(text.contains("was changed by other writers"), "{text}");
    let entry = fixture.registrar.catalog().entry(&EntryId::tool("n")).await.unwrap().unwrap();
    assert_eq!(entry.current().number, 2);
}
