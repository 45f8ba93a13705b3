//! Previews for approvers, and what their approvals are bound to.

use std::sync::{Arc, Mutex};

use tool_dynamic::DynamicTools;
use tool_dynamic::catalog::MemoryCatalog;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, RunContext};
use tool_runtime::{Dispatcher, Policy, async_trait};

use super::fixture::Fixture;

/// Approves everything, and records the previews.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Approver for Recording {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        let preview = request.preview.clone().unwrap_or_default();
        self.0.lock().unwrap().push(format!("{}: {preview}", request.call.name));
        Approval::Once
    }
}

#[tokio::test]
async fn new_tool_needs_an_approval() {
    let fixture = Fixture::on(MemoryCatalog::new(), Policy::new()).await;
    let execution = fixture.make("n", "return 1;").await;
    assert!(execution.failed_with("TOOL_DENIED") && fixture.names().is_empty());
}

#[tokio::test]
async fn approver_sees_definition_and_source_in_full() {
    let fixture = Fixture::on(MemoryCatalog::new(), Policy::new()).await;
    let recording = Recording::default();
    let tools = DynamicTools::new(fixture.registrar.clone());
    let policy = Policy::new().approver(recording.clone()).previewer(tools);
    let dispatcher = Dispatcher::new(fixture.registry.clone()).policy(policy);
    let fixture = Fixture { dispatcher, ..fixture };
    let body = format!("{}\nreturn 1;", "// a comment\n".repeat(500));
    assert!(fixture.make("n", &body).await.is_success());
    let previews = recording.0.lock().unwrap().clone();
    assert_eq!(previews.len(), 1);
    let preview = &previews[0];
    assert!(
        preview.starts_with("new_tool: Make the tool `n` in javascript, with the effect `read`.")
    );
    assert!(preview.ends_with("\n502  return 1;\n"), "{preview}");
}

#[tokio::test]
async fn definition_changes_with_the_source() {
    let fixture = Fixture::new().await;
    let mut fingerprints = Vec::new();
    for body in ["return 1;", "return 2;"] {
        fixture.make("n", body).await;
        let snapshot = fixture.registry.snapshot();
        fingerprints.push(snapshot.definition("n").unwrap().fingerprint());
    }
    assert_ne!(fingerprints[0], fingerprints[1]);
}
