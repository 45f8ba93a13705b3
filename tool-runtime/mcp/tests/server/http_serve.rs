//! A server that accepts connections itself: its packets, its hosts, and what clients without a
//! principal can take.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tool_mcp::McpServer;
use tool_mcp::server::{Limits, ServeError, Tasks};
use tool_runtime::{CancellationToken, tool, tools};
use tower::ServiceExt as _;

use crate::client::{NEW, OLD};
use crate::http::Http;

/// Returns a text.
#[tool(effect = "none")]
async fn echo(text: String) -> String {
    text
}

/// Never ends by itself.
#[tool(effect = "read")]
async fn wait() {
    std::future::pending::<()>().await;
}

/// Sends a request on a kept-alive connection, and reads until the response contains `end`.
async fn exchange(stream: &mut TcpStream, head: &str, body: &str, end: &str) -> String {
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{head}content-type: application/json\r\naccept: application/json, \
         text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut received, mut buffer) = (String::new(), vec![0; 64 << 10]);
    while !received.contains(end) {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "closed after: {received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    received
}

fn message(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

async fn start(server: McpServer) -> (SocketAddr, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    tokio::spawn(server.cancellation(stop.clone()).serve_http(listener));
    (address, stop)
}

#[tokio::test]
async fn call_on_a_kept_alive_connection_does_not_wait_for_an_acknowledgement() {
    let (address, _stop) = start(McpServer::new(tools![echo])).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let host = "host: localhost\r\n";
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info });
    let end = "\r\n0\r\n\r\n";
    let started = exchange(&mut stream, host, &message(0, "initialize", &params), end).await;
    let session = started.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let head =
        format!("{host}mcp-session-id: {}\r\nmcp-protocol-version: {OLD}\r\n", session.trim());
    let mut shortest = Duration::MAX;
    for id in 1..=20 {
        let params = json!({ "name": "echo", "arguments": { "text": "hello" } });
        let since = Instant::now();
        let answer = exchange(&mut stream, &head, &message(id, "tools/call", &params), end).await;
        assert!(answer.contains("hello"), "{answer}");
        shortest = shortest.min(since.elapsed());
    }
    // The kernel would hold the end of each answer back for 40 ms.
    assert!(shortest < Duration::from_millis(30), "{shortest:?}");
}

#[tokio::test]
async fn server_ends_when_it_is_cancelled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stop = CancellationToken::new();
    let serving = McpServer::new(tools![echo]).cancellation(stop.clone()).serve_http(listener);
    stop.cancel();
    serving.await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let twice = McpServer::new(tools![echo, echo]).serve_http(listener).await;
    assert!(matches!(twice, Err(ServeError::Tools(_))), "{twice:?}");
}

#[tokio::test]
async fn request_that_names_several_hosts_is_refused() {
    let (address, _stop) = start(McpServer::new(tools![echo])).await;
    let host = "host: localhost\r\n";
    for (head, is_allowed) in [
        (host.to_owned(), true),
        (format!("host: {address}\r\n"), true),
        (format!("{host}{host}"), false),
        (format!("{host}Host: evil.example\r\n"), false),
        (format!("host: evil.example\r\n{host}"), false),
        ("host: localhost, evil.example\r\n".to_owned(), false),
        ("host: localhost@evil.example\r\n".to_owned(), false),
        ("host: localhost.evil.example\r\n".to_owned(), false),
        ("host: evil.example\r\n".to_owned(), false),
        ("host: \r\n".to_owned(), false),
        (String::new(), false),
        (format!("{host}origin: http://localhost\r\norigin: http://evil.example\r\n"), false),
        (format!("{host}origin: http://evil.example\r\n"), false),
        (format!("{host}content-type: text/plain\r\n"), false),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info });
        let body = message(1, "initialize", &params);
        let answer = exchange(&mut stream, &head, &body, "\r\n\r\n").await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), is_allowed, "{head:?}: {answer}");
        assert!(is_allowed || answer.starts_with("HTTP/1.1 40"), "{head:?}: {answer}");
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    let absolute = format!(
        "POST http://evil.example/mcp HTTP/1.1\r\n{host}content-type: application/json\r\n\
         content-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(absolute.as_bytes()).await.unwrap();
    let mut buffer = vec![0; 1024];
    let count = stream.read(&mut buffer).await.unwrap();
    let answer = String::from_utf8_lossy(&buffer[..count]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
}

/// Adds the connection of a peer to the requests of a client.
fn from(client: &Http, peer: &str, method: &str, params: Value) -> Request<Body> {
    let mut request = client.message(method, params);
    request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
    request
}

async fn status(router: &Router, request: Request<Body>) -> StatusCode {
    router.clone().oneshot(request).await.unwrap().status()
}

fn initialize() -> Value {
    let info = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info })
}

#[tokio::test]
async fn client_without_a_principal_can_not_take_the_sessions_of_others() {
    // One connection has a quarter, and one address has half.
    for (peers, expected) in [
        (["192.0.2.1:1", "192.0.2.1:1"], 4),
        (["192.0.2.1:1", "192.0.2.1:2"], 8),
        (["[2001:db8::1]:1", "[2001:db8::2]:2"], 8),
        (["[::ffff:192.0.2.1]:1", "192.0.2.1:2"], 8),
    ] {
        let router =
            McpServer::new(tools![echo]).limits(Limits::default().max_sessions(16)).router();
        let client = Http::new(&router, None, OLD);
        let mut started = 0;
        for number in 0..60 {
            let request = from(&client, peers[number % 2], "initialize", initialize());
            started += usize::from(status(&router, request).await == StatusCode::OK);
        }
        assert_eq!(started, expected, "{peers:?}");
        for other in ["192.0.2.2:1", "[2001:db8:1::1]:1"] {
            let request = from(&client, other, "initialize", initialize());
            assert_eq!(status(&router, request).await, StatusCode::OK, "{other}");
        }
    }
}

#[tokio::test]
async fn client_without_a_principal_can_not_take_the_requests_of_others() {
    let router = McpServer::new(tools![wait]).limits(Limits::default().max_requests(16)).router();
    let mut client = Http::new(&router, None, OLD);
    assert_eq!(client.initialize().await.status, StatusCode::OK);
    let call = || json!({ "name": "wait", "arguments": {} });
    let mut running = Vec::new();
    for (peer, expected) in [("192.0.2.1:1", 4), ("192.0.2.1:2", 8), ("192.0.2.1:3", 8)] {
        for _ in 0..12 {
            let request = from(&client, peer, "tools/call", call());
            let response = router.clone().oneshot(request).await.unwrap();
            if response.status() == StatusCode::OK {
                running.push(response);
            }
        }
        assert_eq!(running.len(), expected, "{peer}");
    }
    let request = from(&client, "192.0.2.2:1", "tools/list", json!({}));
    assert_eq!(status(&router, request).await, StatusCode::OK);
    drop(running);
}

#[tokio::test]
async fn client_without_a_principal_can_not_take_the_tasks_of_others() {
    let tasks = Tasks::new().tools(["wait"]).max_tasks_per_principal(3);
    let router = McpServer::new(tools![wait]).tasks(tasks).router();
    let client = Http::new(&router, None, NEW);
    for (peer, expected) in [("192.0.2.1:1", 3), ("192.0.2.1:2", 0), ("192.0.2.2:1", 3)] {
        let mut started = 0;
        for _ in 0..5 {
            let params = json!({ "name": "wait", "arguments": {} });
            let reply = client.send(from(&client, peer, "tools/call", params)).await.message;
            started += usize::from(reply["result"]["taskId"].is_string());
        }
        assert_eq!(started, expected, "{peer}");
    }
}

#[tokio::test]
async fn client_at_the_limit_of_its_address_can_still_end_its_session() {
    let limits = Limits::default().max_requests(4);
    let router = McpServer::new(tools![wait]).limits(limits).router();
    let mut client = Http::new(&router, None, OLD);
    assert_eq!(client.initialize().await.status, StatusCode::OK);
    let call = || json!({ "name": "wait", "arguments": {} });
    let mut running = Vec::new();
    for port in 1..=2 {
        let request = from(&client, &format!("192.0.2.1:{port}"), "tools/call", call());
        running.push(router.clone().oneshot(request).await.unwrap());
    }
    let refused = from(&client, "192.0.2.1:3", "tools/list", json!({}));
    assert_eq!(status(&router, refused).await, StatusCode::SERVICE_UNAVAILABLE);
    let mut end = client.request(Method::DELETE, Body::empty());
    end.extensions_mut().insert(ConnectInfo::<SocketAddr>("192.0.2.1:3".parse().unwrap()));
    assert_eq!(status(&router, end).await, StatusCode::NO_CONTENT);
}
