//! HTTP: sessions, principals, limits and the validation of headers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tool_mcp::McpServer;
use tool_mcp::server::{Access, Denied, InputRequests, InputResponses, Limits, McpRequest, Tasks};
use tool_runtime::{CancellationToken, Effect, Registry, ToolContext, ToolError, tool, tools};
use tower::ServiceExt;

use crate::client::{NEW, OLD, all_capabilities, text};

/// Returns who calls.
#[tool(effect = "read")]
async fn whoami(ctx: &ToolContext) -> Result<String, ToolError> {
    let principal = ctx.require::<McpRequest>()?.principal().unwrap_or("guest").to_owned();
    Ok(format!("{principal} of {}", ctx.metadata().get("tenant").unwrap_or(&Value::Null)))
}

/// Changes something.
#[tool]
async fn change() -> &'static str {
    "changed"
}

/// Asks for the folders.
#[tool(effect = "read")]
async fn folders(ctx: &ToolContext) -> Result<String, ToolError> {
    match InputResponses::of(ctx) {
        None => Err(InputRequests::new().roots("folders").suspend(())),
        Some(responses) => Ok(responses.roots("folders")?.join(",")),
    }
}

fn authenticate(registry: &Registry) -> impl Fn(&Parts) -> Result<Access, Denied> + use<> {
    let read_only = registry.filter(|tool| tool.definition().effect == Effect::Read);
    move |request| match request.headers.get("authorization").map(|it| it.as_bytes()) {
        Some(b"Bearer ada") => Ok(Access::new("Ada").metadata("tenant", "acme")),
        Some(b"Bearer bob") => Ok(Access::new("Bob").registry(read_only.clone())),
        Some(_) => Err(Denied::forbidden()),
        None => Err(Denied::unauthorized("Bearer realm=\"test\"")),
    }
}

fn server() -> McpServer {
    let registry = Registry::try_from(tools![whoami, change, folders]).unwrap();
    let authenticate = authenticate(&registry);
    McpServer::new(registry).authenticate(authenticate)
}

/// The id of the next request. Requests of one session must differ.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// A client of a router.
pub(crate) struct Http {
    router: Router,
    token: Option<&'static str>,
    session: Option<String>,
    revision: &'static str,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    /// The last message of the stream, or the body.
    pub(crate) message: Value,
}

impl Reply {
    pub(crate) async fn read(response: Response<Body>) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let body = String::from_utf8(body.into()).unwrap();
        let mut data = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let last = data.rfind(|data| !data.is_empty()).unwrap_or(&body);
        let message = serde_json::from_str(last).unwrap_or_else(|_| Value::from(last));
        Self { status, headers, message }
    }
}

impl Http {
    pub(crate) fn new(
        router: &Router,
        token: Option<&'static str>,
        revision: &'static str,
    ) -> Self {
        Self { router: router.clone(), token, session: None, revision }
    }

    pub(crate) fn request(&self, method: Method, body: impl Into<Body>) -> Request<Body> {
        let mut request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
        for (name, value) in [
            ("authorization", self.token.map(|token| format!("Bearer {token}"))),
            ("mcp-session-id", self.session.clone()),
            ("mcp-protocol-version", Some(self.revision.to_owned())),
            ("content-type", Some("application/json".to_owned())),
            ("accept", Some("application/json, text/event-stream".to_owned())),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.body(body.into()).unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        Reply::read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn post(&self, method: &str, params: Value) -> Reply {
        self.send(self.message(method, params)).await
    }

    /// Opens the stream of a session.
    pub(crate) async fn open_stream(&self) -> Response<Body> {
        let mut request = self.request(Method::GET, Body::empty());
        request.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) fn message(&self, method: &str, mut params: Value) -> Request<Body> {
        let mut headers = HeaderMap::new();
        if self.revision == NEW {
            let key = |name: &str| format!("io.modelcontextprotocol/{name}");
            params["_meta"][key("protocolVersion")] = NEW.into();
            params["_meta"][key("clientInfo")] = json!({ "name": "test", "version": "1" });
            params["_meta"][key("clientCapabilities")] = all_capabilities();
            let name = ["name", "taskId", "uri"].iter().find_map(|key| params.get(*key));
            if let Some(name) = name.and_then(Value::as_str) {
                headers.insert("mcp-name", name.parse().unwrap());
            }
            headers.insert("mcp-method", method.parse().unwrap());
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut request = self.request(Method::POST, message.to_string());
        request.headers_mut().extend(headers);
        request
    }

    async fn call(&self, name: &str) -> Value {
        let reply = self.post("tools/call", json!({ "name": name, "arguments": {} })).await;
        reply.message["result"].clone()
    }

    pub(crate) async fn initialize(&mut self) -> Reply {
        self.initialize_with(json!({})).await
    }

    /// Starts a session with these capabilities.
    pub(crate) async fn initialize_with(&mut self, capabilities: Value) -> Reply {
        let info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": OLD, "capabilities": capabilities, "clientInfo": info });
        let reply = self.post("initialize", params).await;
        let session = reply.headers.get("mcp-session-id");
        self.session = session.map(|id| id.to_str().unwrap().to_owned());
        reply
    }
}

#[tokio::test]
async fn tools_are_called_in_both_revisions() {
    let router = server().router();
    let mut old = Http::new(&router, Some("ada"), OLD);
    assert_eq!(old.initialize().await.status, StatusCode::OK);
    assert_eq!(text(&old.call("whoami").await), r#"Ada of "acme""#);
    let new = Http::new(&router, Some("ada"), NEW);
    assert_eq!(text(&new.call("whoami").await), r#"Ada of "acme""#);
}

#[tokio::test]
async fn unauthenticated_requests_are_refused() {
    let router = server().router();
    for (token, status) in [(None, 401), (Some("eve"), 403)] {
        for revision in [OLD, NEW] {
            let mut client = Http::new(&router, token, revision);
            let reply = client.initialize().await;
            assert_eq!(reply.status.as_u16(), status);
            let challenge = reply.headers.get("www-authenticate").map(|it| it.as_bytes());
            assert_eq!(challenge, (status == 401).then_some(&b"Bearer realm=\"test\""[..]));
        }
    }
}

#[tokio::test]
async fn principals_see_and_call_only_their_view() {
    let router = server().router();
    for revision in [OLD, NEW] {
        for (token, expected) in
            [("ada", &["change", "folders", "whoami"][..]), ("bob", &["folders", "whoami"])]
        {
            let mut client = Http::new(&router, Some(token), revision);
            if revision == OLD {
                client.initialize().await;
            }
            let listed = client.post("tools/list", json!({})).await.message;
            let tools = listed["result"]["tools"].as_array().unwrap().iter();
            assert_eq!(tools.map(|tool| &tool["name"]).collect::<Vec<_>>(), expected);
            let reply = client.post("tools/call", json!({ "name": "change" })).await.message;
            assert_eq!(reply["error"]["code"] == -32602, token == "bob", "{reply}");
        }
    }
}

#[tokio::test]
async fn sessions_states_and_tasks_belong_to_their_principal() {
    let router = server().tasks(Tasks::new().tools(["whoami"])).router();
    let mut ada = Http::new(&router, Some("ada"), OLD);
    ada.initialize().await;
    let mut bob = Http::new(&router, Some("bob"), OLD);
    bob.session.clone_from(&ada.session);
    for method in [Method::GET, Method::DELETE] {
        let reply = bob.send(bob.request(method, Body::empty())).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(bob.post("tools/list", json!({})).await.status, StatusCode::NOT_FOUND);
    assert_eq!(ada.post("tools/list", json!({})).await.status, StatusCode::OK);

    let (ada, bob) = (Http::new(&router, Some("ada"), NEW), Http::new(&router, Some("bob"), NEW));
    let pending = ada.call("folders").await;
    let roots = json!({ "roots": [{ "uri": "file:///a" }] });
    let retry = json!({
        "name": "folders",
        "arguments": {},
        "requestState": pending["requestState"],
        "inputResponses": { "folders": roots },
    });
    let stolen = bob.post("tools/call", retry.clone()).await.message;
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let reply = ada.post("tools/call", retry).await.message;
    assert_eq!(text(&reply["result"]), "file:///a");

    let task = ada.call("whoami").await["taskId"].clone();
    for method in ["tasks/get", "tasks/cancel"] {
        let stolen = bob.post(method, json!({ "taskId": task })).await.message;
        assert_eq!(stolen["error"]["code"], -32602, "{method}: {stolen}");
    }
    let reply = ada.post("tasks/get", json!({ "taskId": task })).await.message;
    assert_eq!(reply["result"]["taskId"], task, "{reply}");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let default = McpServer::new(tools![whoami]).router();
    let public = McpServer::new(tools![whoami])
        .allowed_hosts(["mcp.example.org"])
        .allowed_origins(["https://example.org"])
        .router();
    for (router, host, origin, is_allowed) in [
        (&default, "localhost:3001", None, true),
        (&default, "127.0.0.1", Some("http://127.0.0.1:8080"), true),
        (&default, "[::1]:1", Some("http://[::1]:2"), true),
        (&default, "localhost", Some("https://localhost"), true),
        (&default, "evil.example", None, false),
        (&default, "localhost", Some("https://evil.example"), false),
        (&default, "localhost", Some("null"), false),
        (&public, "mcp.example.org", Some("https://example.org"), true),
        (&public, "mcp.example.org", Some("http://localhost"), false),
        (&public, "localhost", None, false),
    ] {
        let client = Http::new(router, None, OLD);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": OLD, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        } });
        let mut request = client.request(Method::POST, message.to_string());
        request.headers_mut().insert("host", host.parse().unwrap());
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        let status = client.send(request).await.status;
        assert_eq!(status.is_success(), is_allowed, "{host} {origin:?} {status}");
    }
}

#[tokio::test]
async fn floods_of_sessions_end_at_the_limit() {
    let router = McpServer::new(tools![whoami]).limits(Limits::default().max_sessions(20)).router();
    let mut sessions = Vec::new();
    let mut refused = 0;
    for _ in 0..500 {
        let mut client = Http::new(&router, None, OLD);
        let reply = client.initialize().await;
        match reply.status {
            StatusCode::OK => sessions.push(client),
            StatusCode::SERVICE_UNAVAILABLE => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((sessions.len(), refused), (20, 480));
    // Clients without a session are served on, and an ended session makes room.
    let stateless = Http::new(&router, None, NEW);
    assert_eq!(text(&stateless.call("whoami").await), "guest of null");
    let first = &sessions[0];
    assert!(first.send(first.request(Method::DELETE, Body::empty())).await.status.is_success());
    assert_eq!(Http::new(&router, None, OLD).initialize().await.status, StatusCode::OK);
}

#[tokio::test]
async fn idle_session_ends_and_makes_room() {
    tokio::time::pause();
    let limits = Limits::default().max_sessions(1).idle_timeout(Duration::from_secs(60));
    let router = McpServer::new(tools![whoami]).limits(limits).router();
    let (mut first, mut second) = (Http::new(&router, None, OLD), Http::new(&router, None, OLD));
    assert_eq!(first.initialize().await.status, StatusCode::OK);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(first.post("tools/list", json!({})).await.status, StatusCode::OK);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(second.initialize().await.status, StatusCode::SERVICE_UNAVAILABLE);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(first.post("tools/list", json!({})).await.status, StatusCode::NOT_FOUND);
    assert_eq!(second.initialize().await.status, StatusCode::OK);
}

#[tokio::test]
async fn bodies_over_the_limit_and_slow_ones_are_refused() {
    tokio::time::pause();
    let router =
        McpServer::new(tools![whoami]).limits(Limits::default().max_message_bytes(1000)).router();
    let client = Http::new(&router, None, OLD);
    let long = client.request(Method::POST, "x".repeat(1001));
    assert_eq!(client.send(long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let never = Body::from_stream(futures_util::stream::pending::<Result<&str, std::io::Error>>());
    let slow = client.request(Method::POST, never);
    assert_eq!(client.send(slow).await.status, StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn open_streams_count_as_requests() {
    let router = McpServer::new(tools![whoami]).limits(Limits::default().max_requests(2)).router();
    let mut client = Http::new(&router, None, OLD);
    client.initialize().await;
    let open = |client: &Http| {
        let mut request = client.request(Method::GET, Body::empty());
        request.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
        client.router.clone().oneshot(request)
    };
    let streams = [open(&client).await.unwrap(), open(&client).await.unwrap()];
    assert_eq!(streams.each_ref().map(|it| it.status()), [StatusCode::OK; 2]);
    assert_eq!(open(&client).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(streams);
    assert_eq!(open(&client).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn cancelled_server_ends_its_streams() {
    let stop = CancellationToken::new();
    let router = McpServer::new(tools![whoami]).cancellation(stop.clone()).router();
    let mut client = Http::new(&router, None, OLD);
    client.initialize().await;
    let mut request = client.request(Method::GET, Body::empty());
    request.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
    let stream = router.oneshot(request).await.unwrap();
    stop.cancel();
    to_bytes(stream.into_body(), 1 << 20).await.unwrap();
}
