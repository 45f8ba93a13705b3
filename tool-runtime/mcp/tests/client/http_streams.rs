//! Servers on HTTP whose streams of events end, fail or demand no delay.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use axum::routing::get;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tool_mcp::{McpClient, McpEvent};

use crate::http::{connect, good, json_reply, respond};
use crate::server::{answer, call, eventually, names, text, tool};

/// A server with sessions and one tool.
#[derive(Clone)]
struct SessionServer {
    url: String,
    /// The name of its tool.
    tool: Arc<Mutex<&'static str>>,
    /// The number of streams that the client has requested, and of sessions.
    opened: Arc<AtomicUsize>,
    sessions: Arc<AtomicUsize>,
}

/// A stream of events that a client requests.
#[derive(Clone, Copy, Debug)]
enum Stream {
    /// Refused with this status.
    Refused(u16),
    /// This text, after which the stream ends.
    Ends(&'static str),
    /// This text, after which the connection breaks.
    Breaks(&'static str),
    /// A stream without events that stays open.
    StaysOpen,
}

impl Stream {
    fn response(self) -> Response<Body> {
        let chunk = |text: &'static str| {
            stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes()))])
        };
        let body = match self {
            Self::Refused(status) => return respond((status, Vec::new(), String::new())),
            Self::Ends(text) => Body::from(text),
            Self::Breaks(text) => {
                let failure = stream::iter([Err(std::io::Error::other("broken"))]);
                Body::from_stream(chunk(text).chain(failure))
            }
            Self::StaysOpen => Body::from_stream(chunk(": open\n\n").chain(stream::pending())),
        };
        let mut response = Response::new(body);
        response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
        response
    }
}

impl SessionServer {
    /// Starts a server. `on_call` answers calls, and `open` opens the streams by their number.
    async fn start(
        on_call: fn(&Value) -> Response<Body>,
        open: impl Fn(usize, &HeaderMap) -> Stream + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let tool = Arc::new(Mutex::new("go"));
        let server = Self { url, tool, opened: Arc::default(), sessions: Arc::default() };
        let (reader, writer) = (server.clone(), server.clone());
        let stream = move |headers: HeaderMap| {
            let number = reader.opened.fetch_add(1, Ordering::Relaxed);
            let stream = open(number, &headers);
            async move { stream.response() }
        };
        let message = move |request: Request| {
            let server = writer.clone();
            async move {
                let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
                server.answer(&serde_json::from_slice(&bytes).unwrap(), on_call)
            }
        };
        let app = Router::new().route("/mcp", get(stream).post(message));
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    fn answer(&self, message: &Value, on_call: fn(&Value) -> Response<Body>) -> Response<Body> {
        match message["method"].as_str() {
            Some("tools/call") => on_call(message),
            Some("tools/list") => {
                let tools = json!({ "tools": [tool(*self.tool.lock().unwrap())] });
                respond(json_reply(answer(message, tools)))
            }
            method => {
                let is_initialize = method == Some("initialize");
                let mut response = respond(good(message, false, |_| unreachable!()));
                if is_initialize {
                    let number = self.sessions.fetch_add(1, Ordering::Relaxed);
                    response.headers_mut().insert("mcp-session-id", number.into());
                }
                response
            }
        }
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

fn refuses_calls(_: &Value) -> Response<Body> {
    respond((500, Vec::new(), String::new()))
}

#[tokio::test]
async fn stream_of_notifications_that_ends_at_once_is_not_opened_in_a_loop() {
    let streams = [Stream::Ends("retry: 0\n\n"), Stream::Breaks("id: 1\nretry: 0\n\n")];
    join_all(streams.map(async |stream| {
        let server = SessionServer::start(refuses_calls, move |_, _| stream).await;
        let started = Instant::now();
        let (_registry, _connection) = connect(McpClient::http(&server.url)).await.unwrap();
        eventually(|| server.opened() >= 3).await;
        // 0.5 and 1 seconds.
        assert!(started.elapsed() >= Duration::from_millis(1_500), "{stream:?}");
    }))
    .await;
}

#[tokio::test]
async fn stream_of_a_response_is_not_opened_in_a_loop() {
    /// Leaves the response to a later stream.
    fn defers(_: &Value) -> Response<Body> {
        Stream::Ends("id: 1\nretry: 0\ndata:\n\n").response()
    }
    let streams = [Stream::Ends("id: 1\nretry: 0\n\n"), Stream::Breaks("id: 1\n\n")];
    join_all(streams.map(async |stream| {
        let server = SessionServer::start(defers, move |_, headers| {
            if headers.contains_key("last-event-id") { stream } else { Stream::Refused(405) }
        })
        .await;
        let client = McpClient::http(&server.url).call_timeout(Duration::from_millis(1_800));
        let (registry, _connection) = connect(client).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.error.is_some(), "{execution:?}");
        // The stream of notifications, and others after 0.5, 1 and 1.5 seconds.
        let opened = server.opened();
        assert!((3..=4).contains(&opened), "{stream:?}: {opened}");
    }))
    .await;
}

#[tokio::test]
async fn endless_body_ends_its_call_and_is_not_read_on() {
    static BYTES: AtomicUsize = AtomicUsize::new(0);

    /// Sends what the call asks for, without an end.
    fn endless(message: &Value) -> Response<Body> {
        let kind = message["params"]["arguments"]["kind"].as_str().unwrap();
        let (content_type, start, chunk) = match kind {
            "json" => ("application/json", "{\"result\": \"", "x".repeat(64 << 10)),
            "event" => ("text/event-stream", "data: ", "x".repeat(64 << 10)),
            _ => ("text/event-stream", "", "data: junk\n\n".repeat(5_000)),
        };
        let chunk = Bytes::from(chunk);
        let chunks = stream::repeat_with(move || {
            BYTES.fetch_add(chunk.len(), Ordering::Relaxed);
            chunk.clone()
        });
        let body = stream::once(async move { Bytes::from_static(start.as_bytes()) }).chain(chunks);
        let mut response = Response::new(Body::from_stream(body.map(Ok::<_, std::io::Error>)));
        response.headers_mut().insert("content-type", content_type.parse().unwrap());
        response
    }

    let server = SessionServer::start(endless, |_, _| Stream::Refused(405)).await;
    for (kind, timeout) in [("json", 60), ("event", 60), ("junk events", 1)] {
        let client = McpClient::http(&server.url)
            .max_message_bytes(100_000)
            .call_timeout(Duration::from_secs(timeout));
        let (registry, connection) = connect(client).await.unwrap();
        let arguments = json!({ "kind": kind }).to_string();
        let started = Instant::now();
        let execution = call(&registry, "s__go", &arguments).await;
        assert!(execution.result.error.is_some(), "{kind}: {execution:?}");
        assert!(started.elapsed() < Duration::from_secs(30), "{kind}: {:?}", started.elapsed());
        connection.disconnect().await;
        if timeout == 60 {
            // What the buffers of the sockets hold comes on top.
            let bytes = BYTES.load(Ordering::Relaxed);
            assert!(bytes < 64 << 20, "{kind}: {bytes} bytes");
        }
    }
}

#[tokio::test]
async fn stream_that_can_not_be_opened_is_reported_and_opened_later() {
    let server = SessionServer::start(refuses_calls, |number, _| match number {
        0 | 1 => Stream::Refused(503),
        _ => Stream::StaysOpen,
    })
    .await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let client = McpClient::http(&server.url).on_event({
        let events = Arc::clone(&events);
        move |_, event| match event {
            McpEvent::NotificationsInterrupted { reason } => {
                events.lock().unwrap().push(reason.clone());
            }
            McpEvent::NotificationsResumed => events.lock().unwrap().push("resumed".to_owned()),
            _ => {}
        }
    });
    let (registry, connection) = connect(client).await.unwrap();
    // No stream tells the client about it.
    *server.tool.lock().unwrap() = "renamed";
    eventually(|| names(&registry) == ["s__renamed"]).await;
    assert!(connection.status().is_connected());
    let events = events.lock().unwrap();
    assert!(events[0].contains("503"), "{events:?}");
    assert_eq!(events[1..], ["resumed"]);
    assert_eq!(server.sessions.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn session_that_the_server_does_not_know_any_more_is_replaced() {
    fn works(message: &Value) -> Response<Body> {
        respond(json_reply(text(message, "works")))
    }
    let server = SessionServer::start(works, |number, _| match number {
        0 => Stream::Ends("data:\n\n"),
        1 => Stream::Refused(404),
        _ => Stream::StaysOpen,
    })
    .await;
    let (registry, connection) = connect(McpClient::http(&server.url)).await.unwrap();
    eventually(|| server.opened() == 3 && connection.status().is_connected()).await;
    assert_eq!(server.sessions.load(Ordering::Relaxed), 2);
    assert!(call(&registry, "s__go", "{}").await.result.text.contains("works"));
}
