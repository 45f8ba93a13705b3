//! Calls over HTTP that last: what they hold of the server, and what ends them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tool_mcp::McpServer;
use tool_mcp::server::{Access, Authenticator, Denied, Limits, Tasks};
use tool_runtime::{
    CancellationToken, Dispatcher, Registry, ToolContext, ToolError, async_trait, tool, tools,
};
use tower::ServiceExt;

use crate::client::{NEW, OLD, text};
use crate::http::{Http, Reply};

/// Reports that a call has started, and lets calls end.
#[derive(Clone)]
struct Gate {
    started: Arc<Semaphore>,
    end: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        Self { started: Arc::new(Semaphore::new(0)), end: Arc::new(Semaphore::new(0)) }
    }

    async fn started(&self) {
        self.started.acquire().await.unwrap().forget();
    }
}

/// Waits at the gate.
#[tool(effect = "read")]
async fn wait(ctx: &ToolContext) -> Result<String, ToolError> {
    let gate = ctx.require::<Gate>()?;
    gate.started.add_permits(1);
    gate.end.acquire().await.unwrap().forget();
    Ok("done".into())
}

fn server(gate: &Gate) -> McpServer {
    let registry = Registry::try_from(tools![wait]).unwrap();
    McpServer::new(Dispatcher::new(registry).extension(gate.clone()))
}

fn authenticate(request: &Parts) -> Result<Access, Denied> {
    let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let name = token.and_then(|token| token.strip_prefix("Bearer "));
    name.map(Access::new).ok_or_else(Denied::forbidden)
}

fn call() -> Value {
    json!({ "name": "wait", "arguments": {} })
}

async fn session(router: &axum::Router, token: Option<&'static str>) -> Http {
    let mut client = Http::new(router, token, OLD);
    client.initialize().await;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let request = client.request(Method::POST, Body::from(initialized.to_string()));
    assert_eq!(client.send(request).await.status, StatusCode::ACCEPTED);
    client
}

/// A server whose sessions end after a minute, with one session.
async fn with_idle_time(gate: &Gate) -> (axum::Router, Http) {
    let hour = Duration::from_secs(3600);
    let limits = Limits::default().idle_timeout(Duration::from_secs(60)).send_timeout(hour);
    let router = server(gate).limits(limits).router();
    let client = session(&router, None).await;
    (router, client)
}

#[tokio::test]
async fn silent_call_keeps_its_session() {
    tokio::time::pause();
    for is_connected in [true, false] {
        let gate = Gate::new();
        let (router, client) = with_idle_time(&gate).await;
        let request = client.message("tools/call", call());
        let response = router.clone().oneshot(request).await.unwrap();
        gate.started().await;
        let response = is_connected.then_some(response);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::OK);
        gate.end.add_permits(1);
        // The call ends: a paused clock moves on only when nothing else does.
        sleep(Duration::from_secs(1)).await;
        if let Some(response) = response {
            let reply = Reply::read(response).await;
            assert_eq!(text(&reply.message["result"]), "done");
        }
        sleep(Duration::from_secs(61)).await;
        assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn open_stream_keeps_its_session() {
    tokio::time::pause();
    let (_router, client) = with_idle_time(&Gate::new()).await;
    let stream = client.open_stream().await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::OK);
    drop(stream);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn abandoned_calls_count_for_their_principal() {
    let gate = Gate::new();
    let limits = Limits::default().max_requests(4);
    let router = server(&gate).limits(limits).authenticate(authenticate).router();
    let ada = session(&router, Some("ada")).await;
    for _ in 0..2 {
        let request = ada.message("tools/call", call());
        drop(router.clone().oneshot(request).await.unwrap());
        gate.started().await;
    }
    let list = async |client: &Http| client.post("tools/list", json!({})).await.status;
    assert_eq!(list(&ada).await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(list(&Http::new(&router, Some("bob"), NEW)).await, StatusCode::OK);
    gate.end.add_permits(2);
    while list(&ada).await != StatusCode::OK {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn running_task_counts_as_no_request() {
    let gate = Gate::new();
    let limits = Limits::default().max_requests(2);
    let tasks = Tasks::new().tools(["wait"]);
    let server = server(&gate).limits(limits).tasks(tasks).authenticate(authenticate);
    let router = server.router();
    let ada = Http::new(&router, Some("ada"), NEW);
    let started = ada.post("tools/call", call()).await.message;
    gate.started().await;
    let params = json!({ "taskId": started["result"]["taskId"] });
    let task = ada.post("tasks/get", params).await;
    assert_eq!(task.message["result"]["status"], "working", "{started} {}", task.message);
}

/// Starts a call. Without a session, its response begins with its result.
async fn start(router: &axum::Router, client: &Http, gate: &Gate) -> JoinHandle<Reply> {
    let responding = router.clone().oneshot(client.message("tools/call", call()));
    let replying = tokio::spawn(async { Reply::read(responding.await.unwrap()).await });
    gate.started().await;
    replying
}

#[tokio::test]
async fn shutdown_waits_for_running_calls() {
    let (gate, stop) = (Gate::new(), CancellationToken::new());
    let router = server(&gate).cancellation(stop.clone()).router();
    let (old, new) = (session(&router, None).await, Http::new(&router, None, NEW));
    let stream = old.open_stream().await;
    let calls = [start(&router, &old, &gate).await, start(&router, &new, &gate).await];
    stop.cancel();
    for client in [&old, &new] {
        let refused = client.post("tools/list", json!({})).await.status;
        assert_eq!(refused, StatusCode::SERVICE_UNAVAILABLE);
    }
    gate.end.add_permits(2);
    for call in calls {
        let reply = call.await.unwrap();
        assert_eq!(text(&reply.message["result"]), "done");
    }
    // The stream of the session ends.
    Reply::read(stream).await;
}

#[tokio::test]
async fn shutdown_ends_calls_that_take_longer() {
    tokio::time::pause();
    let (gate, stop) = (Gate::new(), CancellationToken::new());
    let router = server(&gate).cancellation(stop.clone()).router();
    let old = session(&router, None).await;
    let call = start(&router, &old, &gate).await;
    let begin = Instant::now();
    stop.cancel();
    let reply = call.await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), 2);
    assert_eq!(reply.message["result"], Value::Null, "{}", reply.message);
}

#[tokio::test]
async fn responses_that_are_not_read_end() {
    tokio::time::pause();
    let gate = Gate::new();
    let limits = Limits::default().max_requests(2).send_timeout(Duration::from_secs(5));
    let router = server(&gate).limits(limits).router();
    let client = session(&router, None).await;
    let streams = [client.open_stream().await, client.open_stream().await];
    let mut bodies = streams.map(|stream| stream.into_body().into_data_stream());
    let [read, unread] = &mut bodies;
    // Both begin with an event, after which one client waits for the next, and the other does not.
    for body in [&mut *read, &mut *unread] {
        body.next().await.unwrap().unwrap();
    }
    assert!(read.next().now_or_never().is_none());
    sleep(Duration::from_secs(4)).await;
    assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::SERVICE_UNAVAILABLE);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::OK);
    assert!(unread.next().await.unwrap().is_err());
    assert!(read.next().now_or_never().is_none_or(|frame| frame.unwrap().is_ok()));
}

#[tokio::test]
async fn shutdown_ends_tasks_that_take_longer() {
    tokio::time::pause();
    for (seconds, is_running) in [(1, true), (3, false)] {
        let (gate, stop) = (Gate::new(), CancellationToken::new());
        let tasks = Tasks::new().tools(["wait"]);
        let router = server(&gate).tasks(tasks).cancellation(stop.clone()).router();
        let started = Http::new(&router, None, NEW).post("tools/call", call()).await.message;
        assert!(started["result"]["taskId"].is_string(), "{started}");
        gate.started().await;
        stop.cancel();
        sleep(Duration::from_secs(seconds)).await;
        // A running call takes the permit and ends.
        gate.end.add_permits(1);
        sleep(Duration::from_millis(500)).await;
        assert_eq!(gate.end.available_permits() == 0, is_running, "after {seconds} s");
    }
}

/// Never decides.
struct Hangs;

#[async_trait]
impl Authenticator for Hangs {
    async fn authenticate(&self, _: &Parts) -> Result<Access, Denied> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn authenticator_that_hangs_is_limited() {
    tokio::time::pause();
    let limits = Limits::default().max_requests(1);
    let router = server(&Gate::new()).limits(limits).authenticate(Hangs).router();
    for _ in 0..100 {
        let begin = Instant::now();
        let reply = Http::new(&router, None, NEW).post("tools/list", json!({})).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.message, "the authentication timed out");
        assert_eq!(begin.elapsed().as_secs(), 10);
    }
}
