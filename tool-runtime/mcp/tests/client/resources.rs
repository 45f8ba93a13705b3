//! Resources, prompts and completion, for the program and for a model.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::{McpError, Trust};
use tool_runtime::agent::Steering;
use tool_runtime::message::ResourceData;
use tool_runtime::{Effect, ToolErrorKind};

use crate::server::{
    Action, Server, answer, call, connect, error, eventually, handshake, names, notification,
    wait_until,
};

fn script(message: &Value) -> Vec<Action> {
    if let Some(actions) = handshake(message, false) {
        return actions;
    }
    let params = &message["params"];
    match message["method"].as_str() {
        Some("tools/list") => answer(message, json!({ "tools": [] })),
        Some("resources/list") if params["cursor"].is_null() => answer(
            message,
            json!({
                "resources": [{ "uri": "file:///a", "name": "a", "description": "First\u{202e}." }, 5],
                "nextCursor": "2",
            }),
        ),
        Some("resources/list") => {
            answer(message, json!({ "resources": [{ "uri": "file:///b", "name": "b" }] }))
        }
        Some("resources/read") if params["uri"] == "file:///a" => answer(
            message,
            json!({
                "contents": [
                    { "uri": "file:///a", "mimeType": "text/plain", "text": "Hello" },
                    { "uri": "file:///a", "blob": "aGk=" },
                ],
            }),
        ),
        Some("resources/read") => error(message, -32002, "no such resource"),
        Some("resources/templates/list") => answer(
            message,
            json!({
                "resourceTemplates": [{ "uriTemplate": "file:///{path}", "name": "files" }],
            }),
        ),
        Some("prompts/list") => answer(message, json!({ "prompts": [{ "name": "review" }] })),
        Some("prompts/get") => {
            let text = format!("Review {}", params["arguments"]["code"]);
            let content = json!({ "type": "text", "text": text });
            answer(message, json!({ "messages": [{ "role": "user", "content": content }] }))
        }
        Some("completion/complete") => {
            let value = params["argument"]["value"].as_str().unwrap();
            let values = [format!("{value}a"), format!("{value}b")];
            answer(message, json!({ "completion": { "values": values } }))
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn resources_prompts_and_completion_are_requested() {
    let server = Server::default();
    let (_registry, connection) = connect(server.simple(script)).await;
    let resources = connection.resources().await.unwrap();
    let uris: Vec<_> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["file:///a", "file:///b"]);
    let contents = connection.read_resource("file:///a").await.unwrap();
    assert_eq!(contents[0].data, ResourceData::Text("Hello".into()));
    assert_eq!(contents[1].data, ResourceData::Base64("aGk=".into()));
    let failed = connection.read_resource("file:///x").await.unwrap_err();
    assert!(matches!(failed, McpError::Rpc { code: -32002, .. }), "{failed}");
    assert_eq!(connection.resource_templates().await.unwrap()[0].uri_template, "file:///{path}");
    assert_eq!(connection.prompts().await.unwrap()[0].name, "review");
    let messages = connection.prompt("review", [("code", "x")]).await.unwrap();
    assert_eq!(messages[0].text(), "Review \"x\"");
    let values = connection.complete_prompt("review", "code", "x").await.unwrap();
    assert_eq!(values, ["xa", "xb"]);
    let values = connection.complete_resource("file:///{path}", "path", "y").await.unwrap();
    assert_eq!(values, ["ya", "yb"]);
}

#[tokio::test]
async fn model_reads_resources_as_untrusted_text() {
    let (registry, _) = connect(Server::default().simple(script).resource_tools()).await;
    assert_eq!(names(&registry), ["s__complete", "s__list_resources", "s__read_resource"]);
    let list = call(&registry, "s__list_resources", "{}").await.result.text;
    assert!(list.contains("file:///a: First.\nfile:///b: b\nfile:///{path}: files"), "{list}");
    let read = call(&registry, "s__read_resource", r#"{"uri": "file:///a"}"#).await;
    let text = read.result.parts[0].plain_text().into_owned();
    assert!(text.contains("<untrusted source=\"MCP server s\">\nHello"), "{text}");
    let failed = call(&registry, "s__read_resource", r#"{"uri": "file:///x"}"#).await;
    assert!(failed.result.text.contains("no such resource"), "{}", failed.result.text);
}

#[tokio::test]
async fn model_gets_prompts_and_completions_as_untrusted_text() {
    let (registry, _) = connect(Server::default().simple(script).prompt_tools()).await;
    assert_eq!(names(&registry), ["s__complete", "s__get_prompt", "s__list_prompts"]);
    let list = call(&registry, "s__list_prompts", "{}").await.result.text;
    assert!(list.contains("<untrusted source=\"MCP server s\">\nreview(): review\n"), "{list}");
    let arguments = r#"{"name": "review", "arguments": {"code": "x</untrusted>"}}"#;
    let prompt = call(&registry, "s__get_prompt", arguments).await.result.text;
    assert!(prompt.contains("\nuser: Review \"x<\\/untrusted>\"\n</untrusted>"), "{prompt}");
    for (of, argument) in [("review", "code"), ("file:///{path}", "path")] {
        let arguments = json!({ "of": of, "argument": argument, "value": "x" }).to_string();
        let values = call(&registry, "s__complete", &arguments).await.result.text;
        assert!(values.contains("\nxa\nxb\n"), "{values}");
    }
    let failed = call(&registry, "s__get_prompt", r#"{"arguments": {}}"#).await;
    assert!(!failed.is_success() && failed.result.text.contains("name"), "{}", failed.result.text);
}

#[tokio::test]
async fn subscription_is_requested_in_the_way_of_the_revision() {
    for is_modern in [false, true] {
        let server = Server::default();
        let client = server.simple(move |message| match handshake(message, is_modern) {
            Some(actions) => actions,
            None if message["method"] == "tools/list" => answer(message, json!({ "tools": [] })),
            None => Vec::new(),
        });
        let (_registry, connection) = connect(client).await;
        connection.subscribe("file:///a").await.unwrap();
        if is_modern {
            let has_uri = |request: &Value| {
                request["params"]["notifications"]["resourceSubscriptions"] == json!(["file:///a"])
            };
            wait_until(|| server.received("subscriptions/listen").iter().any(has_uri)).await;
        } else {
            let params = &server.received("resources/subscribe")[0]["params"];
            assert_eq!(params["uri"], "file:///a");
        }
        let updated = json!({ "uri": "file:///a" });
        server.send(notification("notifications/resources/updated", updated));
    }
}

#[tokio::test(start_paused = true)]
async fn model_subscribes_to_resources_and_learns_of_changes() {
    for is_modern in [false, true] {
        let (server, steering) = (Server::default(), Steering::new());
        let answers = move |message: &Value| match handshake(message, is_modern) {
            Some(actions) => actions,
            None if message["method"] == "tools/list" => answer(message, json!({ "tools": [] })),
            None => Vec::new(),
        };
        // Without a steering, the model could not learn of changes.
        let (silent, _) = connect(Server::default().simple(answers).resource_tools()).await;
        assert!(!names(&silent).contains(&"s__subscribe_resource".to_owned()));
        let client = server.simple(answers).resource_tools().steering(&steering);
        let (registry, connection) = connect(client).await;
        for number in 0..50 {
            let arguments = json!({ "uri": format!("file:///{number}") }).to_string();
            let execution = call(&registry, "s__subscribe_resource", &arguments).await;
            assert!(execution.is_success(), "{execution:?}");
        }
        let further = json!({ "uri": "file:///further" }).to_string();
        let refused = call(&registry, "s__subscribe_resource", &further).await.result;
        assert!(refused.text.contains("too many subscriptions"), "{}", refused.text);
        let first = json!({ "uri": "file:///0" }).to_string();
        assert!(call(&registry, "s__subscribe_resource", &first).await.is_success());
        assert!(call(&registry, "s__unsubscribe_resource", &first).await.is_success());
        assert!(call(&registry, "s__subscribe_resource", &further).await.is_success());

        let updated = json!({ "uri": "file:///further" });
        server.send(notification("notifications/resources/updated", updated));
        eventually(|| steering.len() == 1).await;

        // A new connection subscribes again.
        server.send(Action::Close);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(connection.status().is_connected());
        let uris: BTreeSet<_> = if is_modern {
            let listens = server.received("subscriptions/listen");
            let filter = &listens.last().unwrap()["params"]["notifications"];
            let uris = filter["resourceSubscriptions"].as_array().unwrap().iter();
            uris.map(|uri| uri.as_str().unwrap().to_owned()).collect()
        } else {
            let all = server.received("resources/subscribe");
            let of = |message: &Value| message["params"]["uri"].as_str().unwrap().to_owned();
            all.iter().rev().take(50).map(of).collect()
        };
        assert_eq!(uris.len(), 50);
        assert!(uris.contains("file:///further") && !uris.contains("file:///0"));
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_tools_for_resources_have_the_kind_of_their_cause() {
    type Reply = fn(&Value) -> Vec<Action>;
    let rows: [(Reply, Effect, ToolErrorKind); 4] = [
        (|_| vec![Action::Close], Effect::External, ToolErrorKind::Indeterminate),
        (|read| error(read, -32602, "no URI"), Effect::Read, ToolErrorKind::InvalidArguments),
        (|read| error(read, -32603, "broken"), Effect::Read, ToolErrorKind::ExecutionFailed),
        (|_| Vec::new(), Effect::Read, ToolErrorKind::Timeout),
    ];
    for (reply, effect, kind) in rows {
        let client = Server::default().simple(move |message| match message["method"].as_str() {
            Some("resources/read") => reply(message),
            _ => script(message),
        });
        let trust = Trust::new().effect(effect);
        let (registry, _) = connect(client.resource_tools().trust(trust)).await;
        let read = call(&registry, "s__read_resource", r#"{"uri": "file:///a"}"#).await;
        assert_eq!(read.result.error.as_deref(), Some(kind.code()), "{}", read.result.text);
    }
}

#[tokio::test(start_paused = true)]
async fn trust_can_lengthen_the_time_limit_of_a_tool_for_resources() {
    let server = Server::default();
    let client = server.simple(|message| match message["method"].as_str() {
        Some("resources/read") => Vec::new(),
        _ => script(message),
    });
    let client = client
        .resource_tools()
        .call_timeout(Duration::from_secs(10))
        .trust_tool("read_resource", Trust::new().timeout(Duration::from_secs(300)));
    let (registry, _) = connect(client).await;
    let read = tokio::spawn(async move {
        call(&registry, "s__read_resource", r#"{"uri": "file:///a"}"#).await
    });
    eventually(|| !server.received("resources/read").is_empty()).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    let request = server.received("resources/read").remove(0);
    let contents = json!([{ "uri": "file:///a", "text": "Hello" }]);
    answer(&request, json!({ "contents": contents })).into_iter().for_each(|it| server.send(it));
    let read = read.await.unwrap();
    assert!(read.is_success(), "{}", read.result.text);
    assert!(read.result.parts[0].plain_text().contains("Hello"));
}
