//! Renewed lists: what a report says, and what waits for a server.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tool_mcp::{McpClient, McpError, McpEvent, MemoryPins, PinStore, Pins};
use tool_runtime::{Registry, async_trait};

use crate::server::{
    Action, Server, answer, connect, error, eventually, handshake, names, notification, tool,
    wait_until,
};

/// A server whose list the test sets. Without one, it does not answer.
#[derive(Clone, Default)]
struct Listed(Arc<Mutex<Option<Value>>>);

impl Listed {
    fn set(&self, tools: Option<Value>) {
        *self.0.lock().unwrap() = tools;
    }

    fn client(&self, server: &Server) -> McpClient {
        let listed = self.clone();
        server.simple(move |message| match message["method"].as_str() {
            Some("tools/list") => match &*listed.0.lock().unwrap() {
                Some(tools) => answer(message, json!({ "tools": tools })),
                None => Vec::new(),
            },
            _ => handshake(message, false).unwrap_or_default(),
        })
    }
}

#[tokio::test]
async fn report_of_an_equal_list_has_its_new_malformed_tools() {
    let listed = Listed::default();
    listed.set(Some(json!([tool("a"), tool("not valid!")])));
    let (registry, connection) = connect(listed.client(&Server::default())).await;
    let skipped = connection.tools().await.skipped;
    assert_eq!(skipped.len(), 1);
    listed.set(Some(json!([{ "name": "bad", "inputSchema": 5 }, tool("a"), tool("not valid!")])));
    let report = connection.refresh().await.unwrap();
    let skipped: Vec<_> =
        report.skipped.iter().map(|tool| (tool.index, tool.name.as_deref().unwrap())).collect();
    assert_eq!(skipped, [(0, "bad"), (2, "not valid!")]);
    assert_eq!(names(&registry), ["s__a"]);
    listed.set(Some(json!([tool("a"), tool("not valid!")])));
    assert_eq!(connection.refresh().await.unwrap().skipped.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn feature_tools_follow_the_features_of_the_new_connection() {
    let server = Server::default();
    let client = server.client(|number| {
        let mut capabilities = json!({ "tools": {} });
        if number % 2 == 0 {
            capabilities["resources"] = json!({});
        }
        Box::new(move |message| match message["method"].as_str() {
            Some("initialize") => {
                let server = json!({ "name": "x", "version": "1" });
                answer(
                    message,
                    json!({
                        "protocolVersion": "2025-11-25", "capabilities": capabilities,
                        "serverInfo": server,
                    }),
                )
            }
            Some("tools/list") => answer(message, json!({ "tools": [tool("a")] })),
            _ => handshake(message, false).unwrap_or_default(),
        })
    });
    let registry = Registry::new();
    client.resource_tools().connect("s", &registry).await.unwrap();
    let with_resources = ["s__a", "s__list_resources", "s__read_resource"];
    for expected in [&with_resources[..1], &with_resources, &with_resources[..1]] {
        eventually(|| names(&registry) == expected).await;
        server.send(Action::Close);
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_does_not_list_blocks_no_reader_of_the_report() {
    let (server, listed) = (Server::default(), Listed::default());
    listed.set(Some(json!([tool("a")])));
    let (registry, connection) = connect(listed.client(&server)).await;
    listed.set(None);
    server.send(notification("notifications/tools/list_changed", json!({})));
    while server.received("tools/list").len() < 2 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    assert_eq!(connection.tools().await.registered, ["s__a"]);
    assert_eq!(started.elapsed(), Duration::ZERO);
    // A newer list is not replaced by the older one.
    let older = server.received("tools/list").remove(1);
    listed.set(Some(json!([tool("b")])));
    assert_eq!(connection.refresh().await.unwrap().registered, ["s__b"]);
    let late = json!({ "jsonrpc": "2.0", "id": older["id"], "result": { "tools": [tool("a")] } });
    server.send(Action::Send(late));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&registry), ["s__b"]);
}

#[tokio::test(start_paused = true)]
async fn list_that_could_not_be_renewed_is_requested_again() {
    let server = Server::default();
    let lists = Arc::new(AtomicUsize::new(0));
    let client = server.simple(move |message| match message["method"].as_str() {
        Some("tools/list") => match lists.fetch_add(1, Ordering::Relaxed) {
            0 => answer(message, json!({ "tools": [tool("a")] })),
            1 | 2 => error(message, -32603, "out of order"),
            _ => answer(message, json!({ "tools": [tool("a"), tool("b")] })),
        },
        _ => handshake(message, false).unwrap_or_default(),
    });
    let (registry, _connection) = connect(client).await;
    server.send(notification("notifications/tools/list_changed", json!({})));
    eventually(|| names(&registry) == ["s__a", "s__b"]).await;
    assert_eq!(server.received("tools/list").len(), 4);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(
        server.received("tools/list").len(),
        4,
        "a list that arrived is not requested again"
    );
}

fn changed(name: &str) -> Value {
    let mut tool = tool(name);
    tool["description"] = "Does something else.".into();
    tool
}

#[tokio::test]
async fn approval_after_a_disconnect_registers_nothing() {
    let listed = Listed::default();
    listed.set(Some(json!([tool("a")])));
    let pins = MemoryPins::new();
    let client = listed.client(&Server::default()).pin_store(pins.clone());
    let (registry, connection) = connect(client).await;
    listed.set(Some(json!([changed("a")])));
    let change = connection.refresh().await.unwrap().pending.remove(0);
    connection.disconnect().await;
    let pinned = pins.load("s").await.unwrap();
    let error = connection.approve(&change).await.unwrap_err();
    assert!(matches!(error, McpError::NotConnected { .. }), "{error}");
    assert!(names(&registry).is_empty());
    assert_eq!(pins.load("s").await.unwrap(), pinned, "nothing is pinned");
}

/// A store whose saves wait for a lock that the test holds.
#[derive(Clone, Default)]
struct SlowPins {
    pins: MemoryPins,
    gate: Arc<tokio::sync::Mutex<()>>,
    saves: Arc<AtomicUsize>,
}

#[async_trait]
impl PinStore for SlowPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        self.pins.load(server).await
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        self.saves.fetch_add(1, Ordering::Relaxed);
        let _open = self.gate.lock().await;
        self.pins.save(server, pins).await
    }
}

/// Once it has a release, loading pins occupies the thread for blocking work until then.
#[derive(Clone, Default)]
struct OccupyingPins {
    pins: Arc<MemoryPins>,
    release: Arc<Mutex<Option<std::sync::mpsc::Receiver<()>>>>,
}

#[async_trait]
impl PinStore for OccupyingPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        if let Some(release) = self.release.lock().unwrap().take() {
            tokio::task::spawn_blocking(move || release.recv());
        }
        self.pins.load(server).await
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        self.pins.save(server, pins).await
    }
}

/// The runtime has one thread for all tasks and one for blocking work, which another task releases
/// after the pins are loaded. If a task compared the definitions, their event would be first.
#[test]
fn other_tasks_run_while_definitions_are_compared() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(1).build().unwrap().block_on(async {
        let listed = Listed::default();
        listed.set(Some(json!([tool("a")])));
        let order = Arc::new(Mutex::new(Vec::new()));
        let emitted = Arc::clone(&order);
        let client = listed.client(&Server::default()).on_event(move |_, event| {
            if matches!(event, McpEvent::DefinitionChanged(_)) {
                emitted.lock().unwrap().push("changed");
            }
        });
        let store = OccupyingPins::default();
        let (_registry, connection) = connect(client.pin_store(store.clone())).await;
        let (release, receiver) = std::sync::mpsc::channel();
        *store.release.lock().unwrap() = Some(receiver);
        let released = Arc::clone(&order);
        let other = tokio::spawn(async move {
            while store.release.lock().unwrap().is_some() {
                tokio::task::yield_now().await;
            }
            released.lock().unwrap().push("released");
            release.send(()).unwrap();
        });
        listed.set(Some(json!([changed("a")])));
        assert_eq!(connection.refresh().await.unwrap().pending.len(), 1);
        other.await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["released", "changed"]);
    });
}

#[tokio::test(start_paused = true)]
async fn pin_store_that_hangs_fails_at_the_time_limit() {
    let listed = Listed::default();
    listed.set(Some(json!([tool("a")])));
    let store = SlowPins::default();
    let limit = Duration::from_secs(5);
    let client = listed.client(&Server::default()).pin_store(store.clone()).connect_timeout(limit);
    let (registry, connection) = connect(client).await;
    let closed = store.gate.lock().await;
    listed.set(Some(json!([tool("a"), tool("b")])));
    let refresh = tokio::time::timeout(Duration::from_secs(60), connection.refresh()).await;
    let refresh = refresh.expect("the store has a time limit");
    let Err(McpError::Pins { error, .. }) = refresh else { panic!("{refresh:?}") };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(names(&registry), ["s__a"], "the previous tools stay");
    drop(closed);
    assert_eq!(connection.refresh().await.unwrap().registered, ["s__a", "s__b"]);
}

#[tokio::test(start_paused = true)]
async fn list_of_an_ended_connection_does_not_replace_the_tools_of_the_next() {
    let listed = Listed::default();
    listed.set(Some(json!([tool("a")])));
    let store = SlowPins::default();
    let client = listed.client(&Server::default()).pin_store(store.clone());
    let (registry, old) = connect(client).await;
    let closed = store.gate.lock().await;
    listed.set(Some(json!([tool("a"), tool("b")])));
    let refresh = tokio::spawn({
        let old = old.clone();
        async move { old.refresh().await }
    });
    wait_until(|| store.saves.load(Ordering::Relaxed) == 2).await;
    let started = Instant::now();
    old.disconnect().await;
    assert!(started.elapsed() < Duration::from_secs(2), "a slow store does not delay the end");
    assert!(names(&registry).is_empty());
    let next = Listed::default();
    next.set(Some(json!([tool("next")])));
    let _next = next.client(&Server::default()).connect("s", &registry).await.unwrap();
    drop(closed);
    let error = refresh.await.unwrap().unwrap_err();
    assert!(matches!(error, McpError::NotConnected { .. }), "{error}");
    assert_eq!(names(&registry), ["s__next"]);
}
