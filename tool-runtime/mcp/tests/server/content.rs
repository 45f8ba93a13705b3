//! Definitions, content and metadata as clients receive them.

use serde_json::json;
use tool_mcp::server::{McpRequest, Tasks};
use tool_mcp::{McpServer, Meta};
use tool_runtime::message::{Audio, EmbeddedResource, FileData, ResourceLink};
use tool_runtime::{
    Dispatcher, Image, Policy, Registry, ToolContext, ToolError, ToolOutput, args, tool, tools,
};

use crate::client::{Client, NEW, OLD};

/// A sum.
#[args]
#[derive(serde::Serialize)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[tool(effect = "none", title = "Add numbers")]
async fn add(a: i64, b: i64) -> Sum {
    Sum { sum: a + b }
}

/// Reads.
#[tool(effect = "read")]
async fn read() -> &'static str {
    "text"
}

/// Writes.
#[tool(effect = "write", idempotent)]
async fn write() {}

/// Sends.
#[tool]
async fn send() -> ToolOutput {
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    ToolOutput::text("See:")
        .with_part(image)
        .with_part("between")
        .with_part(Audio::new("audio/wav", "BBBB"))
        .with_part(ResourceLink::new("file:///a", "a").media_type("text/plain"))
        .with_part(EmbeddedResource::text("file:///b", "inside"))
        .with_part(FileData::new("application/pdf", "CCCC").name("c.pdf"))
}

/// Draws.
#[tool]
async fn draw() -> ToolOutput {
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    ToolOutput::from_parts([image.into()])
}

#[tokio::test]
async fn definitions_have_titles_schemas_and_hints() {
    for revision in [OLD, NEW] {
        let server = McpServer::new(tools![add, read, write, send]);
        let mut client = Client::connect(server, revision).await;
        let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
        let names: Vec<_> = tools.as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["add", "read", "send", "write"]);
        assert_eq!(tools[0]["title"], "Add numbers");
        assert_eq!(tools[0]["description"], "Adds two numbers.");
        assert_eq!(tools[0]["inputSchema"]["required"], json!(["a", "b"]));
        assert_eq!(tools[0]["outputSchema"]["properties"]["sum"]["type"], "integer");
        let hints = |read_only: bool, idempotent: bool| json!({ "readOnlyHint": read_only, "idempotentHint": idempotent });
        for (tool, mut expected, destructive, open) in [
            (&tools[0], hints(true, true), Some(false), Some(false)),
            (&tools[1], hints(true, true), Some(false), None),
            (&tools[2], hints(false, false), None, Some(true)),
            (&tools[3], hints(false, true), None, Some(false)),
        ] {
            if let Some(destructive) = destructive {
                expected["destructiveHint"] = destructive.into();
            }
            if let Some(open) = open {
                expected["openWorldHint"] = open.into();
            }
            assert_eq!(tool["annotations"], expected, "{}", tool["name"]);
        }
    }
}

#[tokio::test]
async fn results_have_structured_content_and_ordered_parts() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(McpServer::new(tools![add, send, draw]), revision).await;
        let sum = client.call("add", json!({ "a": 2, "b": 3 })).await;
        assert_eq!(sum["structuredContent"], json!({ "sum": 5 }));
        assert_eq!(sum["content"], json!([{ "type": "text", "text": r#"{"sum":5}"# }]));

        let mixed = client.call("send", json!({})).await;
        assert!(mixed.get("structuredContent").is_none());
        let expected = json!([
            { "type": "text", "text": "See:" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "text", "text": "between" },
            { "type": "audio", "data": "BBBB", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "inside" } },
            {
                "type": "resource",
                "resource": {
                    "uri": "attachment:c.pdf",
                    "mimeType": "application/pdf",
                    "blob": "CCCC",
                },
            },
        ]);
        assert_eq!(mixed["content"], expected);

        let image = client.call("draw", json!({})).await;
        assert_eq!(image["content"][0]["type"], "image", "no empty text before it");
    }
}

/// Returns the metadata of its request, and adds metadata to its result in both ways.
#[tool]
async fn trip(fails: bool, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let received = ctx.require::<McpRequest>()?.meta().get("a.example/from").cloned();
    ctx.record(Meta::new().with("a.example/to", "Oslo").with("key", "hunter2"));
    if fails {
        return Err(ToolError::failed("no train"));
    }
    let replaced = Meta::new().with("a.example/to", json!({ "city": "Bergen" }));
    Ok(ToolOutput::json(&received)?.with_effect(replaced))
}

fn trips() -> McpServer {
    let registry = Registry::try_from(tools![trip, read]).unwrap();
    McpServer::new(Dispatcher::new(registry).policy(Policy::new().secrets(["hunter2"])))
}

#[tokio::test]
async fn request_and_result_carry_metadata() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(trips(), revision).await;
        for (fails, expected) in [(false, json!({ "city": "Bergen" })), (true, "Oslo".into())] {
            let params = json!({
                "name": "trip", "arguments": { "fails": fails }, "_meta": { "a.example/from": [7] },
            });
            let result = client.request("tools/call", params).await["result"].clone();
            assert_eq!(result["isError"], fails);
            assert_eq!(result["_meta"]["a.example/to"], expected, "{result}");
            assert_eq!(result["_meta"]["key"], "[redacted]", "metadata is redacted");
            let received = if fails { "no train" } else { "[7]" };
            assert_eq!(result["content"][0]["text"], received);
        }
        let result = client.call("read", json!({})).await;
        assert_eq!(result["_meta"]["a.example/to"], json!(null), "{result}");
    }
}

#[tokio::test]
async fn result_of_a_task_carries_metadata() {
    let server = trips().tasks(Tasks::new().tools(["trip"]));
    let mut client = Client::connect(server, NEW).await;
    let task = client.call("trip", json!({ "fails": false })).await["taskId"].clone();
    let result = loop {
        let state = client.request("tasks/get", json!({ "taskId": task })).await["result"].clone();
        if state["status"] == "completed" {
            break state["result"].clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(result["_meta"]["a.example/to"]["city"], "Bergen", "{result}");
}

#[tokio::test]
async fn definition_carries_metadata() {
    for revision in [OLD, NEW] {
        let server = trips()
            .add_tool_meta("trip", "ui", json!({ "resourceUri": "ui://trip" }))
            .add_tool_meta("trip", "a.example/rank", 1)
            .add_tool_meta("none", "ui", 2);
        let mut client = Client::connect(server, revision).await;
        let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
        assert_eq!(tools[0].get("_meta"), None, "{tools}");
        let expected = json!({ "ui": { "resourceUri": "ui://trip" }, "a.example/rank": 1 });
        assert_eq!(tools[1]["_meta"], expected);
    }
}
