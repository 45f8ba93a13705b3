//! Servers on HTTP: status codes at every step, sessions, headers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::any;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tool_mcp::{McpClient, McpConnection, McpError};
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{Dispatcher, Event, Registry, ToolCall, ToolErrorKind};

use crate::server::{Action, Server, answer, call, handshake, text, tool, wait_until, with_go};

/// The answer to a message: its status, headers and body. The status 0 stands for none at all.
pub(crate) type Reply = (u16, Vec<(&'static str, &'static str)>, String);

/// A server whose answers a function makes.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) headers: Arc<Mutex<Vec<HeaderMap>>>,
    methods: Arc<Mutex<Vec<String>>>,
}

impl HttpServer {
    /// Returns how many messages with this method the server received.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.methods.lock().unwrap().iter().filter(|received| *received == method).count()
    }
}

pub(crate) async fn serve(
    reply: impl Fn(&Value) -> Reply + Clone + Send + Sync + 'static,
) -> HttpServer {
    let headers = Arc::new(Mutex::new(Vec::new()));
    let methods = Arc::new(Mutex::new(Vec::new()));
    let (recorded, received) = (Arc::clone(&headers), Arc::clone(&methods));
    let handler = move |request: Request| {
        let (reply, recorded) = (reply.clone(), Arc::clone(&recorded));
        let received = Arc::clone(&received);
        async move {
            let (parts, body) = request.into_parts();
            if parts.method != "POST" {
                return respond((405, Vec::new(), String::new()));
            }
            recorded.lock().unwrap().push(parts.headers);
            let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            received.lock().unwrap().push(method);
            let reply = reply(&message);
            if reply.0 == 0 {
                std::future::pending::<()>().await;
            }
            respond(reply)
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route("/mcp", any(handler));
    tokio::spawn(async move { axum::serve(listener, app).await });
    HttpServer { url, headers, methods }
}

pub(crate) fn respond((status, headers, body): Reply) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

pub(crate) fn json_reply(actions: Vec<Action>) -> Reply {
    let Some(Action::Send(message)) = actions.into_iter().next() else {
        return (202, Vec::new(), String::new());
    };
    (200, vec![("content-type", "application/json")], message.to_string())
}

/// Answers as a server with the tool `go`, whose calls `on_call` answers.
pub(crate) fn good(message: &Value, is_modern: bool, on_call: impl Fn(&Value) -> Reply) -> Reply {
    match message["method"].as_str() {
        // Stays open in a real server.
        Some("subscriptions/listen") => (405, Vec::new(), String::new()),
        Some("tools/list") => {
            let list = json!({ "resultType": "complete", "tools": [tool("go")], "ttlMs": 0, "cacheScope": "private" });
            json_reply(answer(message, list))
        }
        Some("tools/call") => on_call(message),
        _ => json_reply(handshake(message, is_modern).unwrap_or_default()),
    }
}

pub(crate) async fn connect(client: McpClient) -> Result<(Registry, McpConnection), McpError> {
    let registry = Registry::new();
    let connection = client.connect("s", &registry).await?;
    Ok((registry, connection))
}

/// Returns the messages of progress of a call of a client that has a secret.
pub(crate) async fn progress_of_call(client: McpClient) -> Vec<String> {
    let (registry, _connection) = connect(client.bearer("bearer-secret")).await.unwrap();
    let recorder = Recorder::new(100);
    let dispatcher = Dispatcher::new(registry).observer(recorder.clone());
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "s__go", "{}")]).await;
    assert!(executions[0].is_success(), "{}", executions[0].result.text);
    let messages = |event: Event| match event.tool_event()? {
        ToolEvent::Progress { progress, .. } => progress.message.clone(),
        _ => None,
    };
    recorder.events().into_iter().filter_map(messages).collect()
}

#[tokio::test]
async fn both_revisions_are_spoken_over_http() {
    for is_modern in [true, false] {
        let server = serve(move |message| {
            good(message, is_modern, |call| json_reply(text(call, "over http")))
        })
        .await;
        let client = McpClient::http(&server.url).bearer("secret").header("x-tenant", "7");
        assert!(!format!("{client:?}").contains("secret"));
        let (registry, _) = connect(client).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("over http"), "{}", execution.result.text);
        for headers in server.headers.lock().unwrap().iter() {
            assert_eq!(headers["authorization"], "Bearer secret");
            assert_eq!(headers["x-tenant"], "7");
        }
    }
}

#[tokio::test]
async fn refused_discovery_of_any_kind_falls_back_to_a_fresh_handshake() {
    let html = "<html>Bad gateway</html>";
    let replies: [Reply; 8] = [
        (503, Vec::new(), String::new()),
        (500, Vec::new(), html.into()),
        (502, vec![("content-type", "text/html")], html.into()),
        (404, Vec::new(), "not found".into()),
        (400, vec![("content-type", "application/json")], "{}".into()),
        (200, vec![("content-type", "application/json")], "{}".into()),
        (200, vec![("content-type", "text/html")], html.into()),
        (200, vec![("content-type", "text/event-stream")], "data: junk\n\n".into()),
    ];
    for refused in replies {
        let status = refused.0;
        let server = serve(move |message| {
            if message["method"] == "server/discover" {
                refused.clone()
            } else {
                good(message, false, |call| json_reply(text(call, "ok")))
            }
        })
        .await;
        let client = McpClient::http(&server.url).connect_timeout(Duration::from_secs(4));
        let (registry, connection) = connect(client).await.unwrap();
        assert_eq!(connection.status().to_string(), "connected (2025-11-25)", "{status}");
        assert!(call(&registry, "s__go", "{}").await.result.error.is_none());
    }
}

#[tokio::test]
async fn one_failed_call_keeps_the_tools() {
    let kinds = [
        (503, ToolErrorKind::TransientFailure),
        (429, ToolErrorKind::TransientFailure),
        (500, ToolErrorKind::Indeterminate),
        (401, ToolErrorKind::Denied),
        (403, ToolErrorKind::Denied),
    ];
    let server = serve(|message| {
        good(message, true, |call| match call["params"]["arguments"]["status"].as_u64() {
            Some(status) => {
                let status = u16::try_from(status).unwrap();
                (status, vec![("retry-after", "7")], "sorry".into())
            }
            None => json_reply(text(call, "fine")),
        })
    })
    .await;
    let (registry, connection) = connect(McpClient::http(&server.url)).await.unwrap();
    for (status, kind) in kinds {
        let arguments = json!({ "status": status }).to_string();
        let execution = call(&registry, "s__go", &arguments).await;
        assert_eq!(execution.result.error.as_deref(), Some(kind.code()), "{status}");
        assert!(connection.status().is_connected(), "{status}");
        assert!(call(&registry, "s__go", "{}").await.result.text.contains("fine"));
    }
}

#[tokio::test]
async fn challenge_is_reported_without_a_second_attempt() {
    let server = serve(|_| {
        let challenge = ("www-authenticate", "Bearer resource_metadata=\"https://x\"");
        (401, vec![challenge], String::new())
    })
    .await;
    let error = connect(McpClient::http(&server.url)).await.unwrap_err();
    let McpError::AuthorizationRequired { challenge, .. } = error else { panic!("{error}") };
    assert_eq!(challenge.as_deref(), Some("Bearer resource_metadata=\"https://x\""));
    assert_eq!(server.headers.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn redirect_does_not_receive_the_token() {
    let other = serve(|message| good(message, true, |call| json_reply(text(call, "stolen")))).await;
    let location: &'static str = other.url.clone().leak();
    let server = serve(move |_| (307, vec![("location", location)], String::new())).await;
    assert!(connect(McpClient::http(&server.url).bearer("secret")).await.is_err());
    assert!(other.headers.lock().unwrap().is_empty());
}

#[tokio::test]
async fn oversized_body_fails_its_call() {
    let server =
        serve(|message| good(message, true, |call| json_reply(text(call, &"x".repeat(50_000)))))
            .await;
    let client = McpClient::http(&server.url).max_message_bytes(20_000);
    let (registry, connection) = connect(client).await.unwrap();
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.error.is_some());
    assert!(connection.status().is_connected());
}

/// The body of a response as JSON, and as an event.
fn bodies(message: &Value) -> [Reply; 2] {
    let event = format!("data: {message}\n\n");
    [("application/json", message.to_string()), ("text/event-stream", event)]
        .map(|(media_type, body)| (200, vec![("content-type", media_type)], body))
}

#[tokio::test]
async fn result_that_is_too_large_is_the_same_error_as_over_stdio() {
    let over_stdio = {
        let script = with_go(false, |call| text(call, &"x".repeat(50_000)));
        let client = Server::default().simple(script).max_message_bytes(20_000);
        let (registry, _connection) = crate::server::connect(client).await;
        call(&registry, "s__go", "{}").await.result
    };
    assert!(over_stdio.text.contains("too large"), "{}", over_stdio.text);
    for is_modern in [false, true] {
        for kind in 0..2 {
            let server = serve(move |message| {
                good(message, is_modern, |call| {
                    let Action::Send(answer) = text(call, &"x".repeat(50_000)).remove(0) else {
                        unreachable!()
                    };
                    bodies(&answer)[kind].clone()
                })
            })
            .await;
            let client = McpClient::http(&server.url).max_message_bytes(20_000);
            let (registry, connection) = connect(client).await.unwrap();
            let over_http = call(&registry, "s__go", "{}").await.result;
            assert_eq!(over_http.error, over_stdio.error, "{is_modern} {kind}");
            assert_eq!(over_http.text, over_stdio.text, "{is_modern} {kind}");
            assert!(connection.status().is_connected());
        }
    }
}

#[tokio::test]
async fn list_over_http_is_decoded_item_by_item() {
    let mark = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let mut deep = tool("deep");
    deep["inputSchema"]["x"] = "MARK".into();
    let mut malformed = tool("malformed");
    malformed["inputSchema"] = 7.into();
    let tools = json!([tool("a"), deep, malformed, tool("b"), tool("c"), tool("d")]);
    for is_modern in [false, true] {
        for kind in 0..2 {
            let (mark, tools) = (mark.clone(), tools.clone());
            let server = serve(move |message| {
                if message["method"] != "tools/list" {
                    return good(message, is_modern, |_| unreachable!());
                }
                let list = json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private",
                    "resultType": "complete" });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": list });
                let (status, headers, body) = bodies(&answer)[kind].clone();
                (status, headers, body.replace("\"MARK\"", &mark))
            })
            .await;
            let limits = tool_mcp::ListLimits::default().max_items(5);
            let client = McpClient::http(&server.url).list_limits(limits);
            let (_registry, connection) = connect(client).await.unwrap();
            let report = connection.tools().await;
            assert_eq!(report.registered, ["s__a", "s__b", "s__c"], "{is_modern} {kind}");
            let skipped: Vec<_> =
                report.skipped.iter().map(|tool| (tool.index, tool.name.as_deref())).collect();
            assert_eq!(skipped, [(1, Some("deep")), (2, Some("malformed"))]);
            assert!(report.is_truncated);
        }
    }
}

#[tokio::test]
async fn answer_of_another_id_over_http_is_not_taken() {
    let ids = [
        (|id: &Value| Value::from(id.to_string())) as fn(&Value) -> Value,
        |id| Value::from(format!("0{id}")),
        |id| Value::from(id.as_u64().unwrap() + 1_000),
        |id| Value::from(id.as_f64().unwrap() + 0.5),
        |id| json!([id]),
        |id| json!({ "id": id }),
        |_| Value::Null,
    ];
    let cases = ids.into_iter().flat_map(|id_of| [(id_of, 0), (id_of, 1)]);
    join_all(cases.map(async |(id_of, kind)| {
        let server = serve(move |message| {
            good(message, true, |call| {
                let stolen = json!({ "id": id_of(&call["id"]) });
                let Action::Send(answer) = text(&stolen, "wrong").remove(0) else { unreachable!() };
                bodies(&answer)[kind].clone()
            })
        })
        .await;
        let client = McpClient::http(&server.url).call_timeout(Duration::from_secs(2));
        let (registry, connection) = connect(client).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.error.is_some(), "{execution:?}");
        assert!(!execution.result.text.contains("wrong"), "{}", execution.result.text);
        assert!(connection.status().is_connected());
    }))
    .await;
}

#[tokio::test]
async fn expired_session_is_not_reported_as_an_unreachable_server() {
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"gone"}}"#;
    for (content_type, body) in [("text/plain", ""), ("application/json", error), ("a/b", "gone")] {
        let server = serve(move |message| match message["method"].as_str() {
            Some("initialize") => {
                let (status, mut headers, body) = good(message, false, |_| unreachable!());
                headers.push(("mcp-session-id", "7"));
                (status, headers, body)
            }
            Some("tools/call" | "resources/list") => {
                (404, vec![("content-type", content_type)], body.to_owned())
            }
            _ => good(message, false, |_| unreachable!()),
        })
        .await;
        for is_call in [true, false] {
            let reasons = Arc::new(Mutex::new(Vec::new()));
            let reported = Arc::clone(&reasons);
            let client = McpClient::http(&server.url).on_event(move |_, event| {
                if let tool_mcp::McpEvent::Disconnected { reason } = event {
                    reported.lock().unwrap().push(reason.clone());
                }
            });
            let (registry, connection) = connect(client).await.unwrap();
            let text = if is_call {
                let execution = call(&registry, "s__go", "{}").await;
                assert!(execution.result.error.is_some());
                execution.result.text.clone()
            } else {
                let error = connection.resources().await.unwrap_err();
                assert!(matches!(error, McpError::SessionExpired { .. }), "{error:?}");
                error.to_string()
            };
            assert!(!text.contains("can't be reached"), "{body}: {text}");
            let unreachable = |reason: &String| reason.contains("can't be reached");
            assert!(!reasons.lock().unwrap().iter().any(unreachable), "{body}: {reasons:?}");
        }
    }
}

/// The server expires its first session before a later request with the method.
#[tokio::test]
async fn request_is_repeated_in_a_new_session_after_the_first_one_expired() {
    for method in ["tools/call", "tools/list", "resources/list"] {
        let starts = Arc::new(AtomicUsize::new(0));
        let is_ended = Arc::new(AtomicBool::new(false));
        let (started, ended) = (Arc::clone(&starts), Arc::clone(&is_ended));
        let server = serve(move |message| {
            let is_first = started.load(Ordering::SeqCst) == 1;
            match message["method"].as_str() {
                Some("initialize") => {
                    let (status, mut headers, body) = good(message, false, |_| unreachable!());
                    let number = started.fetch_add(1, Ordering::SeqCst);
                    headers.push(("mcp-session-id", ["first", "second"][number]));
                    (status, headers, body)
                }
                Some(received)
                    if received == method && is_first && ended.load(Ordering::SeqCst) =>
                {
                    (404, Vec::new(), String::new())
                }
                Some("resources/list") => json_reply(answer(message, json!({ "resources": [] }))),
                _ => good(message, false, |call| json_reply(text(call, "done"))),
            }
        })
        .await;
        let (registry, connection) = connect(McpClient::http(&server.url)).await.unwrap();
        is_ended.store(true, Ordering::SeqCst);
        match method {
            "tools/call" => assert!(call(&registry, "s__go", "{}").await.is_success()),
            "tools/list" => assert_eq!(connection.refresh().await.unwrap().registered, ["s__go"]),
            _ => assert!(connection.resources().await.unwrap().is_empty()),
        }
        wait_until(|| starts.load(Ordering::SeqCst) == 2).await;
        connection.connected().await;
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("done"), "{method}: {}", execution.result.text);
    }
}

#[tokio::test]
async fn closed_port_is_named_with_the_cause_and_without_the_query() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = McpClient::http(format!("http://{address}/mcp?key=key-of-ada"));
    let error = client.connect("s", &Registry::new()).await.unwrap_err();
    assert!(matches!(error, McpError::Connect { .. }), "{error:?}");
    let text = error.to_string();
    let expected = format!("MCP server `s`: connection failed: can't connect to {address}: ");
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.to_lowercase().contains("connection refused"), "{text}");
    assert!(!text.contains("key-of-ada"), "{text}");
}

/// The SDK sends headers for arguments of the tools that it has seen in a list.
#[tokio::test]
async fn tools_of_a_streamed_list_have_the_headers_of_their_arguments() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    for before in [
        String::new(),
        ": a comment\n\n".to_owned(),
        "id: 1\ndata:\n\n".to_owned(),
        "retry: 1000\ndata:\n\n".to_owned(),
        "event: message\n".to_owned(),
        format!("data: {}\n\n", r#"{"jsonrpc":"2.0","id":"99","result":{}}"#),
    ] {
        for after in [String::new(), ": the end\n\n".to_owned(), format!("data: {log}\n\n")] {
            let (first, last) = (before.clone(), after.clone());
            let server = serve(move |message| {
                if message["method"] != "tools/list" {
                    return good(message, true, |call| json_reply(text(call, "done")));
                }
                let region = json!({ "type": "string", "x-mcp-header": "Region" });
                let schema = json!({ "type": "object", "properties": { "region": region } });
                let tool = json!({ "name": "go", "description": "Goes.", "inputSchema": schema });
                let list = json!({
                    "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private",
                });
                let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": list });
                let body = format!("{first}data: {response}\n\n{last}");
                (200, vec![("content-type", "text/event-stream")], body)
            })
            .await;
            let (registry, _connection) = connect(McpClient::http(&server.url)).await.unwrap();
            let execution = call(&registry, "s__go", r#"{"region": "eu"}"#).await;
            assert!(execution.is_success(), "{before:?}: {}", execution.result.text);
            let headers = server.headers.lock().unwrap();
            let regions = headers.iter().filter_map(|headers| headers.get("mcp-param-region"));
            assert_eq!(regions.collect::<Vec<_>>(), ["eu"], "{before:?} {after:?}");
        }
    }
}
