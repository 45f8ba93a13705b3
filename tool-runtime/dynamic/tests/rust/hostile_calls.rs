//! Bodies that attack the machine when they run. One tool has all attacks, so that it is built
//! once.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;
use tool_dynamic::{ArgumentField, ArgumentType};
use tool_runtime::Tool;

use super::fixture::{build, call, ends, folder, spec, text};

/// The attacks that the body knows, and a part of the result.
const ATTACKS: [(&str, &str); 14] = [
    ("read_home", "held"),
    ("read_shadow", "held"),
    ("read_sources", "held"),
    ("environment", "held"),
    ("write_program", "held"),
    ("write_outside", "held"),
    ("target", "held"),
    ("unix_socket", "held"),
    ("processes", "held"),
    ("exit", "ended without a result"),
    ("abort", "ended without a result"),
    ("memory", "ended without a result"),
    ("file", "ended without a result"),
    ("panic", "The tool crashed"),
];

/// Returns the tool with all attacks, whose calls have this time limit. It is built once: the limit
/// is not part of the source.
pub(crate) async fn attacks(timeout_seconds: u32) -> Arc<dyn Tool> {
    let source = spec("attacks", include_str!("hostile_calls_body.rs"))
        .field(ArgumentField::new("attack", ArgumentType::String))
        .field(ArgumentField::new("value", ArgumentType::String).default_value(""))
        .timeout_seconds(timeout_seconds);
    build(source).await
}

#[tokio::test]
async fn nothing_gets_through_at_run_time() {
    let secret = folder().join("canary");
    fs::write(&secret, "CANARY-OF-A-FILE").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let tool = attacks(20).await;
    for (attack, expected) in ATTACKS {
        let result = text(&tool, json!({ "attack": attack })).await;
        println!("{attack}: {result}");
        assert!(result.contains(expected), "{attack}: {result}");
        assert!(!result.contains("THROUGH"), "{attack}: {result}");
    }
    for (attack, value) in [("read", secret.to_string_lossy().into_owned()), ("connect", address)] {
        let result = text(&tool, json!({ "attack": attack, "value": value })).await;
        assert_eq!(result, "held", "{attack}");
    }
    assert!(!folder().join("canary-new").exists());
}

#[tokio::test]
async fn written_frames_change_no_tool_and_no_result_of_others() {
    let tool = attacks(10).await;
    let long = "x".repeat(3 << 20);
    for line in [
        "no JSON",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\",\"params\":{}}",
        &long,
    ] {
        let execution = call(&tool, json!({ "attack": "print", "value": line })).await;
        let result = &execution.result.text;
        println!("{}: {result}", &line[..line.len().min(60)]);
        assert!(result == "the real output" || !execution.is_success(), "{result}");
    }
}

#[tokio::test]
async fn daemon_ends_with_its_call() {
    let tool = attacks(20).await;
    assert_eq!(text(&tool, json!({ "attack": "daemon", "value": "7654323" })).await, "true");
    assert!(ends(b"sleep\x007654323\0").await);
}
