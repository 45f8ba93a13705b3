//! The life of a connection: loss, return, end.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tool_mcp::{McpClient, McpError, McpEvent, McpStatus, Trust};
use tool_runtime::agent::Steering;
use tool_runtime::{Availability, Registry, ToolErrorKind};

use crate::server::{
    Action, Server, call, connect, names, notification, text, tool, wait_until, with_go, with_tools,
};

fn is_available(registry: &Registry, name: &str) -> bool {
    let tools = registry.snapshot();
    matches!(tools.get(name).unwrap().availability(), Availability::Available)
}

#[tokio::test(start_paused = true)]
async fn lost_connection_comes_back_with_its_tools() {
    let server = Server::default();
    let client = server.client(|number| {
        let tools = json!([tool("a"), tool(&format!("of{number}"))]);
        Box::new(with_tools(false, tools, move |call| text(call, &format!("from {number}"))))
    });
    let (registry, connection) = connect(client).await;
    assert_eq!(names(&registry), ["s__a", "s__of1"]);
    let mut status = connection.status_changes();
    server.send(Action::Close);
    let down = status.wait_for(|status| matches!(status, McpStatus::Down { .. })).await;
    drop(down.unwrap());
    assert!(!is_available(&registry, "s__a"));
    let refused = call(&registry, "s__a", "{}").await;
    assert_eq!(refused.result.error.as_deref(), Some(ToolErrorKind::Unavailable.code()));
    assert!(connection.connected().await.is_connected());
    assert_eq!(names(&registry), ["s__a", "s__of2"]);
    assert!(is_available(&registry, "s__a"));
    assert!(call(&registry, "s__a", "{}").await.result.text.contains("from 2"));
}

#[tokio::test(start_paused = true)]
async fn call_in_flight_is_indeterminate_unless_it_is_idempotent() {
    // The dispatcher reports a tool that failed and can't run now as unavailable.
    let repeatable = [ToolErrorKind::TransientFailure, ToolErrorKind::Unavailable];
    for (trust, expected) in [
        (Trust::new(), &[ToolErrorKind::Indeterminate][..]),
        (Trust::new().idempotent(), &repeatable),
    ] {
        let server = Server::default();
        let client = server.simple(with_go(true, |_| vec![Action::Close])).trust(trust);
        let (registry, _) = connect(client).await;
        let started = tokio::time::Instant::now();
        let execution = call(&registry, "s__go", "{}").await;
        let code = execution.result.error.unwrap();
        assert!(expected.iter().any(|kind| kind.code() == code), "{code}");
        assert!(started.elapsed() < Duration::from_secs(1), "not after the cleanup of the SDK");
    }
}

#[tokio::test(start_paused = true)]
async fn idempotent_call_is_retried_on_the_new_connection() {
    let server = Server::default();
    let client = server.client(|number| {
        Box::new(with_go(true, move |call| match number {
            1 => vec![Action::Close],
            _ => text(call, "second try"),
        }))
    });
    let (registry, connection) =
        connect(client.trust(Trust::new().idempotent().max_retries(5))).await;
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.attempts > 1);
    let _ = connection;
}

#[tokio::test(start_paused = true)]
async fn dead_server_touches_no_other() {
    let registry = Registry::new();
    let (dead, alive) = (Server::default(), Server::default());
    let script = |name: &'static str| with_go(false, move |call| text(call, name));
    dead.simple(script("dead")).connect("dead", &registry).await.unwrap();
    alive.simple(script("alive")).connect("alive", &registry).await.unwrap();
    dead.send(Action::Close);
    wait_until(|| !is_available(&registry, "dead__go")).await;
    assert!(call(&registry, "alive__go", "{}").await.result.text.contains("alive"));
    assert_eq!(alive.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_delayed_more_and_more() {
    let attempts = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&attempts);
    let client = McpClient::streams(move || {
        *counted.lock().unwrap() += 1;
        async { Err::<(tokio::io::Empty, tokio::io::Sink), _>(io::Error::other("no such host")) }
    });
    let registry = Registry::new();
    let connection = client.connect_in_background("s", &registry).unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let count = *attempts.lock().unwrap();
    // Two for each attempt to connect: discovery and a fresh transport.
    assert!((20..60).contains(&count), "{count}");
    let McpStatus::Down { reason } = connection.status() else { panic!() };
    assert!(reason.contains("no such host"), "{reason}");
    connection.disconnect().await;
    assert_eq!(connection.status(), McpStatus::Disconnected);
}

#[tokio::test(start_paused = true)]
async fn fifty_servers_start_together_and_slow_ones_delay_no_other() {
    let registry = Registry::new();
    let mut connections = Vec::new();
    for number in 0..50 {
        let server = Server::default();
        let client = match number % 10 {
            // Never answers.
            0 => server.simple(|_| Vec::new()),
            _ => server.simple(with_go(number % 2 == 0, |call| text(call, "ok"))),
        };
        connections.push(client.connect_in_background(format!("s{number}"), &registry).unwrap());
    }
    for connection in connections.iter().skip(1).step_by(10) {
        assert!(connection.connected().await.is_connected());
    }
    wait_until(|| names(&registry).len() == 45).await;
    assert_eq!(connections[0].status(), McpStatus::Connecting);
    assert!(call(&registry, "s1__go", "{}").await.result.error.is_none());
}

#[tokio::test(start_paused = true)]
async fn disconnect_removes_the_tools_for_good() {
    let server = Server::default();
    let (registry, connection) =
        connect(server.simple(with_go(false, |call| text(call, "ok")))).await;
    connection.disconnect().await;
    assert!(names(&registry).is_empty());
    assert_eq!(connection.status(), McpStatus::Disconnected);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(server.connections(), 1);
    assert!(connection.refresh().await.is_err());
    let second = server.simple(with_go(false, |call| text(call, "ok")));
    assert!(second.connect("s", &registry).await.is_ok(), "the name is free again");
}

#[tokio::test(start_paused = true)]
async fn connection_ends_with_its_registry() {
    let server = Server::default();
    let (registry, connection) =
        connect(server.simple(with_go(false, |call| text(call, "ok")))).await;
    let mut status = connection.status_changes();
    drop(registry);
    status.wait_for(|status| *status == McpStatus::Disconnected).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn dropped_handle_keeps_the_connection() {
    let server = Server::default();
    let (registry, connection) =
        connect(server.simple(with_go(false, |call| text(call, "ok")))).await;
    drop(connection);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(call(&registry, "s__go", "{}").await.result.error.is_none());
}

#[tokio::test(start_paused = true)]
async fn notifications_reach_the_steering_as_untrusted_and_bounded() {
    let steering = Steering::new();
    let events = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&events);
    let server = Server::default();
    let client = server
        .simple(with_go(false, |call| text(call, "ok")))
        .steering(&steering)
        .on_event(move |_, event| {
            if let McpEvent::Log { level, text } = event {
                recorded.lock().unwrap().push(format!("{level}: {text}"));
            }
        });
    let (_registry, connection) = connect(client).await;
    connection.subscribe("file:///a").await.ok();
    let log = |data: &str| {
        notification("notifications/message", json!({ "level": "warning", "data": data }))
    };
    server.send(log("disk\u{202e} full"));
    let updated = json!({ "uri": "file:///a" });
    server.send(notification("notifications/resources/updated", updated));
    wait_until(|| steering.len() == 2).await;
    assert_eq!(*events.lock().unwrap(), ["warning: disk full"]);
    for _ in 0..12_000 {
        server.send(log(&"x".repeat(500)));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(steering.len() <= 100);
    assert!(connection.status().is_connected());
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_server_that_starts_are_unavailable() {
    let registry = Registry::new();
    let server = Server::default();
    let starting = server.simple(|_| Vec::new());
    let connection = starting.connect_in_background("s", &registry).unwrap();
    for name in ["s__go", "s__anything", "s__a__b"] {
        let refused = call(&registry, name, "{}").await.result;
        assert_eq!(refused.error.as_deref(), Some(ToolErrorKind::Unavailable.code()), "{name}");
        assert!(refused.text.contains("the MCP server `s` is starting"), "{}", refused.text);
    }
    let unknown = call(&registry, "t__go", "{}").await.result;
    assert_eq!(unknown.error.as_deref(), Some(ToolErrorKind::NotFound.code()));
    let mut status = connection.status_changes();
    drop(status.wait_for(|status| matches!(status, McpStatus::Down { .. })).await.unwrap());
    let down = call(&registry, "s__go", "{}").await.result.text;
    assert!(down.contains("the MCP server `s` is down"), "{down}");
    connection.disconnect().await;
    let ended = call(&registry, "s__go", "{}").await.result;
    assert_eq!(ended.error.as_deref(), Some(ToolErrorKind::NotFound.code()), "{}", ended.text);

    let failed = server.simple(|_| vec![Action::Close]).connect("s", &registry).await;
    assert!(failed.is_err());
    let after = call(&registry, "s__go", "{}").await.result;
    assert_eq!(after.error.as_deref(), Some(ToolErrorKind::NotFound.code()), "{}", after.text);

    let good = server.simple(with_go(false, |call| text(call, "ok")));
    good.connect("s", &registry).await.unwrap();
    assert!(call(&registry, "s__go", "{}").await.is_success());
    let unknown = call(&registry, "s__other", "{}").await.result;
    assert_eq!(unknown.error.as_deref(), Some(ToolErrorKind::NotFound.code()));
}

#[tokio::test(start_paused = true)]
async fn name_is_taken_before_there_are_tools() {
    let registry = Registry::new();
    // A server that does not answer.
    let silent = || Server::default().simple(|_| Vec::new());
    let first = silent().connect_in_background("s", &registry).unwrap();
    let refused = silent().connect_in_background("s", &registry);
    assert!(matches!(refused, Err(McpError::NameTaken { .. })), "{refused:?}");
    let refused = silent().connect("s", &registry).await;
    assert!(matches!(refused, Err(McpError::NameTaken { .. })), "{refused:?}");
    // Other names, and other registries, are free.
    assert!(silent().connect_in_background("t", &registry).is_ok());
    assert!(silent().connect_in_background("s", &Registry::new()).is_ok());
    first.disconnect().await;
    assert!(silent().connect_in_background("s", &registry).is_ok());
    // An attempt that failed leaves the name free.
    assert!(silent().connect("u", &registry).await.is_err());
    assert!(silent().connect_in_background("u", &registry).is_ok());
}

#[tokio::test(start_paused = true)]
async fn lost_connection_is_reported_without_the_failure_of_its_list() {
    // The order in which the client notices the end of the connection and of its requests varies.
    for (is_modern, is_listing) in [(true, false), (false, true), (true, true)].repeat(20) {
        let (server, events) = (Server::default(), Arc::new(Mutex::new(Vec::new())));
        let recorded = Arc::clone(&events);
        let lists = Arc::new(Mutex::new(0));
        let client = server.simple(move |message| match message["method"].as_str() {
            // The first list is answered.
            Some("tools/list") if std::mem::replace(&mut *lists.lock().unwrap(), 1) > 0 => {
                Vec::new()
            }
            _ => with_go(is_modern, |call| text(call, "ok"))(message),
        });
        let client = client.on_event(move |_, event| {
            recorded.lock().unwrap().push(match event {
                McpEvent::Connected { .. } => "connected",
                McpEvent::Disconnected { .. } => "disconnected",
                McpEvent::ListFailed { .. } => "list failed",
                McpEvent::NotificationsInterrupted { .. } => "interrupted",
                _ => "other",
            });
        });
        let (_registry, connection) = connect(client).await;
        wait_until(|| !is_modern || !server.received("subscriptions/listen").is_empty()).await;
        if is_listing {
            server.send(notification("notifications/tools/list_changed", json!({})));
            wait_until(|| server.received("tools/list").len() == 2).await;
        }
        let mut status = connection.status_changes();
        server.send(Action::Close);
        let down = status.wait_for(|status| matches!(status, McpStatus::Down { .. })).await;
        drop(down.unwrap());
        let events = events.lock().unwrap().clone();
        assert_eq!(events, ["other", "connected", "disconnected"], "{is_modern} {is_listing}");
    }
}
