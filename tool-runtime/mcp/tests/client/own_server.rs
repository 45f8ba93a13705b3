//! The client against the server of this crate: metadata in both directions.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_mcp::server::{McpRequest, Tasks};
use tool_mcp::{McpClient, McpServer, Meta, ResultLimits, result_meta};
use tool_runtime::dispatch::{Batch, RunInfo};
use tool_runtime::{
    Dispatcher, Registry, ToolCall, ToolContext, ToolError, ToolExecution, tool, tools,
};

use crate::server::connect;

/// Returns the metadata of its request as that of its result.
#[tool(effect = "read")]
async fn echo(fails: bool, ctx: &ToolContext) -> Result<String, ToolError> {
    let members = ctx.require::<McpRequest>()?.meta().iter();
    let members = members.filter(|(key, _)| key.starts_with("example.com/"));
    let meta = members.fold(Meta::new(), |meta, (key, value)| meta.with(key, value.clone()));
    ctx.record(meta.with("io.modelcontextprotocol/x", 1).with("example.com/size", "x".repeat(50)));
    if fails { Err(ToolError::failed("no")) } else { Ok("done".to_owned()) }
}

/// Returns the same metadata from a task.
#[tool(effect = "read")]
async fn slow(ctx: &ToolContext) -> Result<String, ToolError> {
    echo(false, ctx).await
}

fn client() -> McpClient {
    McpClient::streams(|| async {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(far);
        let server = McpServer::new(tools![echo, slow])
            .add_tool_meta("echo", "ui", json!({ "resourceUri": "ui://e\u{202e}cho" }))
            .add_tool_meta("echo", "io.modelcontextprotocol/x", 1)
            .tasks(Tasks::new().tools(["slow"]));
        tokio::spawn(server.serve(reader, writer));
        Ok(tokio::io::split(near))
    })
}

async fn call(registry: &Registry, name: &str, arguments: Value) -> ToolExecution {
    let call = ToolCall::new("1", name, arguments.to_string());
    let mut batch = Batch::from(vec![call]);
    batch.run_info = Some(Arc::new(RunInfo::default().metadata("tenant", "acme")));
    let dispatcher = Dispatcher::new(registry.clone());
    dispatcher.dispatch_on(&registry.snapshot(), batch).await.remove(0)
}

#[tokio::test]
async fn metadata_of_a_call_and_of_its_result_arrive() {
    let client = client().call_meta(|tool, ctx| {
        let tenant = ctx.metadata()["tenant"].clone();
        Meta::new().with("example.com/tenant", tenant).with("example.com/tool", tool)
    });
    let (registry, _connection) = connect(client).await;
    for (name, arguments) in [
        ("echo", json!({ "fails": false })),
        ("echo", json!({ "fails": true })),
        ("slow", json!({})),
    ] {
        let execution = call(&registry, &format!("s__{name}"), arguments).await;
        let expected = json!({
            "example.com/tenant": "acme", "example.com/tool": name, "example.com/size": "x".repeat(50),
        });
        assert_eq!(result_meta(&execution).map(Value::from), Some(expected), "{name}");
        assert!(!execution.result.text.contains("acme"), "models do not receive it");
    }
}

#[tokio::test]
async fn metadata_beyond_the_limit_is_left_out() {
    let arguments = json!({ "fails": false });
    for (limit, is_read) in [(100, true), (50, false)] {
        let limits = ResultLimits::default().max_meta_bytes(limit);
        let (registry, _connection) = connect(client().result_limits(limits)).await;
        let execution = call(&registry, "s__echo", arguments.clone()).await;
        assert!(execution.is_success());
        assert_eq!(result_meta(&execution).is_some(), is_read, "{limit}");
    }
}

#[tokio::test]
async fn metadata_of_a_tool_is_read_without_members_of_the_protocol() {
    let (_registry, connection) = connect(client()).await;
    let expected = json!({ "ui": { "resourceUri": "ui://echo" } });
    for name in ["echo", "s__echo"] {
        assert_eq!(connection.tool_meta(name).await.map(Value::from), Some(expected.clone()));
    }
    for name in ["slow", "none", "t__echo"] {
        assert_eq!(connection.tool_meta(name).await, None);
    }
}

#[tokio::test]
async fn call_with_a_reserved_key_is_not_sent() {
    for key in ["io.modelcontextprotocol/logLevel", "progressToken", "traceparent"] {
        let client = client().call_meta(move |_, _| Meta::new().with(key, 1));
        let (registry, _connection) = connect(client).await;
        let execution = call(&registry, "s__echo", json!({ "fails": false })).await;
        assert_eq!(execution.result.error.as_deref(), Some("TOOL_EXECUTION_FAILED"), "{key}");
        assert!(execution.result.text.contains("did not run"), "{}", execution.result.text);
        let cause = execution.cause.clone().unwrap();
        assert!(cause.contains(&format!("metadata key `{key}` is reserved")), "{cause}");
        assert_eq!(result_meta(&execution), None, "the server did not answer");
    }
}
