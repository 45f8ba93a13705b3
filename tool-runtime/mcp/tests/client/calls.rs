//! Calls: results, errors, progress, cancellation.

use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{McpClient, ResultLimits, Trust};
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{CancellationToken, ContentPart, Dispatcher, ToolCall, ToolErrorKind, ToolKind};

use crate::server::{
    Action, Server, answer, call, connect, error, notification, text, tool, wait_until, with_go,
    with_tools,
};

#[tokio::test]
async fn both_revisions_are_spoken() {
    for (is_modern, revision) in [(false, "2025-11-25"), (true, "2026-07-28")] {
        let server = Server::default();
        let client = server.simple(with_go(is_modern, |call| {
            let a = call["params"]["arguments"]["a"].as_i64().unwrap_or_default();
            text(call, &format!("got {a}"))
        }));
        let (registry, connection) = connect(client).await;
        assert_eq!(connection.status().to_string(), format!("connected ({revision})"));
        let execution = call(&registry, "s__go", r#"{"a": 7}"#).await;
        assert!(execution.result.text.contains("\ngot 7\n"), "{}", execution.result.text);
        assert!(execution.result.text.contains("<untrusted source=\"MCP server s\">"));
        // Answered in one transport: a fresh one is for servers that break the protocol.
        assert_eq!(server.connections(), 1);
        let meta = &server.received("tools/call")[0]["params"]["_meta"];
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version.is_null(), !is_modern);
    }
}

#[tokio::test]
async fn parts_arrive_in_order_and_within_limits() {
    let blocks = json!([
        { "type": "text", "text": "one\u{202e}" },
        { "type": "text", "text": "two" },
        { "type": "image", "data": "aaaa", "mimeType": "image/png" },
        { "type": "audio", "data": "bbbb", "mimeType": "audio/wav" },
        { "type": "image", "data": "c".repeat(100), "mimeType": "image/png" },
        { "type": "resource_link", "uri": "https://example.com/a", "name": "a" },
        { "type": "resource", "resource": { "uri": "file:///b", "text": "hidden\u{e0041}" } },
        { "type": "resource", "resource": { "uri": "file:///c", "blob": "dddd" } },
        { "type": "hologram" },
        { "type": "text", "text": "x".repeat(5_000) },
    ]);
    let server = Server::default();
    let limits = ResultLimits::default().max_media_bytes(90).max_text_bytes(1_000);
    let client =
        server.simple(with_go(false, move |call| answer(call, json!({ "content": blocks }))));
    let client = client.result_limits(limits).trust(Trust::new().unmarked_text());
    let (registry, _) = connect(client).await;
    let result = call(&registry, "s__go", "{}").await.result;
    assert_eq!(result.text, "one\ntwo");
    let parts: Vec<_> = result.parts.iter().map(|part| part.plain_text().into_owned()).collect();
    assert_eq!(parts[..2], ["[left out: image/png, 3 bytes]", "[left out: audio/wav, 3 bytes]"]);
    assert!(parts[2].contains("image/png, 75 bytes"));
    assert_eq!(parts[3..5], ["[link: a, https://example.com/a]", "[file:///b]\nhidden"]);
    assert!(matches!(result.parts[5], ContentPart::Resource(_)));
    assert!(parts[6].starts_with("[part of unknown type `hologram` was left out]\nxxx"));
    assert!(parts[6].ends_with("bytes were left out]") && parts[6].len() < 1_200);
}

#[tokio::test]
async fn structured_content_is_checked_against_the_output_schema() {
    let mut sum = tool("sum");
    sum["outputSchema"] = json!({
        "type": "object", "properties": { "sum": { "type": "number" } }, "required": ["sum"],
    });
    let server = Server::default();
    let client = server.simple(with_tools(false, json!([sum]), |call| {
        let value = &call["params"]["arguments"]["value"];
        let content = json!([{ "type": "text", "text": "a text" }]);
        match value.as_str() {
            Some("missing") => answer(call, json!({ "content": content })),
            Some("failed") => answer(call, json!({ "content": content, "isError": true })),
            _ => answer(call, json!({ "content": [], "structuredContent": { "sum": value } })),
        }
    }));
    let (registry, _) = connect(client).await;
    let good = call(&registry, "s__sum", r#"{"value": 3}"#).await;
    assert_eq!(good.result.structured, Some(json!({ "sum": 3 })));
    assert!(good.result.text.contains(r#"{"sum":3}"#));
    let bad = call(&registry, "s__sum", r#"{"value": "three"}"#).await;
    assert_eq!(bad.result.error.as_deref(), Some(ToolErrorKind::ExecutionFailed.code()));
    assert!(!bad.result.text.contains("three"), "{}", bad.result.text);
    let missing = call(&registry, "s__sum", r#"{"value": "missing"}"#).await;
    assert_eq!(missing.result.error.as_deref(), Some(ToolErrorKind::ExecutionFailed.code()));
    assert!(missing.result.text.contains("invalid result"), "{}", missing.result.text);
    // The schema applies to results without an error alone.
    let failed = call(&registry, "s__sum", r#"{"value": "failed"}"#).await;
    assert!(failed.result.text.contains("a text"), "{}", failed.result.text);
}

#[tokio::test]
async fn errors_have_the_kind_of_their_cause() {
    let server = Server::default();
    let client = server.simple(with_go(false, |call| {
        match call["params"]["arguments"]["case"].as_str().unwrap() {
            "params" => error(call, -32602, "`city` is\u{200b} missing"),
            "internal" => error(call, -32603, "oops"),
            "isError" => answer(
                call,
                json!({ "isError": true, "content": [{ "type": "text", "text": "no such city" }] }),
            ),
            "junk" => answer(call, json!({ "content": 5 })),
            _ => answer(call, json!("text")),
        }
    }));
    let (registry, _) = connect(client).await;
    for (case, kind, in_text) in [
        ("params", ToolErrorKind::InvalidArguments, "`city` is missing"),
        ("internal", ToolErrorKind::ExecutionFailed, "oops"),
        ("isError", ToolErrorKind::ExecutionFailed, "no such city"),
        ("junk", ToolErrorKind::ExecutionFailed, "returned an invalid result"),
        ("other", ToolErrorKind::ExecutionFailed, "returned an invalid result"),
    ] {
        let execution = call(&registry, "s__go", &json!({ "case": case }).to_string()).await;
        assert_eq!(execution.result.error.as_deref(), Some(kind.code()), "{case}");
        assert!(execution.result.text.contains(in_text), "{case}: {}", execution.result.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_arrives_in_order_before_the_result() {
    let server = Server::default();
    let client = server.simple(with_go(true, |call| {
        let token = &call["params"]["_meta"]["progressToken"];
        let progress = |n: u32| {
            let params = json!({ "progressToken": token, "progress": n, "message": "m\u{202e}" });
            notification("notifications/progress", params)
        };
        let mut actions: Vec<_> = (0..1_000).map(progress).collect();
        actions.extend(text(call, "done"));
        actions
    }));
    let (registry, _) = connect(client).await;
    let recorder = Recorder::new(5_000);
    let dispatcher = Dispatcher::new(registry).observer(recorder.clone());
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "s__go", "{}")]).await;
    assert!(executions[0].result.error.is_none());
    let events = recorder.events();
    let progress: Vec<_> = events
        .iter()
        .filter_map(|event| match event.tool_event()? {
            ToolEvent::Progress { progress, .. } => Some(progress),
            _ => None,
        })
        .collect();
    assert_eq!(progress.len(), 1_000);
    assert!(progress.windows(2).all(|pair| pair[0].done < pair[1].done));
    assert_eq!(progress[0].message.as_deref(), Some("m"));
    assert!(matches!(events.last().unwrap().tool_event(), Some(ToolEvent::Finished(_))));
}

#[tokio::test(start_paused = true)]
async fn call_ends_at_its_deadline_and_is_cancelled() {
    let server = Server::default();
    let client = server.simple(with_go(false, |_| Vec::new())).call_timeout(Duration::from_secs(5));
    let (registry, connection) = connect(client).await;
    let started = tokio::time::Instant::now();
    let execution = call(&registry, "s__go", "{}").await;
    assert_eq!(execution.result.error.as_deref(), Some(ToolErrorKind::Timeout.code()));
    assert_eq!(started.elapsed().as_secs(), 5);
    wait_until(|| !server.received("notifications/cancelled").is_empty()).await;
    let id = &server.received("tools/call")[0]["id"];
    assert_eq!(&server.received("notifications/cancelled")[0]["params"]["requestId"], id);
    assert!(connection.status().is_connected());
}

#[tokio::test]
async fn cancelled_batch_cancels_the_request() {
    let server = Server::default();
    let stop = CancellationToken::new();
    let on_call = stop.clone();
    let client = server.simple(with_go(false, move |_| {
        on_call.cancel();
        Vec::new()
    }));
    let (registry, _) = connect(client).await;
    let mut batch = Batch::from(vec![ToolCall::new("1", "s__go", "{}")]);
    batch.cancellation = Some(stop);
    let executions = Dispatch::dispatch(&Dispatcher::new(registry.clone()), batch).await;
    assert_eq!(executions[0].result.error.as_deref(), Some(ToolErrorKind::Cancelled.code()));
    wait_until(|| server.received("notifications/cancelled").len() == 1).await;
}

#[tokio::test]
async fn parallel_calls_get_their_own_answers() {
    let server = Server::default();
    // Answers in reverse order, in blocks of 8.
    let mut waiting: Vec<Value> = Vec::new();
    let client = server.simple(with_go(true, move |call| {
        waiting.push(call.clone());
        if waiting.len() < 8 {
            return Vec::new();
        }
        let reply = |call: Value| text(&call, &format!("n={}", call["params"]["arguments"]["n"]));
        waiting.drain(..).rev().flat_map(reply).collect()
    }));
    let (registry, _) = connect(client).await;
    let calls = (0..64).map(|n| ToolCall::new(format!("{n}"), "s__go", format!("{{\"n\": {n}}}")));
    let executions = Dispatcher::new(registry).dispatch(calls.collect()).await;
    for (n, execution) in executions.iter().enumerate() {
        let text = &execution.result.text;
        assert!(text.contains(&format!("\nn={n}\n")), "{n}: {text}");
    }
}

#[tokio::test]
async fn wrong_ids_and_second_answers_are_ignored() {
    let server = Server::default();
    let client = server.simple(with_go(false, |call| {
        let mut actions = answer(&json!({ "id": 99_999 }), json!({ "content": [] }));
        actions.extend(answer(&json!({ "id": "x" }), json!({})));
        actions.extend(error(&json!({ "id": null }), -32600, "what?"));
        actions.push(Action::Raw(b"not json\n{\"jsonrpc\": 5}\n[1]\n\n".to_vec()));
        actions.extend(text(call, "right"));
        actions.extend(text(call, "wrong"));
        actions
    }));
    let (registry, _) = connect(client).await;
    for _ in 0..3 {
        let execution = call(&registry, "s__go", "{}").await;
        assert!(execution.result.text.contains("right"), "{}", execution.result.text);
    }
}

#[tokio::test]
async fn misplaced_options_are_errors() {
    let registry = tool_runtime::Registry::new();
    let client = McpClient::streams(|| async { Ok((tokio::io::empty(), tokio::io::sink())) });
    let error = client.arg("x").connect("s", &registry).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid MCP client options: `arg` applies to programs only");
    for url in ["file:///etc/passwd", "nonsense"] {
        assert!(McpClient::http(url).connect("s", &registry).await.is_err());
    }
    let client = McpClient::stdio("true");
    assert!(client.connect("a b", &registry).await.unwrap_err().to_string().contains("a b"));
}

#[tokio::test]
async fn number_that_would_be_rounded_is_refused() {
    let server = Server::default();
    let client = server.simple(with_go(false, |call| text(call, "done")));
    let (registry, _) = connect(client).await;
    for (arguments, is_sent) in [
        (r#"{"account": 123456789012345678901234567890}"#, false),
        (r#"{"rate": 0.12345678901234567890123}"#, false),
        (r#"{"account": 18446744073709551615, "rate": 1.5e3}"#, true),
        (r#"{"account": "123456789012345678901234567890"}"#, true),
    ] {
        let execution = call(&registry, "s__go", arguments).await;
        assert_eq!(execution.result.text.contains("done"), is_sent, "{arguments}: {execution:?}");
        assert_eq!(execution.result.text.contains("too many digits"), !is_sent, "{arguments}");
    }
    assert_eq!(server.received("tools/call").len(), 2);
}

#[tokio::test]
async fn data_of_an_error_are_kept_unless_they_are_large() {
    for (bytes, has_data) in [(100, true), (100_000, false)] {
        let client = Server::default().simple(with_go(false, move |call| {
            let data = json!({ "details": "x".repeat(bytes) });
            let error = json!({ "code": -32050, "message": "no", "data": data });
            vec![Action::Send(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }))]
        }));
        let (registry, _) = connect(client).await;
        let execution = call(&registry, "s__go", "{}").await;
        let error = execution.protocol_error.unwrap();
        assert_eq!((error.code, !error.data.is_null()), (-32050, has_data));
    }
}

#[tokio::test]
async fn longest_duration_of_each_setting_is_no_limit() {
    let longest = Duration::MAX;
    let server = Server::default();
    let client = server.simple(with_tools(false, json!([tool("add")]), |call| text(call, "ok")));
    let client = client.connect_timeout(longest).call_timeout(longest).send_timeout(longest);
    let (registry, connection) = connect(client).await;
    let execution = call(&registry, "s__add", "{}").await;
    assert_eq!(execution.result.error, None, "{}", execution.result.text);
    assert_eq!(execution.tool_kind, Some(ToolKind::Remote("s".into())));
    assert_eq!(connection.refresh().await.unwrap().registered, ["s__add"]);
}
