//! Long calls as tasks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_mcp::McpServer;
use tool_mcp::server::{
    ElicitationRequest, InputRequests, InputResponses, Limits, McpRequest, Tasks,
};
use tool_runtime::event::ProtocolError;
use tool_runtime::{Dispatcher, Registry, ToolContext, ToolError, tool, tools};

use crate::client::{Client, NEW, text};

/// Ends when the test lets it.
#[tool]
async fn slow(ctx: &ToolContext) -> Result<String, ToolError> {
    ctx.require::<Arc<Notify>>()?.notified().await;
    Ok("done".into())
}

/// Fails by the protocol.
#[tool]
async fn broken() -> Result<(), ToolError> {
    Err(ToolError::failed("broken").with_protocol_error(ProtocolError::new(-32603)))
}

/// Asks in both ways.
#[tool]
async fn asks(ctx: &ToolContext) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let question = |text: &str| ElicitationRequest::new(text, schema.clone());
    let Some(responses) = InputResponses::of(ctx) else {
        return Err(InputRequests::new().elicit("first", question("First?")).suspend(()));
    };
    let first = responses.elicited("first")?;
    let second = ctx.require::<McpRequest>()?.elicit(question("Second?")).await?;
    Ok(format!("{} {}", first.content().unwrap()["a"], second.content().unwrap()["a"]))
}

fn server(release: &Arc<Notify>, tasks: Tasks) -> McpServer {
    let registry = Registry::try_from(tools![slow, broken, asks]).unwrap();
    let dispatcher = Dispatcher::new(registry).extension(Arc::clone(release));
    McpServer::new(dispatcher).tasks(tasks)
}

fn all() -> Tasks {
    Tasks::new().tools(["slow", "broken", "asks"])
}

async fn start(client: &mut Client, name: &str) -> String {
    let result = client.call(name, json!({})).await;
    assert_eq!(result["resultType"], "task", "{result}");
    result["taskId"].as_str().unwrap().to_owned()
}

/// Polls a task until it has a status. Polling instead of waiting is how the protocol works.
async fn poll(client: &mut Client, id: &str, status: &str) -> Value {
    for _ in 0..10_000 {
        let task = client.request("tasks/get", json!({ "taskId": id })).await["result"].clone();
        if task["status"] == status {
            return task;
        }
        tokio::task::yield_now().await;
    }
    panic!("the task never was {status}");
}

#[tokio::test]
async fn tasks_complete_fail_and_are_cancelled() {
    let release = Arc::<Notify>::default();
    let mut client = Client::connect(server(&release, all()), NEW).await;
    let id = start(&mut client, "slow").await;
    poll(&mut client, &id, "working").await;
    release.notify_one();
    let task = poll(&mut client, &id, "completed").await;
    assert_eq!(text(&task["result"]), "done");

    let id = start(&mut client, "broken").await;
    let task = poll(&mut client, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32603, "{task}");

    let id = start(&mut client, "slow").await;
    client.request("tasks/cancel", json!({ "taskId": id })).await;
    poll(&mut client, &id, "cancelled").await;
}

#[tokio::test]
async fn tasks_ask_through_their_state() {
    let mut client = Client::connect(server(&Arc::default(), all()), NEW).await;
    let id = start(&mut client, "asks").await;
    for expected in ["First?", "Second?"] {
        let task = poll(&mut client, &id, "input_required").await;
        let (key, question) = task["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["params"]["message"], expected);
        let answer = json!({ "action": "accept", "content": { "a": expected } });
        let answers = json!({ "taskId": id, "inputResponses": { key: answer } });
        client.request("tasks/update", answers).await;
    }
    let task = poll(&mut client, &id, "completed").await;
    assert_eq!(text(&task["result"]), r#""First?" "Second?""#);
}

#[tokio::test]
async fn clients_without_tasks_get_results_or_errors() {
    let only_elicitation = json!({ "elicitation": {} });
    let server = |tasks| server(&Arc::default(), tasks);
    let call = json!({ "name": "broken", "arguments": {} });
    let mut client = Client::with(server(all()), NEW, only_elicitation.clone()).await;
    assert_eq!(client.request("tools/call", call.clone()).await["error"]["code"], -32603);

    let required = Tasks::new().required_tools(["broken"]);
    let mut client = Client::with(server(required), NEW, only_elicitation).await;
    assert_eq!(client.request("tools/call", call).await["error"]["code"], -32021);
}

#[tokio::test]
async fn tasks_are_limited_and_forgotten() {
    tokio::time::pause();
    let release = Arc::<Notify>::default();
    let tasks = all().max_tasks(2).lifetime(Duration::from_secs(60));
    let mut client = Client::connect(server(&release, tasks), NEW).await;
    let first = start(&mut client, "broken").await;
    start(&mut client, "broken").await;
    let call = json!({ "name": "broken", "arguments": {} });
    let refused = client.request("tools/call", call).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");

    tokio::time::advance(Duration::from_secs(121)).await;
    tokio::task::yield_now().await;
    start(&mut client, "broken").await;
    let forgotten = client.request("tasks/get", json!({ "taskId": first })).await;
    assert_eq!(forgotten["error"]["code"], -32602, "{forgotten}");
}

#[tokio::test]
async fn longest_duration_of_each_setting_is_no_limit() {
    let longest = Duration::MAX;
    let limits = Limits::default();
    let limits = limits.idle_timeout(longest).send_timeout(longest).answer_timeout(longest);
    let server = server(&Arc::default(), all().lifetime(longest)).limits(limits);
    let mut client = Client::connect(server, NEW).await;
    let params = json!({ "name": "broken", "arguments": {} });
    let task = client.request("tools/call", params).await["result"].clone();
    assert_eq!(task["ttlMs"], json!(null), "{task}");
    let polled = client.request("tasks/get", json!({ "taskId": task["taskId"] })).await;
    assert_eq!(polled["result"]["taskId"], task["taskId"], "{polled}");
}

#[tokio::test]
async fn tools_after_input_become_tasks_when_they_are_answered() {
    let tasks = Tasks::new().tools_after_input(["asks"]);
    let mut client = Client::connect(server(&Arc::default(), tasks), NEW).await;
    let pending = client.call("asks", json!({})).await;
    assert_eq!(pending["resultType"], "input_required", "{pending}");
    let answer = json!({ "action": "accept", "content": { "a": "A" } });
    let retry = json!({
        "name": "asks",
        "arguments": {},
        "requestState": pending["requestState"],
        "inputResponses": { "first": answer },
    });
    let task = client.request("tools/call", retry).await["result"].clone();
    assert_eq!(task["resultType"], "task", "{task}");
}
