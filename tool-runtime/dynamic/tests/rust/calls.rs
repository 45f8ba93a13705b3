//! Calls of built tools.

use std::fs;

use serde_json::json;
use tool_dynamic::{ArgumentField, ArgumentType, ToolBackend};
use tool_runtime::Effect;

use super::fixture::{backend, call, ends, folder, spec, text};
use super::hostile_calls::attacks;

#[tokio::test]
async fn outputs_are_values_or_texts() {
    let tool = attacks(20).await;
    for (value, expected) in
        [("\"a \\\"b\\\"\"", "a \"b\""), ("[1,2.5]", "[1,2.5]"), ("{\"a\":true}", "{\"a\":true}")]
    {
        assert_eq!(text(&tool, json!({ "attack": "json", "value": value })).await, expected);
    }
    let failed = call(&tool, json!({ "attack": "json", "value": "null" })).await;
    assert!(!failed.is_success() && failed.result.text.contains("nothing was chosen"));
    let invalid = call(&tool, json!({ "attack": "json", "value": "x" })).await;
    assert!(!invalid.is_success(), "{}", invalid.result.text);
}

#[tokio::test]
async fn capability_opens_the_files_of_the_program() {
    let notes = folder().join("notes-of-a-test");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("note"), "remember").unwrap();
    let body = "Ok(std::fs::read_to_string(&args.path).unwrap_or_else(|error| error.to_string()))";
    let with_path = spec("reads_notes", body)
        .effect(Effect::Read)
        .field(ArgumentField::new("path", ArgumentType::String));
    let path = json!({ "path": notes.join("note") });
    let tools = backend().readable("notes", &notes);
    let without = tools.build(&with_path.check().unwrap()).await.unwrap();
    assert!(text(&without, path.clone()).await.contains("No such file"));
    let with = tools.build(&with_path.capability("notes").check().unwrap()).await.unwrap();
    assert_eq!(with.definition().requires, ["notes"]);
    // The dispatcher would ask whether the run grants the capability.
    let context = tool_runtime::ToolContext::default();
    let output = with.call(path.into(), &context).await.unwrap();
    assert_eq!(output.as_text(), "remember");
}

#[tokio::test]
async fn calls_run_at_the_same_time_and_share_nothing() {
    let tool = attacks(20).await;
    let calls = (0..4).map(|_| {
        let tool = tool.clone();
        tokio::spawn(async move { text(&tool, json!({ "attack": "count" })).await })
    });
    for running in calls.collect::<Vec<_>>() {
        assert_eq!(running.await.unwrap(), "1");
    }
}

#[tokio::test]
async fn call_ends_at_its_time_limit_with_its_process() {
    let tool = attacks(3).await;
    let execution = call(&tool, json!({ "attack": "sleep", "value": "7654322" })).await;
    let error = execution.result.error.as_deref();
    assert_eq!(error, Some("TOOL_TIMEOUT"), "{}", execution.result.text);
    assert!(ends(b"sleep\x007654322\0").await);
}
