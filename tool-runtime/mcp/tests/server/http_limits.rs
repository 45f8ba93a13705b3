//! Clients over HTTP at their limits: what they can still do, and what others can.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use futures_util::FutureExt;
use futures_util::stream::{StreamExt, pending};
use serde_json::{Value, json};
use tool_mcp::McpServer;
use tool_mcp::server::{Access, Denied, Limits, Tasks};
use tool_runtime::{tool, tools};
use tower::ServiceExt;

use crate::client::{NEW, OLD};
use crate::http::{Http, Reply};

/// Never ends by itself.
#[tool(effect = "read")]
async fn wait() {
    std::future::pending::<()>().await;
}

/// Deletes a file.
#[tool(permission = "ask")]
async fn delete() -> &'static str {
    "deleted"
}

fn authenticate(request: &Parts) -> Result<Access, Denied> {
    let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let name = token.and_then(|token| token.strip_prefix("Bearer "));
    name.map(Access::new).ok_or_else(Denied::forbidden)
}

fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// Sends a message that is no request, and returns the status.
async fn post(client: &Http, message: String) -> StatusCode {
    client.send(client.request(Method::POST, message)).await.status
}

async fn session(router: &Router, token: Option<&'static str>) -> Http {
    let mut client = Http::new(router, token, OLD);
    client.initialize_with(json!({ "elicitation": {} })).await;
    let initialized = notification("notifications/initialized", &json!({}));
    assert_eq!(post(&client, initialized).await, StatusCode::ACCEPTED);
    client
}

/// Waits until no request of a principal runs, since the server handles notifications in the
/// background.
async fn settled(client: &Http) {
    while client.post("tools/list", json!({})).await.status != StatusCode::OK {
        tokio::task::yield_now().await;
    }
}

/// Starts a call, and returns its id and its response, which has begun.
async fn start(router: &Router, client: &Http, tool: &str) -> (Value, axum::response::Response) {
    let request = client.message("tools/call", json!({ "name": tool, "arguments": {} }));
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let id = serde_json::from_slice::<Value>(&body).unwrap()["id"].clone();
    let request = axum::http::Request::from_parts(parts, Body::from(body));
    (id, router.clone().oneshot(request).await.unwrap())
}

#[tokio::test]
async fn client_at_its_limit_can_cancel_and_close() {
    // The limit of the principal, and that of all.
    for (limits, token) in [
        (Limits::default().max_requests(8).max_requests_per_principal(2), Some("ada")),
        (Limits::default().max_requests(2), None),
    ] {
        let server = McpServer::new(tools![wait]).limits(limits);
        let server = if token.is_some() { server.authenticate(authenticate) } else { server };
        let router = server.router();
        let client = session(&router, token).await;
        let (id, first) = start(&router, &client, "wait").await;
        let (_, _second) = start(&router, &client, "wait").await;
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        assert_eq!(client.post("tools/list", json!({})).await.status, busy);
        assert_eq!(client.open_stream().await.status(), busy);
        assert_eq!(post(&client, "junk".to_owned()).await, busy);

        let cancelled = notification("notifications/cancelled", &json!({ "requestId": id }));
        assert_eq!(post(&client, cancelled).await, StatusCode::ACCEPTED);
        Reply::read(first).await;
        while client.post("tools/list", json!({})).await.status == busy {
            tokio::task::yield_now().await;
        }

        let (_, _third) = start(&router, &client, "wait").await;
        assert_eq!(client.post("tools/list", json!({})).await.status, busy);
        let closed = client.send(client.request(Method::DELETE, Body::empty())).await;
        assert_eq!(closed.status, StatusCode::NO_CONTENT);
    }
}

#[tokio::test]
async fn client_at_its_limit_can_answer_a_question() {
    let limits = Limits::default().max_requests_per_principal(1);
    let server = McpServer::new(tools![delete]).limits(limits).authenticate(authenticate);
    let router = server.router();
    let client = session(&router, Some("ada")).await;
    settled(&client).await;
    let (_, response) = start(&router, &client, "delete").await;
    let mut events = response.into_body().into_data_stream();
    let mut received = String::new();
    let question = loop {
        received
            .push_str(&String::from_utf8(events.next().await.unwrap().unwrap().into()).unwrap());
        let mut data = received.lines().filter_map(|line| line.strip_prefix("data:"));
        if let Some(line) = data.find(|line| line.contains("elicitation/create")) {
            break serde_json::from_str::<Value>(line).unwrap();
        }
    };
    assert_eq!(client.post("tools/list", json!({})).await.status, StatusCode::SERVICE_UNAVAILABLE);
    let content = json!({ "action": "accept", "content": { "approve": true } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": content });
    assert_eq!(post(&client, answer.to_string()).await, StatusCode::ACCEPTED);
    while let Some(event) = events.next().await {
        received.push_str(&String::from_utf8(event.unwrap().into()).unwrap());
    }
    assert!(received.contains("deleted"), "{received}");
}

#[tokio::test]
async fn client_at_its_limit_can_cancel_a_task() {
    let limits = Limits::default().max_requests_per_principal(1);
    let server = McpServer::new(tools![wait]).tasks(Tasks::new().tools(["wait"])).limits(limits);
    let router = server.authenticate(authenticate).router();
    let (client, old) = (Http::new(&router, Some("ada"), NEW), session(&router, Some("ada")).await);
    settled(&client).await;
    let task = client.post("tools/call", json!({ "name": "wait", "arguments": {} })).await.message;
    let id = json!({ "taskId": task["result"]["taskId"] });
    let stream = old.open_stream().await;
    assert_eq!(client.post("tasks/get", id.clone()).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(client.post("tasks/cancel", id.clone()).await.status, StatusCode::OK);
    drop(stream);
    loop {
        let state = client.post("tasks/get", id.clone()).await.message;
        if state["result"]["status"] == "cancelled" {
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// Bodies that never end take places as other requests do.
#[tokio::test]
async fn places_beyond_the_limit_can_not_be_taken_from_others() {
    tokio::time::pause();
    let limits = Limits::default().max_requests(100).max_requests_per_principal(2);
    let server = McpServer::new(tools![delete]).limits(limits).authenticate(authenticate);
    let router = server.router();
    let (ada, bob) = (Http::new(&router, Some("ada"), NEW), Http::new(&router, Some("bob"), NEW));
    let never = || Body::from_stream(pending::<Result<&str, std::io::Error>>());
    let slow = || router.clone().oneshot(ada.request(Method::POST, never()));
    let mut waiting = Vec::new();
    for _ in 0..10 {
        let mut sending = Box::pin(slow());
        assert!((&mut sending).now_or_never().is_none());
        waiting.push(sending);
    }
    assert_eq!(slow().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(bob.post("tools/list", json!({})).await.status, StatusCode::OK);
    tokio::time::sleep(Duration::from_secs(31)).await;
    for sending in waiting {
        assert_eq!(sending.await.unwrap().status(), StatusCode::REQUEST_TIMEOUT);
    }
    assert_eq!(ada.post("tools/list", json!({})).await.status, StatusCode::OK);
}
