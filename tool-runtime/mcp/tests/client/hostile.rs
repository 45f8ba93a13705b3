//! Servers that break the rules: nothing hangs, and memory stays bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::time::Instant;
use tool_mcp::{McpClient, McpError, McpStatus};
use tool_runtime::{Registry, ToolErrorKind};

use crate::server::{
    Action, Server, answer, call, connect, handshake, names, notification, text, wait_until,
    with_go,
};

/// Behaviours at one step of a connection.
fn bad_answers(message: &Value) -> Vec<(&'static str, Vec<Action>)> {
    vec![
        ("silent", Vec::new()),
        ("closes", vec![Action::Close]),
        ("junk", vec![Action::Raw(b"\xff\xfe not json\n".to_vec())]),
        ("empty result", answer(message, json!({}))),
        ("result of another kind", answer(message, json!({ "content": [] }))),
        ("null result", answer(message, Value::Null)),
        ("wrong id", answer(&json!({ "id": 424_242 }), json!({}))),
        (
            "error without id",
            vec![Action::Send(json!({
                "jsonrpc": "2.0", "error": { "code": -32600, "message": "what?" },
            }))],
        ),
        (
            "request in place of an answer",
            vec![Action::Send(json!({
                "jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage",
                "params": { "messages": [], "maxTokens": 1 },
            }))],
        ),
        ("endless line", vec![Action::Raw(vec![b'x'; 3 << 20])]),
        (
            "flood of notifications",
            (0..3_000)
                .map(|n| {
                    notification("notifications/message", json!({ "level": "info", "data": n }))
                })
                .collect(),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_step_of_the_handshake_can_hang() {
    let names: Vec<_> = bad_answers(&Value::Null).into_iter().map(|(name, _)| name).collect();
    for step in ["server/discover", "initialize", "notifications/initialized", "tools/list"] {
        for (index, name) in names.iter().enumerate() {
            let server = Server::default();
            let client = server.simple(move |message| {
                if message["method"] == step {
                    return bad_answers(message).remove(index).1;
                }
                let is_modern = false;
                handshake(message, is_modern).unwrap_or_else(|| match message["method"].as_str() {
                    Some("tools/list") => answer(message, json!({ "tools": [] })),
                    _ => Vec::new(),
                })
            });
            let started = Instant::now();
            let registry = Registry::new();
            let client = client.connect_timeout(Duration::from_secs(20)).max_message_bytes(100_000);
            let connected = client.connect("s", &registry).await;
            let elapsed = started.elapsed();
            assert!(elapsed < Duration::from_secs(60), "{step}: {name}: {elapsed:?}");
            // The handshake is made again on a fresh transport: only a broken one fails twice.
            let is_good = match step {
                "server/discover" => true,
                // The list follows on a connection that has ended.
                "notifications/initialized" => !matches!(*name, "closes" | "endless line"),
                _ => false,
            };
            if is_good {
                assert!(connected.is_ok(), "{step}: {name}: {connected:?}");
            } else if step == "initialize" {
                assert!(matches!(connected, Err(McpError::Connect { .. })), "{step}: {name}");
            } else if step == "tools/list" {
                assert!(connected.is_err(), "{step}: {name}");
                assert!(names_of(&registry).is_empty());
            }
        }
    }
}

fn names_of(registry: &Registry) -> Vec<String> {
    names(registry)
}

#[tokio::test(start_paused = true)]
async fn no_behaviour_during_a_call_can_hang() {
    let behaviours: Vec<_> = bad_answers(&Value::Null).into_iter().map(|(name, _)| name).collect();
    for (index, name) in behaviours.iter().enumerate() {
        let server = Server::default();
        let client = server.simple(with_go(false, move |call| bad_answers(call).remove(index).1));
        let client = client.call_timeout(Duration::from_secs(5)).max_message_bytes(100_000);
        let (registry, _) = connect(client).await;
        let started = Instant::now();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(started.elapsed() <= Duration::from_secs(6), "{name}");
        let has_text = matches!(*name, "empty result" | "result of another kind");
        assert_eq!(execution.result.error.is_none(), has_text, "{name}: {execution:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_stops_reading_is_given_up() {
    // The pipe takes 64 KiB; the rest is not read.
    let client = McpClient::streams(|| async {
        let (client, peer) = tokio::io::duplex(64 << 10);
        tokio::spawn(async move {
            let _both_ends_stay_open = serve_until_listed(peer).await;
            std::future::pending::<()>().await;
        });
        Ok(tokio::io::split(client))
    });
    let client = client.send_timeout(Duration::from_secs(3)).call_timeout(Duration::from_secs(30));
    let (registry, connection) = connect(client).await;
    let started = Instant::now();
    let big = json!({ "text": "x".repeat(200_000) }).to_string();
    let execution = call(&registry, "s__go", &big).await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Indeterminate.code()));
    assert_eq!(started.elapsed().as_secs(), 3);
    wait_until(|| matches!(connection.status(), McpStatus::Down { .. })).await;
    connection.disconnect().await;
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// Serves until the tools are listed, and returns the open end.
async fn serve_until_listed(peer: DuplexStream) -> DuplexStream {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
    let mut lines = tokio::io::BufReader::with_capacity(64, peer);
    let mut script = with_go(false, |_| Vec::new());
    let mut has_listed = false;
    while !has_listed {
        let mut line = String::new();
        lines.read_line(&mut line).await.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        has_listed = message["method"] == "tools/list";
        for action in script(&message) {
            let Action::Send(message) = action else { continue };
            lines.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
    }
    lines.into_inner()
}

#[tokio::test(start_paused = true)]
async fn flood_of_requests_whose_answers_are_not_read_ends_the_connection() {
    use tokio::io::AsyncWriteExt as _;

    let requests = Arc::new(AtomicUsize::new(0));
    let client = McpClient::streams({
        let requests = Arc::clone(&requests);
        move || {
            let requests = Arc::clone(&requests);
            async move {
                let (client, peer) = tokio::io::duplex(64 << 10);
                tokio::spawn(async move {
                    let mut peer = serve_until_listed(peer).await;
                    for id in 0_usize.. {
                        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
                        if peer.write_all(format!("{ping}\n").as_bytes()).await.is_err() {
                            break;
                        }
                        requests.fetch_add(1, Ordering::Relaxed);
                    }
                });
                Ok(tokio::io::split(client))
            }
        }
    });
    let (_registry, connection) = connect(client.send_timeout(Duration::from_secs(3))).await;
    let mut status = connection.status_changes();
    status.wait_for(|status| matches!(status, McpStatus::Down { .. })).await.unwrap();
    let requests = requests.load(Ordering::Relaxed);
    assert!(requests < 20_000, "{requests} requests were read");
    connection.disconnect().await;
}

#[tokio::test(start_paused = true)]
async fn oversized_response_fails_its_call_alone() {
    let server = Server::default();
    let client = server.simple(with_go(false, |call| {
        match call["params"]["arguments"]["size"].as_u64() {
            Some(size) => {
                let big = "x".repeat(usize::try_from(size).unwrap());
                // The id behind the result, as some servers write it.
                let id = &call["id"];
                let result = json!({ "content": [{ "type": "text", "text": big }] });
                let line = format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n");
                vec![Action::Raw(line.into_bytes())]
            }
            None => text(call, "small"),
        }
    }));
    let client = client.max_message_bytes(100_000).call_timeout(Duration::from_secs(60));
    let (registry, connection) = connect(client).await;
    let started = Instant::now();
    let (big, small) = tokio::join!(
        call(&registry, "s__go", r#"{"size": 300000}"#),
        call(&registry, "s__go", "{}"),
    );
    assert!(big.result.text.contains("too large"), "{}", big.result.text);
    assert!(small.result.text.contains("small"));
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(connection.status().is_connected());
}

#[tokio::test(start_paused = true)]
async fn gigabyte_without_a_line_ending_is_given_up() {
    let server = Server::default();
    let sender = server.clone();
    let client = server.simple(with_go(false, move |_| {
        // More than is skipped of a line of this limit, in pieces.
        let sender = sender.clone();
        tokio::spawn(async move {
            for _ in 0..64 {
                sender.send(Action::Raw(vec![b'x'; 64 << 10]));
                tokio::task::yield_now().await;
            }
        });
        Vec::new()
    }));
    let client = client.max_message_bytes(100_000).call_timeout(Duration::from_secs(60));
    let (registry, connection) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Indeterminate.code()));
    assert!(connection.connected().await.is_connected(), "a fresh connection");
}

#[tokio::test(start_paused = true)]
async fn flood_of_progress_is_bounded_and_others_work_on() {
    let registry = Registry::new();
    let (server, calm) = (Server::default(), Server::default());
    let client = server.simple(with_go(false, |call| {
        let token = call["params"]["_meta"]["progressToken"].clone();
        let progress = move |n: u32| {
            let params = json!({ "progressToken": token, "progress": n });
            notification("notifications/progress", params)
        };
        (0..15_000).map(progress).chain(text(call, "done")).collect()
    }));
    client.connect("flood", &registry).await.unwrap();
    let calm = calm.simple(with_go(false, |call| text(call, "calm")));
    calm.connect("calm", &registry).await.unwrap();
    let started = Instant::now();
    let flood = tokio::spawn({
        let registry = registry.clone();
        async move { call(&registry, "flood__go", "{}").await }
    });
    let execution = call(&registry, "calm__go", "{}").await;
    assert!(execution.result.text.contains("calm"));
    assert!(started.elapsed() < Duration::from_secs(1));
    let execution = flood.await.unwrap();
    assert!(execution.result.text.contains("done"), "{}", execution.result.text);
    // What exceeds the burst of 10,000 is read at the pace of the budget.
    assert!(started.elapsed() >= Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn wrong_revisions_are_refused() {
    for revision in ["1999-01-01", "banana", ""] {
        let client = Server::default().simple(move |message| match message["method"].as_str() {
            Some("server/discover") => answer(
                message,
                json!({
                    "resultType": "complete", "supportedVersions": [revision], "capabilities": {},
                    "ttlMs": 0, "cacheScope": "private",
                }),
            ),
            Some("initialize") => answer(
                message,
                json!({
                    "protocolVersion": revision, "capabilities": {},
                    "serverInfo": { "name": "x", "version": "1" },
                }),
            ),
            _ => Vec::new(),
        });
        let error = client.connect("s", &Registry::new()).await.unwrap_err();
        assert!(error.to_string().contains("unknown protocol revision"), "{error}");
    }
}
