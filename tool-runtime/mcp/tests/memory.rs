//! The memory of a program whose servers send large lists and results. One test in its own process.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

use std::sync::Arc;

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

/// The memory that it may take, with the text itself and its copies on both sides.
const MAX_BYTES: usize = 200 << 20;

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

/// The server: what it lists, and the result of its calls.
#[derive(Clone)]
struct Script {
    list: Arc<str>,
    result: Arc<str>,
}

impl Script {
    fn answer(&self, message: &Value) -> Option<String> {
        let result = match message["method"].as_str()? {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "big", "version": "1" },
            })
            .to_string(),
            "tools/list" => format!("{{\"tools\":{}}}", self.list),
            "tools/call" => self.result.to_string(),
            method if message["id"].is_null() => return method.is_empty().then(String::new),
            _ => {
                let error = r#"{"code":-32601,"message":"unknown"}"#;
                return Some(format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}",
                    message["id"]
                ));
            }
        };
        Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", message["id"]))
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
                    ("text/event-stream", format!("data: {answer}\n\n"))
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

#[tokio::test]
async fn large_messages_are_decoded_in_bounded_memory() {
    for (name, list) in lists() {
        let script = Script { list: list.into(), result: "{}".into() };
        for (way, client) in script.clients().await {
            let (registry, before) = (Registry::new(), {
                peak();
                peak()
            });
            let connected = client.connect("s", &registry).await;
            let used = peak().saturating_sub(before);
            println!("list of {name} {way}: {} MiB", used >> 20);
            assert!(used <= MAX_BYTES, "{name} {way}: {} MiB", used >> 20);
            connected.unwrap().disconnect().await;
        }
    }
    let structured =
        |content: String| format!(r#"{{"content":[],"structuredContent":{{"x":[{content}]}}}}"#);
    for (name, result) in [
        ("objects", structured(filled(r#"{"a":1}"#))),
        ("tools", format!(r#"{{"tools":[{}]}}"#, filled(r#"{"name":"a","inputSchema":{}}"#))),
    ] {
        let list = r#"[{"name":"go","inputSchema":{"type":"object"}}]"#;
        let script = Script { list: list.into(), result: result.into() };
        for (way, client) in script.clients().await {
            let registry = Registry::new();
            let connection = client.connect("s", &registry).await.unwrap();
            let before = {
                peak();
                peak()
            };
            let call = ToolCall::new("1", "s__go", "{}");
            let executions = Dispatcher::new(registry.clone()).dispatch(vec![call]).await;
            let used = peak().saturating_sub(before);
            println!("result of {name} {way}: {} MiB", used >> 20);
            assert!(used <= MAX_BYTES, "{name} {way}: {} MiB", used >> 20);
            let text = &executions[0].result.text;
            assert!(text.contains("too large"), "{name} {way}: {text}");
            connection.disconnect().await;
        }
    }
}
