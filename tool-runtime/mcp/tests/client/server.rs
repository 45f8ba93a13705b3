//! A scripted server: a function answers each message.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tool_mcp::{McpClient, McpConnection};
use tool_runtime::{Dispatcher, Registry, ToolCall, ToolExecution};

/// A reaction of a server to a message.
pub(crate) enum Action {
    /// Sends a message.
    Send(Value),
    /// Sends bytes as they are.
    Raw(Vec<u8>),
    /// Closes the connection.
    Close,
}

/// Answers a message of a client.
type Script = dyn FnMut(&Value) -> Vec<Action> + Send;

/// A server that answers each connection with a separate script.
#[derive(Clone, Default)]
pub(crate) struct Server {
    received: Arc<Mutex<Vec<Value>>>,
    /// Sends to the newest connection.
    sender: Arc<Mutex<Option<mpsc::UnboundedSender<Action>>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    /// Returns a client of a server whose connections run the scripts that `script` returns.
    pub(crate) fn client(
        &self,
        script: impl Fn(usize) -> Box<Script> + Send + Sync + 'static,
    ) -> McpClient {
        let server = self.clone();
        McpClient::streams(move || {
            let number = {
                let mut count = server.connections.lock().unwrap();
                *count += 1;
                *count
            };
            let (client, peer) = tokio::io::duplex(64 << 10);
            tokio::spawn(server.clone().run(peer, script(number)));
            async move { Ok(tokio::io::split(client)) }
        })
    }

    /// Returns a client of a server with one script for all connections.
    pub(crate) fn simple(
        &self,
        script: impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static,
    ) -> McpClient {
        self.client(move |_| Box::new(script.clone()))
    }

    /// Returns all messages with this method that the server received.
    pub(crate) fn received(&self, method: &str) -> Vec<Value> {
        let all = self.received.lock().unwrap();
        all.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Returns the answers of the client to requests of the server.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let all = self.received.lock().unwrap();
        all.iter().filter(|message| message.get("method").is_none()).cloned().collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// Sends a message on the newest connection.
    pub(crate) fn send(&self, action: Action) {
        self.sender.lock().unwrap().as_ref().unwrap().send(action).ok();
    }

    async fn run(self, stream: DuplexStream, mut script: Box<Script>) {
        let (reader, mut writer) = tokio::io::split(stream);
        let (sender, mut pushed) = mpsc::unbounded_channel();
        *self.sender.lock().unwrap() = Some(sender);
        let mut lines = BufReader::new(reader).lines();
        let mut actions = VecDeque::new();
        loop {
            while let Some(action) = actions.pop_front() {
                let bytes = match action {
                    Action::Send(message) => format!("{message}\n").into_bytes(),
                    Action::Raw(bytes) => bytes,
                    Action::Close => return,
                };
                if writer.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { return };
                    let message: Value = serde_json::from_str(&line).unwrap();
                    self.received.lock().unwrap().push(message.clone());
                    actions.extend(script(&message));
                }
                Some(action) = pushed.recv() => actions.push_back(action),
            }
        }
    }
}

/// Answers a request.
#[expect(clippy::needless_pass_by_value, reason = "callers build the value in place")]
pub(crate) fn answer(request: &Value, result: Value) -> Vec<Action> {
    vec![Action::Send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))]
}

/// Answers a request with an error.
pub(crate) fn error(request: &Value, code: i64, message: &str) -> Vec<Action> {
    let error = json!({ "code": code, "message": message });
    vec![Action::Send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))]
}

/// Creates a notification.
#[expect(clippy::needless_pass_by_value, reason = "callers build the value in place")]
pub(crate) fn notification(method: &str, params: Value) -> Action {
    Action::Send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Answers what belongs to the handshake of a revision; `None` for anything else.
pub(crate) fn handshake(message: &Value, is_modern: bool) -> Option<Vec<Action>> {
    let capabilities = json!({
        "tools": { "listChanged": true }, "resources": { "subscribe": true }, "prompts": {},
        "logging": {}, "completions": {},
    });
    let method = message["method"].as_str()?;
    match (method, is_modern) {
        ("server/discover", true) => Some(answer(
            message,
            json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            }),
        )),
        ("initialize", false) => Some(answer(
            message,
            json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": { "name": "scripted", "version": "1" },
            }),
        )),
        ("server/discover" | "initialize", _) => Some(error(message, -32601, "unknown method")),
        ("notifications/initialized" | "notifications/cancelled", _) => Some(Vec::new()),
        ("resources/subscribe" | "resources/unsubscribe", false) => {
            Some(answer(message, json!({})))
        }
        ("subscriptions/listen", true) => {
            let acknowledged = json!({
                "_meta": { "io.modelcontextprotocol/subscriptionId": message["id"] },
                "notifications": message["params"]["notifications"],
            });
            Some(vec![notification("notifications/subscriptions/acknowledged", acknowledged)])
        }
        _ => None,
    }
}

/// Creates a tool that takes any object.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object" } })
}

/// A script of a server with these tools, whose calls `call` answers.
pub(crate) fn with_tools(
    is_modern: bool,
    tools: Value,
    mut call: impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static,
) -> impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static {
    move |message| {
        if let Some(actions) = handshake(message, is_modern) {
            return actions;
        }
        match message["method"].as_str() {
            Some("tools/list") => answer(message, json!({ "tools": tools })),
            Some("tools/call") => call(message),
            _ => Vec::new(),
        }
    }
}

/// Answers a call with a text.
pub(crate) fn text(request: &Value, text: &str) -> Vec<Action> {
    answer(request, json!({ "content": [{ "type": "text", "text": text }] }))
}

/// A script of a server with one tool `go`, whose calls `call` answers.
pub(crate) fn with_go(
    is_modern: bool,
    call: impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static,
) -> impl FnMut(&Value) -> Vec<Action> + Clone + Send + Sync + 'static {
    with_tools(is_modern, json!([tool("go")]), call)
}

/// Connects a client under the name `s` to a new registry.
pub(crate) async fn connect(client: McpClient) -> (Registry, McpConnection) {
    let registry = Registry::new();
    let connection = client.connect("s", &registry).await.unwrap();
    (registry, connection)
}

/// Calls a tool through a dispatcher.
pub(crate) async fn call(registry: &Registry, name: &str, arguments: &str) -> ToolExecution {
    let call = ToolCall::new("1", name, arguments);
    Dispatcher::new(registry.clone()).dispatch(vec![call]).await.remove(0)
}

/// Returns the names under which models call the tools of a registry.
pub(crate) fn names(registry: &Registry) -> Vec<String> {
    let tools = registry.snapshot();
    tools.entries().map(|entry| entry.name().to_owned()).collect()
}

/// Lets other tasks run until a condition holds. The clock of a test that pauses it stands still.
pub(crate) async fn wait_until(mut holds: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "the condition holds");
        tokio::task::yield_now().await;
    }
}

/// Lets the paused clock of a test run until a condition holds.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    let started = tokio::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < std::time::Duration::from_secs(120), "the condition holds");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
