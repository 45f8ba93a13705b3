//! Messages that can't be read: above the size limit, or malformed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tool_runtime::{ToolErrorKind, ToolExecution};

use crate::server::{Action, Server, call, connect, text, wait_until, with_go};

/// The size limit of a message in these tests.
const LIMIT: usize = 100_000;

/// A script whose calls are answered after `first`, except those without a reply.
fn answered_after(
    is_modern: bool,
    first: impl Fn(&Value) -> String + Clone + Send + Sync + 'static,
) -> impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static {
    with_go(is_modern, move |call| {
        let mut actions = vec![Action::Raw(format!("{}\n", first(call)).into_bytes())];
        actions.extend(text(call, "done"));
        actions
    })
}

async fn call_result(
    server: &Server,
    script: impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static,
) -> ToolExecution {
    let client = server.simple(script).max_message_bytes(LIMIT);
    let (registry, _connection) = connect(client.call_timeout(Duration::from_secs(60))).await;
    let started = Instant::now();
    let execution = call(&registry, "s__go", "{}").await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    execution
}

#[tokio::test(start_paused = true)]
async fn oversized_message_that_answers_nothing_fails_no_call() {
    let big = "x".repeat(2 * LIMIT);
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"BIG"}}"#,
        r#"{"method":"notifications/message","params":{"id":ID,"data":"BIG"},"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"sampling/createMessage","params":{"x":"BIG"}}"#,
        r#"{"method":"ping","params":{"x":"BIG"},"jsonrpc":"2.0","id":ID}"#,
        r#"{"params":{"x":"BIG"},"method":"ping","id":ID}"#,
    ] {
        for is_modern in [false, true] {
            let (server, big) = (Server::default(), big.clone());
            let script = answered_after(is_modern, move |call| {
                message.replace("ID", &call["id"].to_string()).replace("BIG", &big)
            });
            let execution = call_result(&server, script).await;
            assert!(execution.result.text.contains("done"), "{message}: {execution:?}");
            assert!(server.received("notifications/cancelled").is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_request_of_the_server_is_answered_with_an_error() {
    let big = "x".repeat(2 * LIMIT);
    for (message, reason) in [
        (r#"{"jsonrpc":"2.0","id":77,"method":"ping","params":{"x":"BIG"}}"#, "size limit"),
        (r#"{"method":"ping","params":{"x":"BIG"},"jsonrpc":"2.0","id":77}"#, "size limit"),
        (r#"{"jsonrpc":"2.0","id":77,"method":5}"#, "not a valid message"),
    ] {
        let (server, big) = (Server::default(), big.clone());
        let script = answered_after(false, move |_| message.replace("BIG", &big));
        let execution = call_result(&server, script).await;
        assert!(execution.result.text.contains("done"), "{message}: {execution:?}");
        wait_until(|| !server.answers().is_empty()).await;
        let answer = server.answers().remove(0);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(77), &json!(-32600)));
        assert!(answer["error"]["message"].as_str().unwrap().contains(reason), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_response_fails_its_call_at_once() {
    for message in [
        r#"{"jsonrpc":"2.0","id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":["#,
        r#"{"jsonrpc":"2.0","id":ID,"error":"failed"}"#,
        r#"{"jsonrpc":"1.0","id":ID,"result":{}}"#,
        r#"{"id":ID,"result":{"content":[]}}"#,
        r#"{"result":{"content":[]},"id":ID}"#,
    ] {
        let server = Server::default();
        let script = with_go(false, move |call| {
            let message = message.replace("ID", &call["id"].to_string());
            vec![Action::Raw(format!("{message}\n").into_bytes())]
        });
        let execution = call_result(&server, script).await;
        let text = &execution.result.text;
        assert!(text.contains("sent no valid result"), "{message}: {text}");
        assert!(server.received("notifications/cancelled").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn oversized_response_to_one_of_several_calls_leaves_all_of_them_open() {
    let server = Server::default();
    let script = with_go(true, |call| match call["params"]["arguments"]["is_big"].as_bool() {
        // Members in an order in which neither the kind nor the id can be seen.
        Some(true) => {
            let padding = "x".repeat(2 * LIMIT);
            let line = json!({ "a": padding, "id": call["id"], "result": {}, "z": padding });
            vec![Action::Raw(format!("{line}\n").into_bytes())]
        }
        _ => Vec::new(),
    });
    let client = server.simple(script).max_message_bytes(LIMIT);
    let (registry, connection) = connect(client.call_timeout(Duration::from_secs(60))).await;
    let started = Instant::now();
    let (small, big) = tokio::join!(
        call(&registry, "s__go", "{}"),
        call(&registry, "s__go", r#"{"is_big": true}"#),
    );
    assert!(started.elapsed() < Duration::from_secs(1));
    for execution in [small, big] {
        let code = execution.result.error.as_deref();
        assert_eq!(code, Some(ToolErrorKind::Indeterminate.code()), "{execution:?}");
    }
    wait_until(|| server.received("notifications/cancelled").len() == 2).await;
    // The subscription goes on.
    assert_eq!(server.received("subscriptions/listen").len(), 1);
    assert!(connection.status().is_connected());
}
