//! Clients that break the rules: nothing hangs, and memory stays bounded.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tool_mcp::McpServer;
use tool_mcp::server::Limits;
use tool_runtime::event::Progress;
use tool_runtime::{Dispatcher, Registry, ToolContext, ToolError, tool, tools};

use crate::client::{Client, NEW, OLD, all_capabilities, text};

/// Returns a text.
#[tool(effect = "none")]
async fn echo(text: String) -> String {
    text
}

/// Reports progress very often.
#[tool]
async fn noisy(ctx: &ToolContext) -> &'static str {
    for step in 0..100_000 {
        ctx.progress(Progress { done: f64::from(step), total: None, message: None });
    }
    "done"
}

fn server() -> McpServer {
    McpServer::new(tools![echo, noisy])
}

/// Runs without the real time that timeouts take.
fn paused() {
    tokio::time::pause();
}

#[tokio::test]
async fn clients_that_stop_reading_are_disconnected() {
    paused();
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        // More than the pipe holds, and nothing of it is read.
        for _ in 0..10 {
            let arguments = json!({ "text": "x".repeat(60_000) });
            client.start("tools/call", json!({ "name": "echo", "arguments": arguments })).await;
        }
        client.server.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn floods_of_requests_without_reading_are_disconnected() {
    paused();
    let mut client = Client::connect(server(), OLD).await;
    for id in 2.. {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        if client.send_bytes(format!("{ping}\n").as_bytes()).await.is_err() {
            break;
        }
        assert!(id < 20_000, "the server reads on");
    }
    client.server.await.unwrap().unwrap();
}

#[tokio::test]
async fn floods_of_progress_are_coalesced() {
    let mut client = Client::connect(server(), OLD).await;
    let meta = json!({ "progressToken": 1 });
    let params = json!({ "name": "noisy", "arguments": {}, "_meta": meta });
    let result = client.request("tools/call", params).await["result"].clone();
    assert_eq!(text(&result), "done");
    assert!(client.received.len() < 1000, "{} notifications", client.received.len());
    let last = client.received.back().unwrap();
    assert_eq!(last["params"]["progress"], 99_999.0, "the last one is sent");
}

#[tokio::test]
async fn floods_of_notifications_disturb_no_request() {
    for revision in [OLD, NEW] {
        let mut flooding = Client::connect(server(), revision).await;
        let mut other = Client::connect(server(), revision).await;
        let kinds = [
            ("notifications/cancelled", json!({ "requestId": 9_999 })),
            ("notifications/initialized", json!({})),
            ("notifications/progress", json!({ "progressToken": 1, "progress": 1 })),
            ("notifications/roots/list_changed", json!({})),
            ("notifications/none", json!({ "text": "x".repeat(500) })),
        ];
        let is_over = Cell::new(false);
        let flood = async {
            for (number, (method, params)) in kinds.iter().cycle().enumerate() {
                if is_over.get() {
                    break;
                }
                assert!(number < 1_000_000, "the other client waits for the end of the flood");
                flooding.notify(method, params.clone()).await;
            }
        };
        let calls = async {
            for _ in 0..20 {
                let result = other.call("echo", json!({ "text": "other" })).await;
                assert_eq!(text(&result), "other");
            }
            is_over.set(true);
        };
        let requests = async { tokio::join!(flood, calls) };
        tokio::time::timeout(Duration::from_secs(60), requests).await.expect("the server reads on");
        assert_eq!(text(&flooding.call("echo", json!({ "text": "mine" })).await), "mine");
    }
}

#[tokio::test]
async fn long_lines_are_skipped() {
    let server = server().limits(Limits::default().max_message_bytes(10_000));
    let mut client = Client::connect(server, OLD).await;
    let chunk = [b'x'; 1 << 16];
    // One line of 1 GB would take long; its length makes no difference once it is too long.
    for _ in 0..256 {
        client.send_bytes(&chunk).await.unwrap();
    }
    client.send_bytes(b"\n").await.unwrap();
    let long = json!({ "text": "y".repeat(20_000) });
    client.start("tools/call", json!({ "name": "echo", "arguments": long })).await;
    assert_eq!(text(&client.call("echo", json!({ "text": "short" })).await), "short");
}

#[tokio::test]
async fn junk_is_answered_or_ignored() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        for junk in [
            "",
            "nonsense",
            "{",
            "[]",
            "null",
            r#"{"jsonrpc": "2.0"}"#,
            r#"{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}"#,
            r#"{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}"#,
            r#"{"jsonrpc": "2.0", "id": 999, "result": {}}"#,
            r#"{"jsonrpc": "2.0", "id": 999, "error": {"code": 1, "message": "?"}}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/none"}"#,
        ] {
            client.send_bytes(format!("{junk}\n").as_bytes()).await.unwrap();
        }
        client.send_bytes(b"\xff\xfe\n").await.unwrap();
        assert_eq!(text(&client.call("echo", json!({ "text": "still" })).await), "still");
        let unknown = client.request("tools/none", json!({})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        let mistyped = client.request("tools/call", json!({ "name": 7 })).await;
        assert!(mistyped["error"].is_object(), "{mistyped}");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn request_that_can_not_be_read_is_answered_with_an_error() {
    let long = "x".repeat(20_000);
    for revision in [OLD, NEW] {
        let server = server().limits(Limits::default().max_message_bytes(10_000));
        let mut client = Client::connect(server, revision).await;
        for (request, reason) in [
            (
                r#"{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"x":"LONG"}}"#,
                "size limit",
            ),
            (
                r#"{"method":"tools/call","params":{"x":"LONG"},"jsonrpc":"2.0","id":902}"#,
                "size limit",
            ),
            (r#"{"jsonrpc":"1.0","id":903,"method":"tools/list"}"#, "Invalid request"),
        ] {
            client
                .send_bytes(format!("{}\n", request.replace("LONG", &long)).as_bytes())
                .await
                .unwrap();
            let answer = client.next().await;
            assert!(request.contains(&answer["id"].to_string()), "{answer}");
            assert_eq!(answer["error"]["code"], -32600, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(reason), "{answer}");
        }
        assert_eq!(text(&client.call("echo", json!({ "text": "still" })).await), "still");
    }
}

#[tokio::test]
async fn questions_that_are_never_answered_time_out() {
    /// Deletes a file.
    #[tool(permission = "ask")]
    async fn delete() -> &'static str {
        "deleted"
    }

    paused();
    let limits = Limits::default().answer_timeout(Duration::from_secs(60));
    let mut client = Client::connect(McpServer::new(tools![delete]).limits(limits), OLD).await;
    let result = client.call("delete", json!({})).await;
    assert_eq!(text(&result), "The client did not answer in time.");
    // A late answer, twice, changes nothing.
    let question = client.next().await;
    for _ in 0..2 {
        client
            .answer(&question, json!({ "action": "accept", "content": { "approve": true } }))
            .await;
    }
    let result = client.call("delete", json!({})).await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn repeated_ids_do_not_disturb_other_requests() {
    let mut client = Client::connect(server(), OLD).await;
    let arguments = json!({ "text": "a" });
    let params = json!({ "name": "echo", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params });
    for _ in 0..10 {
        client.send(&call).await;
    }
    assert_eq!(text(&client.call("echo", json!({ "text": "b" })).await), "b");
}

#[tokio::test]
async fn wrong_starts_are_refused_in_time() {
    for start in [
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
    ] {
        let mut client = Client::raw(server(), 4096);
        client.send_bytes(format!("{start}\n").as_bytes()).await.unwrap();
        let ended = client.close().await;
        assert!(ended.is_ok() || ended.unwrap_err().to_string().contains("initialization"));
    }
}

#[tokio::test]
async fn unknown_versions_are_negotiated() {
    for (requested, expected) in
        [("1999-01-01", OLD), ("2026-07-28", OLD), ("2025-06-18", "2025-06-18")]
    {
        let mut client = Client::raw(server(), 1 << 16);
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({
            "protocolVersion": requested, "capabilities": all_capabilities(), "clientInfo": info,
        });
        let started = client.request("initialize", params).await;
        assert_eq!(started["result"]["protocolVersion"], expected, "{started}");
    }
}

#[tokio::test]
async fn closed_connections_end_the_server() {
    // In the middle of a message, and before the first one.
    for start in [&b"{\"jsonrpc\": \"2.0\", \"id\""[..], b""] {
        let (near, far) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(far);
        let serving = tokio::spawn(server().serve(reader, writer));
        let (mut near_reader, mut near_writer) = tokio::io::split(near);
        near_writer.write_all(start).await.unwrap();
        near_writer.shutdown().await.unwrap();
        serving.await.unwrap().unwrap();
        near_reader.read_to_end(&mut Vec::new()).await.unwrap();
    }
}

/// Signals the start and the end of a call.
#[derive(Clone, Default)]
struct Signals {
    started: Arc<Notify>,
    ended: Arc<Notify>,
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.ended.notify_one();
    }
}

/// Waits for ever.
#[tool]
async fn wait(ctx: &ToolContext) -> Result<(), ToolError> {
    let signals = ctx.require::<Signals>()?.clone();
    signals.started.notify_one();
    std::future::pending().await
}

#[tokio::test]
async fn client_that_dies_during_a_call_ends_it() {
    paused();
    for revision in [OLD, NEW] {
        let signals = Signals::default();
        let (started, ended) = (Arc::clone(&signals.started), Arc::clone(&signals.ended));
        let registry = Registry::try_from(tools![wait]).unwrap();
        let server = McpServer::new(Dispatcher::new(registry).extension(signals));
        let mut client = Client::connect(server, revision).await;
        client.start("tools/call", json!({ "name": "wait", "arguments": {} })).await;
        started.notified().await;
        client.close().await.unwrap();
        ended.notified().await;
    }
}
