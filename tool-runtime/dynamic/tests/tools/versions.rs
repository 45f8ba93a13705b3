//! Versions of a tool, and the return to an earlier one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tool_dynamic::catalog::{CatalogRecord, CatalogRecords, CatalogStore, MemoryCatalog};
use tool_dynamic::{BodyLanguage, Catalog, CatalogError, EntryId, ToolSpec};
use tool_runtime::{Effect, async_trait};

use super::fixture::{Fixture, allowed};

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

/// A catalog in which another process makes the tool `n` again after the next read.
#[derive(Debug, Default)]
struct RemadeAfterRead {
    store: Arc<MemoryCatalog>,
    is_due: AtomicBool,
}

#[async_trait]
impl CatalogStore for RemadeAfterRead {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        let record = self.store.load(kind, name).await?;
        if self.is_due.swap(false, Ordering::Relaxed) {
            let other = Catalog::new(Arc::clone(&self.store));
            other.remove(&EntryId::tool("n")).await?;
            let spec =
                |body: &str| ToolSpec::new(BodyLanguage::JavaScript, "n", "Does more.", body);
            other.create("n", spec("return 'not approved';").effect(Effect::Read)).await?;
            other.replace("n", spec("return 4;").effect(Effect::Read)).await?;
        }
        Ok(record)
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        self.store.save(record).await
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        self.store.delete(kind, name, revision).await
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        self.store.list().await
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        self.store.revision().await
    }
}

#[tokio::test]
async fn version_that_changed_after_its_fingerprint_was_checked_does_not_return() {
    let store = Arc::new(RemadeAfterRead::default());
    let fixture = Fixture::on(Arc::clone(&store), allowed()).await;
    for body in ["return 1;", "return 2;"] {
        assert!(fixture.make("n", body).await.is_success());
    }
    let fingerprint = source(&fixture, 1).await["fingerprint"].clone();
    store.is_due.store(true, Ordering::Relaxed);
    let arguments = json!({ "name": "n", "version": 1, "fingerprint": fingerprint });
    let execution = fixture.call("tool_rollback", arguments).await;
    assert!(
        execution.result.text.contains("is no longer at revision"),
        "{}",
        execution.result.text
    );
    let entry = fixture.registrar.catalog().entry(&EntryId::tool("n")).await.unwrap().unwrap();
    assert_eq!(entry.current().number, 2);
}
