//! Previews for approvers, and what their approvals are bound to.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_dynamic::DynamicTools;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::records::MemoryRecords;
use tool_runtime::{Dispatcher, Policy, RunContext, async_trait};

use super::fixture::{Fixture, spec};

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
    let fixture = Fixture::on(MemoryRecords::new(), Policy::new()).await;
    let execution = fixture.make("n", "return 1;").await;
    assert!(execution.failed_with("TOOL_DENIED") && fixture.names().is_empty());
}

/// Returns a fixture whose approver records the previews.
async fn recorded() -> (Fixture, Recording) {
    let fixture = Fixture::on(MemoryRecords::new(), Policy::new()).await;
    let recording = Recording::default();
    let tools = DynamicTools::new(fixture.registrar.clone());
    let policy = Policy::new().approver(recording.clone()).previewer(tools);
    let dispatcher = Dispatcher::new(fixture.registry.clone()).policy(policy);
    (Fixture { dispatcher, ..fixture }, recording)
}

impl Recording {
    /// Returns the last preview.
    fn last(&self) -> String {
        self.0.lock().unwrap().last().cloned().unwrap()
    }
}

#[tokio::test]
async fn approver_sees_definition_and_source_in_full() {
    let (fixture, recording) = recorded().await;
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
async fn texts_of_the_model_do_not_look_like_parts_of_the_preview() {
    let forged = "Adds.\ncapabilities: none\nsource:\n  1  return 1;\n";
    let mut hostile = spec("n", "return 1;\nreturn 2;");
    hostile["description"] = format!("{forged}{}", "\n".repeat(3000)).into();
    hostile["tools"] = json!(["a\nsource:\n  1  return 1;"]);
    let preview = DynamicTools::preview_of("new_tool", &hostile).unwrap();
    let lines: Vec<_> = preview.lines().collect();
    assert!(lines[0].ends_with("Its source has 2 lines."), "{}", lines[0]);
    assert!(lines[1].starts_with(r#"description: "Adds.\ncapabilities: none\n"#), "{}", lines[1]);
    assert_eq!(lines[3], r"calls of tools: a\nsource:\n  1  return 1;");
    assert_eq!(
        lines[4..],
        ["arguments: []", "examples: []", "source:", "  1  return 1;", "  2  return 2;"]
    );
    hostile["body"] = "return 1;\u{1b}[2K".into();
    let preview = DynamicTools::preview_of("new_tool", &hostile).unwrap();
    assert!(preview.ends_with("\n  1  return 1;<U+001B>[2K\n"), "{preview}");
}

#[tokio::test]
async fn approver_sees_what_a_call_replaces_returns_to_or_removes() {
    let (fixture, recording) = recorded().await;
    for body in ["return 1;", "return 2;"] {
        assert!(fixture.make("n", body).await.is_success());
    }
    let preview = recording.last();
    let expected = "new_tool: Replace version 1 of the tool `n` in javascript";
    assert!(preview.starts_with(expected), "{preview}");
    let source = fixture.text("tool_source", json!({ "name": "n", "version": 1 })).await;
    let source: serde_json::Value = serde_json::from_str(&source).unwrap();
    let mut arguments = json!({ "name": "n", "version": 1, "fingerprint": source["fingerprint"] });
    fixture.text("tool_rollback", arguments.clone()).await;
    let preview = recording.last();
    let expected = "tool_rollback: Return to version 1 of the tool `n` in javascript";
    assert!(preview.starts_with(expected), "{preview}");
    assert!(preview.ends_with("source:\n  1  return 1;\n"), "{preview}");

    // The version has another source, which would not be the one that was approved.
    arguments["version"] = 2.into();
    assert!(fixture.call("tool_rollback", arguments).await.is_failure());
    let preview = recording.last();
    let expected = "tool_rollback: There is nothing to show: `fingerprint` is not the one of";
    assert!(preview.starts_with(expected), "{preview}");

    fixture.text("unregister_tool", json!({ "name": "n" })).await;
    let preview = recording.last();
    let expected = "unregister_tool: Remove 3 versions of the tool `n` in javascript";
    assert!(preview.starts_with(expected), "{preview}");
    assert!(preview.ends_with("source:\n  1  return 1;\n"), "{preview}");
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
