//! A client that sends and receives JSON, so that tests see what is on the wire.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tool_mcp::McpServer;
use tool_mcp::server::ServeError;

pub(crate) const OLD: &str = "2025-11-25";
pub(crate) const NEW: &str = "2026-07-28";

/// Every capability that the server can make use of.
pub(crate) fn all_capabilities() -> Value {
    json!({
        "elicitation": {},
        "sampling": {},
        "roots": {},
        "extensions": { "io.modelcontextprotocol/tasks": {} },
    })
}

pub(crate) struct Client {
    lines: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    revision: &'static str,
    capabilities: Value,
    next_id: u64,
    /// Messages that were received while waiting for others.
    pub(crate) received: VecDeque<Value>,
    pub(crate) server: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    /// Starts a server and connects to it.
    pub(crate) async fn connect(server: McpServer, revision: &'static str) -> Self {
        Self::with(server, revision, all_capabilities()).await
    }

    pub(crate) async fn with(
        server: McpServer,
        revision: &'static str,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::raw(server, 1 << 16);
        client.revision = revision;
        client.capabilities = capabilities;
        if revision != NEW {
            let info = json!({ "name": "test", "version": "1" });
            let params = json!({
                "protocolVersion": revision,
                "capabilities": client.capabilities,
                "clientInfo": info,
            });
            let started = client.request("initialize", params).await;
            assert_eq!(started["result"]["protocolVersion"], revision, "{started}");
            client.notify("notifications/initialized", json!({})).await;
        }
        client
    }

    /// Connects without the messages that start a session.
    pub(crate) fn raw(server: McpServer, buffer: usize) -> Self {
        let (near, far) = duplex(buffer);
        let (reader, writer) = split(far);
        let server = tokio::spawn(server.serve(reader, writer));
        let (reader, writer) = split(near);
        Self {
            lines: BufReader::new(reader),
            writer,
            revision: OLD,
            capabilities: json!({}),
            next_id: 1,
            received: VecDeque::new(),
            server,
        }
    }

    fn params(&self, mut params: Value) -> Value {
        if self.revision == NEW {
            let key = |name: &str| format!("io.modelcontextprotocol/{name}");
            let meta = params.as_object_mut().unwrap().entry("_meta").or_insert(json!({}));
            meta[key("protocolVersion")] = NEW.into();
            meta[key("clientInfo")] = json!({ "name": "test", "version": "1" });
            meta[key("clientCapabilities")] = self.capabilities.clone();
        }
        params
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.write_all(bytes).await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.params(params);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a request and returns the response. Messages before it are kept.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.response(id).await
    }

    pub(crate) async fn response(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().await.expect("a response");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.received.push_back(message);
        }
    }

    /// Returns the next message that is no response awaited by `request`.
    pub(crate) async fn next(&mut self) -> Value {
        match self.received.pop_front() {
            Some(message) => message,
            None => self.read().await.expect("a message"),
        }
    }

    /// Answers a request of the server.
    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.request("tools/call", params).await["result"].clone()
    }

    pub(crate) async fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).await.unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Closes the connection and returns how the server ended.
    pub(crate) async fn close(self) -> Result<(), ServeError> {
        let Self { lines, mut writer, server, .. } = self;
        writer.shutdown().await.unwrap();
        drop((lines, writer));
        server.await.unwrap()
    }
}

/// Returns the text of a result with one text.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
