//! Servers on HTTP that fail at one step: nothing hangs, and other servers work on.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tool_mcp::{McpClient, McpError};
use tool_runtime::ToolErrorKind;

use crate::http::{Reply, connect, good, json_reply, serve};
use crate::server::{call, names, text};

/// The name of the failure that ends by a time limit of the client.
pub(crate) const NO_FAILURE: &str = "nothing";

/// Ways in which a server does not answer a request.
pub(crate) fn failures() -> Vec<(&'static str, Reply)> {
    let json = || vec![("content-type", "application/json")];
    let events = || vec![("content-type", "text/event-stream")];
    vec![
        ("503", (503, Vec::new(), String::new())),
        ("500 with a page", (500, vec![("content-type", "text/html")], "<html>".into())),
        ("junk as JSON", (200, json(), "{ not json".into())),
        ("a page", (200, vec![("content-type", "text/html")], "<html>".into())),
        ("junk as events", (200, events(), "data: junk\n\n".into())),
        (NO_FAILURE, (0, Vec::new(), String::new())),
    ]
}

#[tokio::test]
async fn no_step_over_http_can_hang() {
    let calm = serve(|message| good(message, true, |call| json_reply(text(call, "calm")))).await;
    let (calm_registry, _connection) = connect(McpClient::http(&calm.url)).await.unwrap();
    let steps = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    let mut attempts = Vec::new();
    for step in steps.into_iter().chain(["tools/call"]) {
        for (name, failure) in failures() {
            attempts.push(async move {
                let server = serve(move |message| {
                    if message["method"] == step {
                        return failure.clone();
                    }
                    good(message, false, |call| json_reply(text(call, "ok")))
                })
                .await;
                let (connect_timeout, call_timeout) = timeouts(step, name);
                let client = McpClient::http(&server.url)
                    .connect_timeout(connect_timeout)
                    .call_timeout(call_timeout);
                let started = Instant::now();
                let connected = connect(client).await;
                check(step, name, connected.as_ref().map(|_| ()));
                if let Ok((registry, _)) = &connected {
                    let execution = call(registry, "s__go", "{}").await;
                    let is_good = execution.result.error.is_none();
                    assert_eq!(is_good, step != "tools/call", "{step}: {name}: {execution:?}");
                    assert_eq!(names(registry), ["s__go"], "the tools stay");
                    let code = execution.result.error.as_deref();
                    let is_denied = code == Some(ToolErrorKind::Denied.code());
                    assert!(!is_denied, "{step}: {name}");
                }
                let elapsed = started.elapsed();
                assert!(elapsed < Duration::from_secs(60), "{step}: {name}: {elapsed:?}");
            });
        }
    }
    let checks = join_all(attempts);
    let others = async {
        for _ in 0..20 {
            let started = Instant::now();
            let execution = call(&calm_registry, "s__go", "{}").await;
            assert!(execution.result.text.contains("calm"), "{execution:?}");
            assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        }
    };
    tokio::join!(checks, others);
}

/// Returns the time limits of a client. They are long for what ends by itself, and short for what
/// ends by them.
fn timeouts(step: &str, failure: &str) -> (Duration, Duration) {
    let (mut connect, mut call) = (16_000, 8_000);
    if failure == NO_FAILURE {
        match step {
            // Half of it is for the handshake that follows, which must succeed on a busy machine.
            "server/discover" => connect = 8_000,
            "tools/call" => call = 500,
            _ => connect = 500,
        }
    }
    (Duration::from_millis(connect), Duration::from_millis(call))
}

/// Checks the result of an attempt to connect to a server that fails at one step.
fn check(step: &str, name: &str, connected: Result<(), &McpError>) {
    match step {
        // The handshake follows on a fresh transport.
        "server/discover" | "tools/call" => {
            assert!(connected.is_ok(), "{step}: {name}: {connected:?}");
        }
        "initialize" => {
            assert!(matches!(connected, Err(McpError::Connect { .. })), "{name}: {connected:?}");
        }
        "tools/list" => assert!(connected.is_err(), "{name}"),
        // Only the server needs it.
        _ => {}
    }
}
