//! Measures calls over HTTP on a kept-alive connection, with and without `TCP_NODELAY`.
//!
//! Without it, the kernel of the server holds the end of each answer back until the client has
//! acknowledged the beginning, which the kernel of the client delays by 40 ms.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tool_mcp::McpServer;
use tool_runtime::{tool, tools};

const CALLS: usize = 50;

const OLD: &str = "2025-11-25";

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Sends a request and reads its answer, which ends with an empty chunk.
async fn exchange(
    stream: &mut TcpStream,
    session: &str,
    id: usize,
    method: &str,
    params: Value,
) -> String {
    let body =
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\n{session}content-type: application/json\r\naccept: \
         application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("a connection");
    let (mut received, mut buffer) = (String::new(), vec![0; 16 << 10]);
    while !received.ends_with("\r\n0\r\n\r\n") {
        let count = stream.read(&mut buffer).await.expect("an answer");
        assert!(count > 0, "closed after: {received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    received
}

/// Returns the median time of a call.
async fn measure(address: SocketAddr) -> Duration {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let info = json!({ "name": "bench", "version": "1" });
    let params = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info });
    let started = exchange(&mut stream, "", 0, "initialize", params).await;
    let session = started.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = format!(
        "mcp-session-id: {}\r\nmcp-protocol-version: {OLD}\r\n",
        session.expect("a session").trim()
    );
    let mut times = Vec::new();
    for id in 1..=CALLS {
        let params = json!({ "name": "add", "arguments": { "a": 20, "b": 22 } });
        let since = Instant::now();
        let answer = exchange(&mut stream, &session, id, "tools/call", params).await;
        times.push(since.elapsed());
        assert!(answer.contains("42"), "{answer}");
    }
    times.sort();
    times[CALLS / 2]
}

#[tokio::main]
async fn main() {
    let server = || McpServer::new(tools![add]);
    let listen = || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        (listener, address)
    };
    println!("| server | ms a call |");
    println!("|---|---|");
    let (listener, address) = listen().await;
    tokio::spawn(server().serve_http(listener));
    println!("| `serve_http` | {:.1} |", measure(address).await.as_secs_f64() * 1e3);
    let (listener, address) = listen().await;
    let router = server().router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    println!(
        "| `router`, without `TCP_NODELAY` | {:.1} |",
        measure(address).await.as_secs_f64() * 1e3
    );
}
