//! Calls that a server runs as tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{ElicitLater, McpClient};
use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, ToolErrorKind};

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
        (failed, "no paper", Some(ToolErrorKind::Failed)),
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
        assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Failed.code()));
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
