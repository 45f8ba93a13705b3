//! Requests whose parameters are not valid, and cursors that are none.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_mcp::McpServer;
use tool_mcp::server::{Prompt, Prompts, Resources, Tasks};
use tool_runtime::message::{ResourceData, ResourceLink};
use tool_runtime::{ToolError, tool, tools};

use crate::client::{Client, NEW, OLD, all_capabilities, text};
use crate::http::Http;

/// Returns a text.
#[tool(effect = "none")]
async fn echo(text: String) -> String {
    text
}

fn server() -> McpServer {
    let (resources, prompts) = (Resources::new(), Prompts::new());
    resources.insert(ResourceLink::new("a://good", "good"), |_| async {
        Ok(ResourceData::Text("good".to_owned()))
    });
    resources.insert(ResourceLink::new("a://bad", "bad"), |_| async {
        Err(ToolError::invalid_arguments("the page does not exist"))
    });
    prompts.insert(Prompt::new("hello"), |_| async { Ok(Vec::new()) });
    McpServer::new(tools![echo])
        .resources(resources)
        .prompts(prompts)
        .tasks(Tasks::new())
        .completion(|_| async { Vec::new() })
}

/// Requests with parameters that are not valid, and what the reason names.
fn malformed() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("tools/call", json!({ "name": 7 }), "name"),
        ("tools/call", json!({}), "name"),
        ("tools/call", json!({ "name": "echo", "arguments": [1] }), "arguments"),
        ("tools/list", json!({ "cursor": "banana" }), "invalid cursor"),
        ("prompts/list", json!({ "cursor": "" }), "invalid cursor"),
        ("resources/list", json!({ "cursor": "0000000000000000a" }), "invalid cursor"),
        ("resources/templates/list", json!({ "cursor": "x" }), "invalid cursor"),
        ("prompts/get", json!({ "name": [] }), "name"),
        ("prompts/get", json!({ "name": "none" }), "none"),
        ("resources/read", json!({ "uri": 7 }), "uri"),
        ("resources/read", json!({ "uri": "a://bad" }), "the page does not exist"),
        ("completion/complete", json!({ "ref": { "type": "ref/none" } }), "ref"),
        ("tasks/get", json!({ "taskId": 7 }), "taskId"),
        ("tasks/get", json!({ "taskId": "none" }), ""),
    ]
}

#[tokio::test]
async fn parameters_that_are_not_valid_have_their_code_and_reason() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        let mut requests = malformed();
        if revision == OLD {
            requests.push(("logging/setLevel", json!({ "level": "loud" }), "level"));
            requests.push(("resources/subscribe", json!({ "uri": {} }), "uri"));
        }
        for (method, params, reason) in requests {
            let refused = client.request(method, params.clone()).await;
            let error = &refused["error"];
            assert_eq!(error["code"], -32602, "{revision} {method} {params}: {refused}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(reason), "{method} {params}: {message}");
        }
        let unknown = client.request("tools/none", json!({})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        assert_eq!(text(&client.call("echo", json!({ "text": "still" })).await), "still");
    }
}

#[tokio::test]
async fn parameters_that_are_not_valid_are_refused_over_http() {
    let router = server().router();
    let mut old = Http::new(&router, None, OLD);
    assert_eq!(old.initialize().await.status, StatusCode::OK);
    // The client has not declared that it supports tasks.
    for (method, params, reason) in
        malformed().into_iter().filter(|(method, ..)| !method.starts_with("tasks/"))
    {
        let refused = old.post(method, params.clone()).await.message;
        assert_eq!(refused["error"]["code"], -32602, "{method} {params}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{method} {params}: {message}");
    }
}

/// Malformed parameters of `initialize`, and what the reason names.
fn malformed_starts() -> Vec<(Value, &'static str)> {
    let info = json!({ "name": "test", "version": "1" });
    let with = |version: Value| json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
    vec![
        (with(json!(20_251_125)), "protocolVersion"),
        (with(Value::Null), "protocolVersion"),
        (with(json!(["2025-11-25"])), "protocolVersion"),
        (json!({ "capabilities": {}, "clientInfo": info }), "protocolVersion"),
        (json!({ "protocolVersion": OLD, "capabilities": 7, "clientInfo": info }), "capabilities"),
        (json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": "x" }), "clientInfo"),
        (json!({}), "protocolVersion"),
    ]
}

#[tokio::test]
async fn malformed_initialize_is_refused_with_its_reason_and_can_be_repeated() {
    let router = server().router();
    for (params, reason) in malformed_starts() {
        let mut client = Client::raw(server(), 1 << 16);
        let mut http = Http::new(&router, None, OLD);
        let over_http = http.post("initialize", params.clone()).await;
        assert_eq!(over_http.status, StatusCode::BAD_REQUEST, "{params}");
        for refused in [client.request("initialize", params.clone()).await, over_http.message] {
            assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains(reason), "{params}: {message}");
        }
        let info = json!({ "name": "test", "version": "1" });
        let good = json!({
            "protocolVersion": OLD, "capabilities": all_capabilities(), "clientInfo": info,
        });
        let started = client.request("initialize", good).await;
        assert_eq!(started["result"]["protocolVersion"], OLD, "{started}");
        assert_eq!(http.initialize().await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn answer_with_the_id_as_text_answers_no_question() {
    /// Deletes a file.
    #[tool(permission = "ask")]
    async fn delete() -> &'static str {
        "deleted"
    }

    let mut client = Client::connect(McpServer::new(tools![delete]), OLD).await;
    let id = client.start("tools/call", json!({ "name": "delete", "arguments": {} })).await;
    let question = client.next().await;
    let accept = json!({ "action": "accept", "content": { "approve": true } });
    let mut stolen = question.clone();
    stolen["id"] = question["id"].to_string().into();
    client.answer(&stolen, accept.clone()).await;
    client.answer(&question, json!({ "action": "decline" })).await;
    let response = client.response(id).await;
    assert_ne!(text(&response["result"]), "deleted", "{response}");
}
