//! Subscriptions of the revision 2026-07-28, and lists that expire.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tool_mcp::McpEvent;
use tool_runtime::Registry;

use crate::server::{
    Action, Server, answer, connect, error, eventually, handshake, names, notification, tool,
};

/// A server with one tool, whose name and whose answers to subscriptions the test sets.
#[derive(Clone)]
struct Subscribable {
    server: Server,
    tool: Arc<Mutex<&'static str>>,
    /// The error code of the subscriptions with the first numbers.
    refusals: (usize, i64),
    count: Arc<AtomicUsize>,
    /// The interruptions and their ends that the client reported.
    events: Arc<Mutex<Vec<&'static str>>>,
}

impl Subscribable {
    fn new(refusals: usize, code: i64) -> Self {
        let (server, count, events) = (Server::default(), Arc::default(), Arc::default());
        Self { server, tool: Arc::new(Mutex::new("a")), refusals: (refusals, code), count, events }
    }

    async fn connect(&self) -> Registry {
        let peer = self.clone();
        let client = self.server.simple(move |message| match message["method"].as_str() {
            Some("subscriptions/listen") => {
                let (refusals, code) = peer.refusals;
                if peer.count.fetch_add(1, Ordering::Relaxed) < refusals {
                    error(message, code, "no")
                } else {
                    handshake(message, true).unwrap()
                }
            }
            Some("tools/list") => {
                answer(message, json!({ "tools": [tool(*peer.tool.lock().unwrap())] }))
            }
            _ => handshake(message, true).unwrap_or_default(),
        });
        let events = Arc::clone(&self.events);
        let client = client.on_event(move |_, event| match event {
            McpEvent::NotificationsInterrupted { reason } => {
                assert!(reason.contains("`subscriptions/listen` failed: no"), "{reason}");
                events.lock().unwrap().push("interrupted");
            }
            McpEvent::NotificationsResumed => events.lock().unwrap().push("resumed"),
            _ => {}
        });
        connect(client).await.0
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Changes the tool and notifies the newest subscription.
    fn change(&self, name: &'static str) {
        *self.tool.lock().unwrap() = name;
        let listens = self.server.received("subscriptions/listen");
        let id: &Value = &listens.last().unwrap()["id"];
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
        let params = json!({ "_meta": meta });
        self.server.send(notification("notifications/tools/list_changed", params));
    }
}

#[tokio::test(start_paused = true)]
async fn refused_subscription_is_requested_again_with_growing_delays() {
    for code in [-32_000, -32_603, -32_600] {
        let peer = Subscribable::new(5, code);
        let started = Instant::now();
        let registry = peer.connect().await;
        while peer.count() < 6 {
            sleep(Duration::from_millis(100)).await;
        }
        // 0.5, 1, 2, 4 and 8 seconds.
        let elapsed = started.elapsed();
        assert!((15..18).contains(&elapsed.as_secs()), "{code}: {elapsed:?}");
        sleep(Duration::from_secs(5)).await;
        peer.change("b");
        eventually(|| names(&registry) == ["s__b"]).await;
        sleep(Duration::from_secs(600)).await;
        assert_eq!(peer.count(), 6, "{code}");
        assert_eq!(*peer.events.lock().unwrap(), ["interrupted", "resumed"], "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn change_before_a_new_subscription_is_not_missed() {
    let peer = Subscribable::new(5, -32_000);
    let registry = peer.connect().await;
    while peer.count() < 5 {
        sleep(Duration::from_millis(100)).await;
    }
    // Before the sixth, which is granted, there is no subscriber to notify.
    sleep(Duration::from_secs(4)).await;
    *peer.tool.lock().unwrap() = "b";
    sleep(Duration::from_secs(5)).await;
    assert_eq!(peer.count(), 6);
    assert_eq!(names(&registry), ["s__b"]);
}

#[tokio::test(start_paused = true)]
async fn unknown_method_ends_the_attempts_to_subscribe() {
    let peer = Subscribable::new(usize::MAX, -32_601);
    let _registry = peer.connect().await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(peer.count(), 1);
    assert!(peer.events.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn notices_do_not_postpone_the_expiry_of_a_list() {
    let (server, lists) = (Server::default(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&lists);
    let client = server.simple(move |message| match message["method"].as_str() {
        Some("tools/list") => {
            counted.fetch_add(1, Ordering::Relaxed);
            answer(message, json!({ "tools": [tool("a")], "ttlMs": 10_000 }))
        }
        _ => handshake(message, true).unwrap_or_default(),
    });
    let (_registry, _connection) = connect(client).await;
    for _ in 0..60 {
        sleep(Duration::from_secs(1)).await;
        let log: Action =
            notification("notifications/message", json!({ "level": "info", "data": "busy" }));
        server.send(log);
    }
    let lists = lists.load(Ordering::Relaxed);
    assert!((6..=8).contains(&lists), "{lists} lists in a minute");
}
