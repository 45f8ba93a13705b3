//! Servers on HTTP that fail at one request other than a call of a tool: nothing hangs, the error
//! is clear, and other requests succeed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tool_mcp::{McpClient, McpConnection, McpError, McpEvent};
use tool_runtime::ToolErrorKind;

use crate::http::{Reply, connect, good, json_reply, serve};
use crate::http_steps::{NO_FAILURE, failures};
use crate::questions::Agrees;
use crate::server::{answer, call, names, text};

/// The requests that a program makes, and whether the server has the newest revision.
const REQUESTS: [(&str, bool); 8] = [
    ("resources/list", true),
    ("resources/templates/list", true),
    ("resources/read", true),
    ("resources/subscribe", false),
    ("resources/unsubscribe", false),
    ("prompts/list", true),
    ("prompts/get", true),
    ("completion/complete", true),
];

async fn request(connection: &McpConnection, method: &str) -> Result<(), McpError> {
    match method {
        "resources/list" => connection.resources().await.map(drop),
        "resources/templates/list" => connection.resource_templates().await.map(drop),
        "resources/read" => connection.read_resource("file:///a").await.map(drop),
        "resources/subscribe" => connection.subscribe("file:///a").await,
        "resources/unsubscribe" => connection.unsubscribe("file:///a").await,
        "prompts/list" => connection.prompts().await.map(drop),
        "prompts/get" => connection.prompt("review", [("code", "x")]).await.map(drop),
        "completion/complete" => connection.complete_prompt("review", "code", "x").await.map(drop),
        other => panic!("{other}"),
    }
}

/// Makes each request at a server that fails with it.
async fn assert_no_other_is_affected(
    failures: impl Fn() -> Vec<(&'static str, Reply)>,
    call_timeout: Duration,
) {
    let mut attempts = Vec::new();
    for (method, is_modern) in REQUESTS {
        for (name, failure) in failures() {
            attempts.push(async move {
                let server = serve(move |message| {
                    if message["method"] == method {
                        return failure.clone();
                    }
                    good(message, is_modern, |call| json_reply(text(call, "ok")))
                })
                .await;
                let client = McpClient::http(&server.url).call_timeout(call_timeout);
                let (registry, connection) = connect(client).await.unwrap();
                let started = Instant::now();
                let error = request(&connection, method).await.unwrap_err();
                let elapsed = started.elapsed();
                assert!(elapsed < Duration::from_secs(18), "{method}: {name}: {elapsed:?}");
                let is_expected = match name {
                    "503" => matches!(error, McpError::Busy { .. }),
                    NO_FAILURE => matches!(error, McpError::Timeout { .. }),
                    "junk as events" => matches!(error, McpError::ConnectionLost { .. }),
                    _ => matches!(
                        error,
                        McpError::Transport { .. } | McpError::InvalidResponse { .. }
                    ),
                };
                assert!(is_expected, "{method}: {name}: {error:?}");
                let message = error.to_string();
                assert!(message.contains("`s`") && message.contains(method), "{message}");
                assert!(connection.status().is_connected(), "{method}: {name}");
                assert_eq!(names(&registry), ["s__go"], "{method}: {name}");
                let execution = call(&registry, "s__go", "{}").await;
                assert!(execution.is_success(), "{method}: {name}: {execution:?}");
            });
        }
    }
    // More at once would reach time limits of connections on a busy machine.
    stream::iter(attempts).buffer_unordered(8).collect::<()>().await;
}

#[tokio::test]
async fn request_that_fails_over_http_affects_no_other() {
    let failing = || failures().into_iter().filter(|(name, _)| *name != NO_FAILURE).collect();
    assert_no_other_is_affected(failing, Duration::from_secs(20)).await;
}

#[tokio::test]
async fn request_without_an_answer_over_http_affects_no_other() {
    let silent = || failures().into_iter().filter(|(name, _)| *name == NO_FAILURE).collect();
    // All requests wait at the same time. The call that follows has this limit, too, and must not
    // reach it on a busy machine.
    assert_no_other_is_affected(silent, Duration::from_secs(4)).await;
}

#[tokio::test]
async fn body_of_a_refusal_adds_no_line_to_its_error() {
    let server = serve(|message| match message["method"].as_str() {
        Some("resources/list") => (400, Vec::new(), "out of order\r\nINFO all is well".into()),
        _ => good(message, true, |call| json_reply(text(call, "ok"))),
    })
    .await;
    let (_registry, connection) = connect(McpClient::http(&server.url)).await.unwrap();
    let error = connection.resources().await.unwrap_err();
    let McpError::Transport { reason, .. } = error else { panic!("{error:?}") };
    assert!(reason.ends_with("out of order INFO all is well"), "{reason:?}");
}

#[tokio::test]
async fn subscription_that_fails_over_http_keeps_the_tools() {
    let attempts = failures().into_iter().map(|(name, failure)| async move {
        let server = serve(move |message| {
            if message["method"] == "subscriptions/listen" {
                return failure.clone();
            }
            good(message, true, |call| json_reply(text(call, "ok")))
        })
        .await;
        let interruptions = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&interruptions);
        let client = McpClient::http(&server.url).on_event(move |_, event| {
            if let McpEvent::NotificationsInterrupted { reason } = event {
                reported.lock().unwrap().push(reason.clone());
            }
        });
        let (registry, connection) = connect(client).await.unwrap();
        connection.subscribe("file:///a").await.unwrap();
        for _ in 0..3 {
            let execution = call(&registry, "s__go", "{}").await;
            assert!(execution.is_success(), "{name}: {execution:?}");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert!(connection.status().is_connected(), "{name}");
        let interruptions = interruptions.lock().unwrap();
        let expected = usize::from(name != NO_FAILURE);
        assert_eq!(interruptions.len(), expected, "{name}: {interruptions:?}");
        let is_clear = |reason: &String| reason.contains("subscriptions/listen");
        assert!(interruptions.iter().all(is_clear), "{name}: {interruptions:?}");
        // The client waits between its attempts.
        assert!(server.count("subscriptions/listen") <= 4, "{name}");
    });
    join_all(attempts).await;
}

/// The state of a task as JSON, with further members.
fn task(result_type: &str, status: &str, members: &Value) -> Value {
    let mut task = json!({
        "resultType": result_type, "taskId": "task-1", "status": status, "ttlMs": 60_000,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "pollIntervalMs": 1,
    });
    task.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    task
}

/// Answers as a server whose calls are tasks, except for those with the argument `plain`. If the
/// request to fail is `tasks/update`, the tasks ask a question.
fn with_tasks(message: &Value, failing: &str) -> Reply {
    match message["method"].as_str() {
        Some("tasks/get") if failing == "tasks/update" => {
            let form = json!({
                "method": "elicitation/create",
                "params": {
                    "mode": "form", "message": "Sure?",
                    "requestedSchema": { "type": "object", "properties": {} },
                },
            });
            let members = json!({ "inputRequests": { "sure": form } });
            json_reply(answer(message, task("complete", "input_required", &members)))
        }
        Some("tasks/get") => json_reply(answer(message, task("complete", "working", &json!({})))),
        Some("tasks/update" | "tasks/cancel") => {
            json_reply(answer(message, json!({ "resultType": "complete" })))
        }
        _ => good(message, true, |call| {
            json_reply(match call["params"]["arguments"]["plain"].as_bool() {
                Some(true) => text(call, "ok"),
                _ => answer(call, task("task", "working", &json!({}))),
            })
        }),
    }
}

#[tokio::test]
async fn task_whose_state_fails_over_http_ends_its_call() {
    assert_task_ends_its_call("tasks/get").await;
}

#[tokio::test]
async fn task_whose_update_fails_over_http_ends_its_call() {
    assert_task_ends_its_call("tasks/update").await;
}

#[tokio::test]
async fn task_whose_cancellation_fails_over_http_ends_its_call() {
    assert_task_ends_its_call("tasks/cancel").await;
}

/// Calls a server that fails with a request of its task.
async fn assert_task_ends_its_call(failing: &'static str) {
    let attempts = failures().into_iter().map(|(name, failure)| async move {
        let server = serve(move |message| {
            if message["method"] == failing {
                return failure.clone();
            }
            with_tasks(message, failing)
        })
        .await;
        let losses = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&losses);
        let client = McpClient::http(&server.url)
            .call_timeout(Duration::from_secs(2))
            .elicitation(Agrees::default())
            .on_event(move |_, event| {
                if matches!(event, McpEvent::Disconnected { .. }) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        (name, losses, connect(client).await.unwrap())
    });
    // The time limit of the calls is short, so all clients connect first.
    let attempts = join_all(attempts).await;
    let attempts = attempts.into_iter().map(async |(name, losses, (registry, _connection))| {
        let started = Instant::now();
        let slow = call(&registry, "s__go", "{}");
        let other = call(&registry, "s__go", r#"{"plain": true}"#);
        let (slow, other) = tokio::join!(slow, other);
        let elapsed = started.elapsed();
        assert!(elapsed < Duration::from_secs(18), "{failing}: {name}: {elapsed:?}");
        assert!(other.is_success(), "{failing}: {name}: {other:?}");
        let code = slow.result.error.as_deref();
        let expected = [ToolErrorKind::Timeout.code(), ToolErrorKind::ExecutionFailed.code()];
        assert!(code.is_some_and(|code| expected.contains(&code)), "{failing}: {name}: {slow:?}");
        let text = &slow.result.text;
        // The client and the dispatcher have the same deadline.
        let is_clear = text.contains("MCP server") || text.contains("took longer than 2s");
        assert!(is_clear, "{failing}: {name}: {text}");
        if name == "junk as events" {
            assert_eq!(losses.load(Ordering::Relaxed), 0, "only a stream has ended");
        }
        let next = call(&registry, "s__go", r#"{"plain": true}"#).await;
        assert!(next.is_success(), "{failing}: {name}: {next:?}");
    });
    join_all(attempts).await;
}
