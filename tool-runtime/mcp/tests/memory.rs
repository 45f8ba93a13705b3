//! The memory of a program whose servers send large lists and results. One test in its own process.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use axum::routing::any;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};
use tool_mcp::McpClient;
use tool_runtime::{Dispatcher, Registry, ToolCall};

/// The size of what a server sends, below the limit of a message.
const BYTES: usize = 14 << 20;

/// The memory that the process may take, with the text itself and its copies on both sides.
const MAX_BYTES: usize = 400 << 20;

/// Returns the peak of the memory of this process, and starts a new one.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    kilobytes << 10
}

/// Repeats a text up to the size.
fn filled(item: &str) -> String {
    vec![item; BYTES / (item.len() + 1)].join(",")
}

/// Returns lists of tools whose values take much more memory than their text.
fn lists() -> Vec<(&'static str, String)> {
    let schema = |content: String| {
        format!(r#"[{{"name":"big","inputSchema":{{"type":"object","x":[{content}]}}}}]"#)
    };
    vec![
        ("tiny tools", format!("[{}]", filled(r#"{"name":"a","inputSchema":{}}"#))),
        ("objects", schema(filled(r#"{"a":1}"#))),
        ("text", schema(format!("\"{}\"", "x".repeat(BYTES)))),
    ]
}

/// The ids of messages that name no request, and take much memory or none.
const UNREADABLE_IDS: [&str; 4] = ["ID,\"id\":ID", "{}", "1.5", "[OBJECTS]"];

/// The server: what it lists, and the lines of messages that answer its calls. `ID` stands for the
/// id of a call, and `OBJECTS` for many values.
#[derive(Clone)]
struct Script {
    list: Arc<str>,
    lines: Arc<str>,
}

impl Script {
    fn answer(&self, message: &Value) -> Option<String> {
        let id = message["id"].to_string();
        let result = match message["method"].as_str()? {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "big", "version": "1" },
            })
            .to_string(),
            "tools/list" => format!("{{\"tools\":{}}}", self.list),
            "tools/call" => {
                let objects = filled(r#"{"a":1}"#);
                return Some(self.lines.replace("ID", &id).replace("OBJECTS", &objects));
            }
            method if message["id"].is_null() => return method.is_empty().then(String::new),
            _ => {
                let error = r#"{"code":-32601,"message":"unknown"}"#;
                return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
            }
        };
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    fn on_streams(&self) -> McpClient {
        let script = self.clone();
        McpClient::streams(move || {
            let (near, far) = duplex(64 << 10);
            let script = script.clone();
            tokio::spawn(async move {
                let (reader, mut writer) = split(far);
                let mut lines = BufReader::new(reader).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let message: Value = serde_json::from_str(&line).unwrap();
                    let Some(answer) = script.answer(&message) else { continue };
                    writer.write_all(answer.as_bytes()).await.ok();
                    writer.write_all(b"\n").await.ok();
                }
            });
            async move { Ok(split(near)) }
        })
    }

    async fn over_http(&self, has_events: bool) -> McpClient {
        let script = self.clone();
        let handler = move |request: Request| {
            let script = script.clone();
            async move {
                let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
                let message = serde_json::from_slice(&body).unwrap_or_default();
                let mut response = Response::new(Body::empty());
                let Some(answer) = script.answer(&message) else {
                    *response.status_mut() = axum::http::StatusCode::ACCEPTED;
                    return response;
                };
                let (media_type, body) = if has_events {
                    (
                        "text/event-stream",
                        answer.split('\n').map(|line| format!("data: {line}\n\n")).collect(),
                    )
                } else {
                    ("application/json", answer)
                };
                response.headers_mut().insert("content-type", media_type.parse().unwrap());
                *response.body_mut() = Body::from(Bytes::from(body));
                response
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let app = Router::new().route("/mcp", any(handler));
        tokio::spawn(async move { axum::serve(listener, app).await });
        McpClient::http(url)
    }

    async fn clients(&self) -> [(&'static str, McpClient); 3] {
        [
            ("on streams", self.on_streams()),
            ("as JSON", self.over_http(false).await),
            ("as events", self.over_http(true).await),
        ]
    }
}

/// Runs a future, and asserts that the process takes bounded memory. What earlier futures freed
/// counts, too, because it would hide what this one takes.
async fn bounded<T>(name: &str, future: impl Future<Output = T>) -> T {
    peak();
    let output = future.await;
    let peak = peak();
    assert!(peak <= MAX_BYTES, "{name}: {} MiB", peak >> 20);
    output
}

/// Connects to a server with this list over each transport.
async fn connect(name: &str, list: String, is_valid: bool) {
    let script = Script { list: list.into(), lines: "".into() };
    for (way, client) in script.clients().await {
        let registry = Registry::new();
        let client = client.connect_timeout(Duration::from_secs(20));
        let connecting = client.connect("s", &registry);
        let connected = bounded(&format!("{name} {way}"), connecting).await;
        assert_eq!(connected.is_ok(), is_valid, "{name} {way}");
    }
}

/// Calls a tool over each transport. The server answers with these lines, of which the JSON body
/// has the first.
async fn call(name: &str, lines: &str, expected: &str) {
    let list = r#"[{"name":"go","inputSchema":{"type":"object"}}]"#;
    let script = Script { list: list.into(), lines: lines.into() };
    for (way, client) in script.clients().await {
        let registry = Registry::new();
        let client = client.call_timeout(Duration::from_secs(20));
        let connection = client.connect("s", &registry).await.unwrap();
        let call = ToolCall::new("1", "s__go", "{}");
        let dispatcher = Dispatcher::new(registry.clone());
        let name = format!("{name} {way}");
        let executions = bounded(&name, dispatcher.dispatch(vec![call])).await;
        let text = &executions[0].result.text;
        assert!(text.contains(expected), "{name}: {text}");
        connection.disconnect().await;
    }
}

#[tokio::test]
async fn large_messages_are_decoded_in_bounded_memory() {
    for (name, list) in lists() {
        connect(&format!("list of {name}"), list, true).await;
    }
    // A message that ends behind the list, and text behind it.
    let list = format!("[{}]}}}}x", filled(r#"{"name":"a","inputSchema":{"a":1}}"#));
    connect("list with text behind it", list, false).await;

    let tools = filled(r#"{"name":"a","inputSchema":{}}"#);
    for (name, result) in [
        ("objects", r#"{"content":[],"structuredContent":{"x":[OBJECTS]}}"#),
        ("tools", &format!(r#"{{"tools":[{tools}]}}"#)),
    ] {
        let response = format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#);
        call(&format!("result of {name}"), &response, "too large").await;
        let response = format!("{response}x");
        call(&format!("result of {name} with text behind it"), &response, "").await;
    }
    for id in UNREADABLE_IDS {
        let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[OBJECTS]}}"#);
        call(&format!("response with the id {id}"), &response, "too large").await;
        let notification =
            format!(r#"{{"jsonrpc":"2.0","method":"x","id":{id},"params":[OBJECTS]}}"#);
        let response = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
        let lines = format!("{notification}\n{response}");
        call(&format!("notification with the id {id}"), &lines, "").await;
    }
}
