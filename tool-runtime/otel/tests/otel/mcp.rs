//! The exported spans of a call that an MCP server runs, on both sides.

use opentelemetry::global;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tool_runtime::mcp::{McpClient, McpServer};
use tool_runtime::otel::{Conventions, continue_trace, trace_context};
use tool_runtime::{Agent, ChatReply, Registry, ScriptedModel, ToolError, tool, tools};

use super::conventions::Source;
use super::endpoint::json;
use super::scenario::export_of;

/// The spans of MCP.
const MCP: Source = Source {
    repository: "open-telemetry/semantic-conventions-genai",
    file: "docs/gen-ai/mcp.md",
    commit: "0393513c908bf895e7b3ec480a2c1eb073c584af",
};

/// An attribute: the span, the name, the level of the requirement, the value; null if the runtime
/// does not know it.
type Row = (&'static str, &'static str, &'static str, Value, Source);

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let (client, server, failed) =
        ("execute_tool counter__add", "tools/call add", "tools/call fail");
    let row = |span, name, level, value| (span, name, level, value, MCP);
    vec![
        row(client, "mcp.method.name", "required", json!("tools/call")),
        row(client, "gen_ai.tool.name", "conditional", json!("counter__add")),
        row(client, "jsonrpc.request.id", "conditional", json!("any")),
        row(client, "gen_ai.operation.name", "recommended", json!("execute_tool")),
        row(client, "mcp.protocol.version", "recommended", json!("any")),
        // Streams have none, and of HTTP it is known to the SDK alone.
        row(client, "mcp.session.id", "recommended", Value::Null),
        row(client, "network.transport", "recommended", json!("pipe")),
        row(client, "rpc.response.status_code", "conditional", Value::Null),
        row(client, "server.address", "recommended", Value::Null),
        row(server, "mcp.method.name", "required", json!("tools/call")),
        row(server, "gen_ai.tool.name", "conditional", json!("add")),
        row(server, "jsonrpc.request.id", "conditional", json!("any")),
        row(server, "gen_ai.operation.name", "recommended", json!("execute_tool")),
        row(server, "mcp.protocol.version", "recommended", json!("any")),
        row(server, "mcp.session.id", "recommended", Value::Null),
        row(server, "network.transport", "recommended", json!("pipe")),
        row(server, "client.address", "recommended", Value::Null),
        row(server, "error.type", "conditional", Value::Null),
        row(failed, "error.type", "conditional", json!("tool_error")),
    ]
}

/// Adds two numbers.
#[tool(effect = "read")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails.
#[tool(effect = "read")]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::failed("no"))
}

async fn run() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let client = McpClient::streams(|| async {
        let (near, far) = duplex(64 << 10);
        let (reader, writer) = split(far);
        let server = McpServer::new(tools![add, fail]).trace_parent(continue_trace);
        tokio::spawn(server.serve(reader, writer));
        Ok(split(near))
    });
    let registry = Registry::new();
    let connection =
        client.trace_context(trace_context).connect("counter", &registry).await.unwrap();
    let calls = ChatReply::default()
        .call("counter__add", r#"{"a": 1, "b": 2}"#)
        .call("counter__fail", "{}");
    let model = ScriptedModel::new([calls, ChatReply::text("3")]);
    Agent::new(model, registry).run("1 + 2?").await.unwrap();
    connection.disconnect().await;
}

fn find<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} in {names:?}"))
}

#[test]
fn exported_spans_of_both_sides_are_one_trace() {
    let spans = export_of(Conventions::Latest, |_| run()).spans();
    for (span, name, level, value, source) in rows() {
        let attributes = json(&find(&spans, span).attributes);
        let found = attributes.get(name).unwrap_or(&Value::Null);
        let is_met = match &value {
            Value::String(any) if any == "any" => found.as_str().is_some_and(|it| !it.is_empty()),
            value => value == found,
        };
        assert!(is_met, "{span}: {level} `{name}` of {source:?}: {found} instead of {value}");
    }
    let call = find(&spans, "execute_tool counter__add");
    let request = find(&spans, "tools/call add");
    let inner = find(&spans, "execute_tool add");
    assert_eq!((call.kind, request.kind), (1, 2), "internal and server");
    assert_eq!(request.parent_span_id, call.span_id);
    assert_eq!(inner.parent_span_id, request.span_id);
    assert!(spans.iter().all(|span| span.trace_id == call.trace_id));
    // The call has no second span on the side of the client.
    assert!(spans.iter().all(|span| span.kind != 3 || span.name.starts_with("chat")));
}
