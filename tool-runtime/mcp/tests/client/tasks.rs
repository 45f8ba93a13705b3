//! Calls that a server runs as tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{ElicitLater, McpClient, McpEvent};
use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, ToolErrorKind};

use crate::http;
use crate::questions::Agrees;
use crate::server::{Action, Server, answer, call, connect, error, wait_until, with_go};

/// The state of a task as JSON, with further members.
fn task(result_type: &str, status: &str, members: Value) -> Value {
    let mut task = json!({
        "resultType": result_type, "taskId": "task-1", "status": status, "ttlMs": 60_000,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "pollIntervalMs": 1,
    });
    for (name, value) in members.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

/// A client of a server whose polled states are these; the last one repeats.
fn client(server: &Server, states: Vec<Value>) -> McpClient {
    let mut other = with_go(true, |call| answer(call, task("task", "working", json!({}))));
    let polls = Arc::new(AtomicUsize::new(0));
    server.simple(move |message| match message["method"].as_str() {
        Some("tasks/get") => {
            let number = polls.fetch_add(1, Ordering::Relaxed).min(states.len() - 1);
            answer(message, states[number].clone())
        }
        Some("tasks/update" | "tasks/cancel") => {
            answer(message, json!({ "resultType": "complete" }))
        }
        _ => other(message),
    })
}

fn state(status: &str, members: Value) -> Value {
    task("complete", status, members)
}

fn completed(text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    state("completed", json!({ "result": { "content": content, "isError": false } }))
}

#[tokio::test]
async fn a_task_is_polled_until_it_ends() {
    let failed = state("failed", json!({ "error": { "code": -32603, "message": "no paper" } }));
    for (last, expected, code) in [
        (completed("printed"), "printed", None),
        (failed, "no paper", Some(ToolErrorKind::ExecutionFailed)),
        (state("cancelled", json!({})), "cancelled the call", Some(ToolErrorKind::Indeterminate)),
    ] {
        let server = Server::default();
        let working = state("working", json!({ "statusMessage": "warming up" }));
        let (registry, _) = connect(client(&server, vec![working, last])).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains(expected), "{}", execution.result.text);
        assert_eq!(execution.result.error.as_deref(), code.map(|kind| kind.code()));
        assert_eq!(server.received("tasks/get").len(), 2);
        assert_eq!(server.received("tasks/get")[0]["params"]["taskId"], "task-1");
        assert!(server.received("tasks/cancel").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_end_is_cancelled_at_the_deadline() {
    let server = Server::default();
    let client = client(&server, vec![state("working", json!({}))]);
    let (registry, _) = connect(client.call_timeout(Duration::from_secs(1))).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Timeout.code()));
    wait_until(|| server.received("tasks/cancel").len() == 1).await;
    assert_eq!(server.received("tasks/cancel")[0]["params"]["taskId"], "task-1");
}

#[tokio::test]
async fn a_state_that_is_invalid_fails_the_call() {
    for invalid in [json!({ "resultType": "complete" }), json!({ "resultType": "task" })] {
        let server = Server::default();
        let (registry, _) = connect(client(&server, vec![invalid])).await;
        let execution = call(&registry, "s__go", "{}").await;
        assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::ExecutionFailed.code()));
        wait_until(|| server.received("tasks/cancel").len() == 1).await;
    }
}

#[tokio::test]
async fn a_task_that_is_unknown_fails_the_call() {
    let server = Server::default();
    let mut other = with_go(true, |call| answer(call, task("task", "working", json!({}))));
    let client = server.simple(move |message| -> Vec<Action> {
        match message["method"].as_str() {
            Some("tasks/get") => error(message, -32602, "no such task"),
            _ => other(message),
        }
    });
    let (registry, _) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("no such task"), "{}", execution.result.text);
}

#[tokio::test]
async fn a_question_of_a_task_pauses_the_run_and_the_answer_goes_to_the_task() {
    let form = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form", "message": "Which seat?",
            "requestedSchema": {
                "type": "object", "properties": { "seat": { "type": "string" } },
            },
        },
    });
    let server = Server::default();
    let asks = state("input_required", json!({ "inputRequests": { "seat": form } }));
    // The server notices the answer late.
    let states = vec![asks.clone(), asks, completed("booked")];
    let client = client(&server, states).elicitation(ElicitLater);
    let (registry, _) = connect(client).await;
    let model =
        ScriptedModel::new([ChatReply::default().call("s__go", "{}"), ChatReply::text("Booked.")]);
    let agent = Agent::new(model, registry);
    let stopped = agent.run("Book a seat.").await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    let id = paused.pending()[0].call.id.clone();
    paused.answer(&id, json!({ "seat": "aisle" }), "Ada").unwrap();
    let answered = agent.resume(*paused).finish().await.unwrap();
    assert_eq!(answered.text, "Booked.");
    let updates = server.received("tasks/update");
    assert_eq!(updates.len(), 1);
    let response = &updates[0]["params"]["inputResponses"]["seat"];
    assert_eq!(response["content"]["seat"], "aisle", "{response}");
    // One call, whose task was not cancelled by the pause.
    assert_eq!(server.received("tools/call").len(), 1);
    assert!(server.received("tasks/cancel").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_task_outlives_the_connection() {
    let server = Server::default();
    let client = server.client(|number| {
        let mut other = with_go(true, |call| answer(call, task("task", "working", json!({}))));
        Box::new(move |message| match message["method"].as_str() {
            Some("tasks/get") if number == 1 => vec![Action::Close],
            Some("tasks/get") => answer(message, completed("printed")),
            _ => other(message),
        })
    });
    let (registry, _) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error, None, "{}", execution.result.text);
    assert_eq!(server.connections(), 2);
    assert_eq!(server.received("tools/call").len(), 1);
}

#[tokio::test]
async fn a_server_that_is_busy_keeps_its_connection_and_its_tools() {
    for status in [503, 429] {
        let polls = Arc::new(AtomicUsize::new(0));
        let discoveries = Arc::new(AtomicUsize::new(0));
        let server = http::serve({
            let (polls, discoveries) = (Arc::clone(&polls), Arc::clone(&discoveries));
            move |message| match message["method"].as_str() {
                Some("tasks/get") if polls.fetch_add(1, Ordering::Relaxed) == 0 => {
                    (status, vec![("retry-after", "1")], String::new())
                }
                Some("tasks/get") => http::json_reply(answer(message, completed("printed"))),
                method => {
                    let is_discovery = method == Some("server/discover");
                    discoveries.fetch_add(usize::from(is_discovery), Ordering::Relaxed);
                    let task = |call: &Value| answer(call, task("task", "working", json!({})));
                    http::good(message, true, |call| http::json_reply(task(call)))
                }
            }
        })
        .await;
        let downs = Arc::new(AtomicUsize::new(0));
        let client = McpClient::http(&server.url).on_event({
            let downs = Arc::clone(&downs);
            move |_, event| {
                let is_down = matches!(event, McpEvent::Disconnected { .. });
                downs.fetch_add(usize::from(is_down), Ordering::Relaxed);
            }
        });
        let (registry, connection) = http::connect(client).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("printed"), "{}", execution.result.text);
        assert!(connection.status().is_connected());
        assert_eq!((downs.load(Ordering::Relaxed), discoveries.load(Ordering::Relaxed)), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_sent_again_if_it_may_not_have_reached_the_task() {
    let form = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form", "message": "Sure?",
            "requestedSchema": { "type": "object", "properties": {} },
        },
    });
    let server = Server::default();
    let is_answered = Arc::new(AtomicUsize::new(0));
    let client = server.client(move |number| {
        let (form, is_answered) = (form.clone(), Arc::clone(&is_answered));
        let mut other = with_go(true, |call| answer(call, task("task", "working", json!({}))));
        Box::new(move |message| match message["method"].as_str() {
            Some("tasks/update") if number == 1 => vec![Action::Close],
            Some("tasks/update") => {
                is_answered.store(1, Ordering::Relaxed);
                answer(message, json!({ "resultType": "complete" }))
            }
            Some("tasks/get") if is_answered.load(Ordering::Relaxed) == 1 => {
                answer(message, completed("done"))
            }
            Some("tasks/get") => {
                let requests = json!({ "inputRequests": { "sure": form } });
                answer(message, state("input_required", requests))
            }
            _ => other(message),
        })
    });
    let (registry, _) = connect(client.elicitation(Agrees::default())).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("done"), "{}", execution.result.text);
    let updates = server.received("tasks/update");
    assert_eq!(updates.len(), 2);
    let [first, second] = [0, 1].map(|number: usize| &updates[number]["params"]["inputResponses"]);
    assert_eq!(first["sure"]["action"], "accept");
    assert_eq!(first, second);
}

/// Both calls report that the connection failed: the new one is not replaced for the second report.
#[tokio::test]
async fn a_connection_is_replaced_once_for_two_calls_that_failed_on_it() {
    let polls = Arc::new(AtomicUsize::new(0));
    let server = http::serve(move |message| match message["method"].as_str() {
        Some("tasks/get") if polls.fetch_add(1, Ordering::Relaxed) < 2 => {
            (500, Vec::new(), String::new())
        }
        Some("tasks/get") => http::json_reply(answer(message, completed("printed"))),
        _ => {
            let task = |call: &Value| answer(call, task("task", "working", json!({})));
            http::good(message, true, |call| http::json_reply(task(call)))
        }
    })
    .await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let client = McpClient::http(&server.url).on_event({
        let events = Arc::clone(&events);
        move |_, event| match event {
            McpEvent::Connected { .. } => events.lock().unwrap().push("up"),
            McpEvent::Disconnected { .. } => events.lock().unwrap().push("down"),
            _ => {}
        }
    });
    let (registry, connection) = http::connect(client).await.unwrap();
    // The supervisor rests after the list that follows the refused subscription.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let (first, second) =
        tokio::join!(call(&registry, "s__go", "{}"), call(&registry, "s__go", "{}"));
    for execution in [first, second] {
        assert!(execution.result.text.contains("printed"), "{}", execution.result.text);
    }
    assert!(connection.connected().await.is_connected());
    assert!(call(&registry, "s__go", "{}").await.result.text.contains("printed"));
    assert_eq!(*events.lock().unwrap(), ["up", "down", "up"]);
}

#[tokio::test]
async fn secret_in_the_error_of_a_task_is_redacted() {
    let server = http::serve(|message| match message["method"].as_str() {
        Some("tasks/get") => {
            let error = json!({ "code": -32603, "message": "received bearer-secret" });
            http::json_reply(answer(message, state("failed", json!({ "error": error }))))
        }
        _ => http::good(message, true, |call| {
            http::json_reply(answer(call, task("task", "working", json!({}))))
        }),
    })
    .await;
    let client = McpClient::http(&server.url).bearer("bearer-secret");
    let (registry, _connection) = connect(client).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.text.contains("received [redacted]"), "{}", execution.result.text);
}

#[tokio::test]
async fn secret_in_the_state_of_a_task_is_redacted() {
    let polls = Arc::new(AtomicUsize::new(0));
    let server = http::serve(move |message| match message["method"].as_str() {
        Some("tasks/get") => {
            let message_of_state = json!({ "statusMessage": "received bearer-secret" });
            let state = match polls.fetch_add(1, Ordering::Relaxed) {
                0 => state("working", message_of_state),
                _ => completed("printed"),
            };
            http::json_reply(answer(message, state))
        }
        _ => http::good(message, true, |call| {
            http::json_reply(answer(call, task("task", "working", json!({}))))
        }),
    })
    .await;
    let progress = http::progress_of_call(McpClient::http(&server.url)).await;
    assert_eq!(progress, ["received [redacted]"]);
}
