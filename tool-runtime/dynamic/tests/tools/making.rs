//! From spec to tool that can be called.

use serde_json::json;
use tool_runtime::ToolExecution;

use super::fixture::{Fixture, spec};

#[tokio::test]
async fn made_tool_is_called_like_any_other() {
    let fixture = Fixture::new().await;
    let mut sum = spec("sum", "return args.numbers.reduce((a, b) => a + b, 0);");
    sum["fields"] = json!([{ "name": "numbers", "type": "list", "items": { "type": "integer" } }]);
    sum["examples"] = json!([{ "arguments": { "numbers": [1, 2] }, "output": 3 }]);
    let text = fixture.text("new_tool", sum).await;
    assert_eq!(text, "Version 1 is registered. Call it as `sum` from your next turn on.");
    assert_eq!(fixture.text("sum", json!({ "numbers": [2, 3, 4] })).await, "9");
    // Its arguments are repaired and validated.
    assert_eq!(fixture.text("sum", json!({ "numbers": ["2"] })).await, "2");
    let refused = fixture.call("sum", json!({ "numbers": "many" })).await;
    assert!(refused.failed_with("TOOL_INVALID_ARGUMENTS"));

    let listed = fixture.text("tool_list", json!({})).await;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let expected = json!({
        "name": "sum", "version": 1, "state": "active", "language": "javascript",
        "description": "Does something.",
    });
    assert_eq!(listed, json!([expected]));
    fixture.text("unregister_tool", json!({ "name": "sum" })).await;
    assert!(fixture.call("sum", json!({ "numbers": [] })).await.failed_with("TOOL_NOT_FOUND"));
    assert_eq!(fixture.text("tool_list", json!({})).await, "[]");
}

/// Returns the paths of the errors in a spec.
fn paths_of(execution: &ToolExecution) -> Vec<&str> {
    let lines = execution.result.text.lines().filter(|line| line.starts_with("- `"));
    lines.filter_map(|line| line.split('`').nth(1)).collect()
}

#[tokio::test]
async fn errors_of_a_spec_are_reported_at_once() {
    let fixture = Fixture::new().await;
    let mut wrong = spec("Sum", "return 1;");
    wrong["fields"] = json!([{ "name": "a-b", "type": "list" }]);
    wrong["capabilities"] = json!(["network"]);
    let execution = fixture.call("new_tool", wrong.clone()).await;
    assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"));
    let paths = ["name", "fields[0].name", "fields[0].items", "capabilities[0]"];
    assert_eq!(paths_of(&execution), paths, "{}", execution.result.text);
    // The name belongs to the program, and the language has no backend.
    wrong["name"] = "double".into();
    wrong["language"] = "rust".into();
    let execution = fixture.call("new_tool", wrong).await;
    let paths = ["fields[0].name", "fields[0].items", "name", "language"];
    assert_eq!(paths_of(&execution), paths, "{}", execution.result.text);
    wrong = spec("sum", "return 1 +;");
    let execution = fixture.call("new_tool", wrong).await;
    assert!(execution.result.text.contains("at line 1: `return 1 +;`"));
    wrong = spec("sum", "return 1;");
    wrong["language"] = "rust".into();
    let execution = fixture.call("new_tool", wrong).await;
    assert!(execution.is_failure() && fixture.names().is_empty());
}

#[tokio::test]
async fn tool_whose_examples_fail_is_not_registered() {
    let fixture = Fixture::new().await;
    for (body, output, expected) in [
        ("return args.n + 1;", json!(4), "- `examples[0]`: expected 4, got 3"),
        ("return args.n.x.y;", json!(4), "TypeError"),
        ("while (true) {}", json!(4), "time limit"),
        (
            "return await call_tool('double', args);",
            json!(4),
            "name each tool that the body calls in `tools`",
        ),
    ] {
        let mut wrong = spec("next", body);
        wrong["fields"] = json!([{ "name": "n", "type": "integer" }]);
        wrong["examples"] = json!([{ "arguments": { "n": 2 }, "output": output }]);
        wrong["timeout_seconds"] = json!(1);
        let execution = fixture.call("new_tool", wrong).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{body}");
        assert!(execution.result.text.contains(expected), "{}", execution.result.text);
        assert!(fixture.names().is_empty());
        assert_eq!(fixture.text("tool_list", json!({})).await, "[]");
    }
}

#[tokio::test]
async fn examples_call_other_tools() {
    let fixture = Fixture::new().await;
    let mut twice = spec("twice", "return await call_tool('double', args);");
    twice["fields"] = json!([{ "name": "n", "type": "integer" }]);
    twice["tools"] = json!(["double"]);
    twice["examples"] = json!([{ "arguments": { "n": 2 }, "output": 4 }]);
    fixture.text("new_tool", twice).await;
    let report = fixture.text("tool_test", json!({ "name": "twice" })).await;
    assert!(report.contains(r#""passed":true"#), "{report}");
    let examples = json!([{ "arguments": { "n": 2 }, "output": 5 }, { "arguments": {} }]);
    let report = fixture.text("tool_test", json!({ "name": "twice", "examples": examples })).await;
    assert_eq!(report.matches(r#""passed":false"#).count(), 2, "{report}");
    assert!(report.contains("`n`"), "{report}");
}

#[tokio::test]
async fn tools_that_are_not_registered_are_named() {
    let fixture = Fixture::new().await;
    let mut uses = spec("uses_nope", "return await call_tool('nope', args);");
    uses["tools"] = json!(["double", "nope"]);
    let expected = "Not registered now, so that calls of them fail: `nope`. Correct `tools`.";
    let text = fixture.text("new_tool", uses.clone()).await;
    assert!(text.starts_with("Version 1 is registered.") && text.ends_with(expected), "{text}");
    uses["examples"] = json!([{ "arguments": {} }]);
    let text = fixture.call("new_tool", uses.clone()).await.result.text;
    assert!(text.contains("failed. Error: No tool named `nope`"), "{text}");
    assert!(text.ends_with(expected), "{text}");
    uses["tools"] = json!(["double"]);
    uses["examples"] = json!([]);
    let text = fixture.text("new_tool", uses).await;
    assert!(!text.contains("Not registered"), "{text}");
}

#[tokio::test]
async fn test_with_examples_beyond_the_limits_runs_none_of_them() {
    let fixture = Fixture::new().await;
    let mut echo = spec("echo", "return args.text;");
    echo["fields"] = json!([{ "name": "text", "type": "string" }]);
    fixture.text("new_tool", echo).await;
    let without = fixture.call("tool_test", json!({ "name": "echo" })).await.result.text;
    assert!(without.contains("has no examples: send the calls to make"), "{without}");
    let example = |bytes: usize| json!({ "arguments": { "text": "x".repeat(bytes) } });
    let mut examples = vec![example(1); 17];
    (examples[2], examples[4]) = (example(17 << 10), example(18 << 10));
    examples[2]["output"] = "\u{202e}".into();
    let execution =
        fixture.call("tool_test", json!({ "name": "echo", "examples": examples })).await;
    assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"));
    let text = execution.result.text;
    let paths: Vec<_> = text.lines().skip(1).filter_map(|line| line.split('`').nth(1)).collect();
    let expected =
        ["examples", "examples[2].arguments", "examples[2].output", "examples[4].arguments"];
    assert_eq!(paths, expected, "{text}");
    assert!(text.starts_with("No example ran. Correct these arguments:\n"), "{text}");
    assert!(text.contains("expected at most 16 calls, got 17"), "{text}");
    let report =
        fixture.text("tool_test", json!({ "name": "echo", "examples": vec![example(1); 16] }));
    assert_eq!(report.await.matches(r#""passed":true"#).count(), 16);
}
