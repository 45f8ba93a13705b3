//! Calls over HTTP that last: what they hold of the server, and what ends them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tool_mcp::McpServer;
use tool_mcp::server::Limits;
use tool_runtime::{Dispatcher, Registry, ToolContext, ToolError, tool, tools};
use tower::ServiceExt;

use crate::client::{OLD, text};
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
    let limits = Limits::default().idle(Duration::from_secs(60)).send_timeout(hour);
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
