//! Settings that the client sends to a server: log level, roots and trace context.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_mcp::{LogLevel, McpError};
use tool_runtime::dispatch::{Batch, RunInfo};
use tool_runtime::{Dispatcher, ToolCall};

use crate::server::{Action, Server, answer, call, connect, text, wait_until, with_go};

#[tokio::test]
async fn log_level_is_requested_as_the_revision_demands() {
    const MEMBER: &str = "io.modelcontextprotocol/logLevel";
    for is_modern in [false, true] {
        for (level, name) in [(Some(LogLevel::Warning), json!("warning")), (None, Value::Null)] {
            let server = Server::default();
            let mut other = with_go(is_modern, |call| text(call, "done"));
            let mut client = server.simple(move |message| match message["method"].as_str() {
                Some("logging/setLevel") => answer(message, json!({})),
                _ => other(message),
            });
            if let Some(level) = level {
                client = client.log_level(level);
            }
            let (registry, _) = connect(client).await;
            call(&registry, "s__go", "{}").await;
            let requests = server.received("logging/setLevel");
            let levels: Vec<_> = requests.iter().map(|it| it["params"]["level"].clone()).collect();
            let is_requested = level.is_some() && !is_modern;
            assert_eq!(levels, if is_requested { vec![name.clone()] } else { Vec::new() });
            let meta = server.received("tools/call")[0]["params"]["_meta"][MEMBER].clone();
            assert_eq!(meta, if is_modern { name } else { Value::Null });
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_log_level_is_used() {
    let server = Server::default();
    let mut other = with_go(false, |call| text(call, "done"));
    let client = server.simple(move |message| match message["method"].as_str() {
        Some("logging/setLevel") => crate::server::error(message, -32603, "no"),
        _ => other(message),
    });
    let (registry, _) = connect(client.log_level(LogLevel::Debug)).await;
    assert_eq!(call(&registry, "s__go", "{}").await.result.error, None);
}

#[tokio::test]
async fn changed_roots_are_notified_and_listed() {
    let server = Server::default();
    let mut other = with_go(false, |call| text(call, "done"));
    let client = server.simple(move |message| match message["method"].as_str() {
        Some("notifications/roots/list_changed") => {
            vec![Action::Send(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" }))]
        }
        _ => other(message),
    });
    let (_registry, connection) = connect(client.add_root("file:///a", "a")).await;
    let declared = &server.received("initialize")[0]["params"]["capabilities"]["roots"];
    assert_eq!(declared, &json!({ "listChanged": true }));
    connection.set_roots([("file:///b", "b")]).await.unwrap();
    wait_until(|| !server.answers().is_empty()).await;
    let roots = &server.answers()[0]["result"]["roots"];
    assert_eq!(roots, &json!([{ "uri": "file:///b", "name": "b" }]));
}

#[tokio::test]
async fn roots_of_a_call_are_those_of_its_time() {
    let server = Server::default();
    let client = server.simple(with_go(true, |call| {
        let roots = &call["params"]["inputResponses"]["folders"]["roots"];
        if roots.is_null() {
            let requests = json!({ "folders": { "method": "roots/list", "params": {} } });
            let result = json!({ "resultType": "input_required", "inputRequests": requests });
            return answer(call, result);
        }
        text(call, roots[0]["uri"].as_str().unwrap())
    }));
    let (registry, connection) = connect(client.roots([("file:///a", "a")])).await;
    for uri in ["file:///b", "file:///c"] {
        connection.set_roots([(uri, "changed")]).await.unwrap();
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains(uri), "{}", execution.result.text);
    }
}

#[tokio::test]
async fn roots_that_were_not_declared_are_refused() {
    let (_registry, connection) =
        connect(Server::default().simple(with_go(false, |call| text(call, "done")))).await;
    let error = connection.set_roots([("file:///a", "a")]).await.unwrap_err();
    assert!(matches!(error, McpError::InvalidOptions(_)), "{error}");
}

#[tokio::test]
async fn trace_context_of_the_run_is_sent_with_calls_and_baggage_is_not() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let long = "x".repeat(513);
    for (traceparent, is_sent) in [(parent, true), (long.as_str(), false)] {
        let server = Server::default();
        let client = server.simple(with_go(true, |call| text(call, "done")));
        let (registry, _) = connect(client).await;
        let info = RunInfo::default()
            .metadata("traceparent", traceparent)
            .metadata("tracestate", "vendor=1")
            .metadata("baggage", "user=ada");
        let mut batch = Batch::from(vec![ToolCall::new("1", "s__go", "{}")]);
        batch.run_info = Some(Arc::new(info));
        let dispatcher = Dispatcher::new(registry);
        dispatcher.dispatch_on(&dispatcher.registry().snapshot(), batch).await;
        let meta = server.received("tools/call")[0]["params"]["_meta"].clone();
        let expected = |value: &str| if is_sent { json!(value) } else { Value::Null };
        assert_eq!(meta["traceparent"], expected(traceparent));
        assert_eq!(meta["tracestate"], expected("vendor=1"));
        assert_eq!(meta["baggage"], Value::Null);
    }
}
