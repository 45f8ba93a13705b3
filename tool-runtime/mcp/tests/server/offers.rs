//! Resources, prompts and completion.

use serde_json::json;
use tool_mcp::McpServer;
use tool_mcp::server::{
    CompletionRequest, CompletionTarget, Prompt, PromptMessage, PromptRequest, Prompts,
    ResourceRequest, ResourceTemplate, Resources,
};
use tool_runtime::message::{EmbeddedResource, ResourceData, ResourceLink};
use tool_runtime::{Image, ToolError, tools};

use crate::client::{Client, NEW, OLD};

fn server() -> McpServer {
    let resources = Resources::new();
    let notes = ResourceLink::new("notes://all", "notes").media_type("text/plain").size(5);
    resources.insert(notes, |_| async { Ok(ResourceData::Text("Notes".into())) });
    let logo = ResourceLink::new("logo://", "logo").media_type("image/png");
    resources.insert(logo, |_| async { Ok(ResourceData::Base64("AAAA".into())) });
    resources.insert(ResourceLink::new("broken://", "broken"), |_| async {
        Err(ToolError::failed("the disk is full"))
    });
    let order = ResourceTemplate::new("orders://{id}", "order").description("An order");
    resources.insert_template(order, |request: ResourceRequest| async move {
        Ok(ResourceData::Text(format!("{} {:?}", request.uri, request.variable("id"))))
    });

    let prompts = Prompts::new();
    let review = Prompt::new("review")
        .title("Review code")
        .description("Reviews code")
        .required_argument("code", "The code")
        .optional_argument("style", "");
    prompts.insert(review, |request: PromptRequest| async move {
        let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
        Ok(vec![
            PromptMessage::user(format!("Review {}", request.argument("code").unwrap())),
            PromptMessage::user(image),
            PromptMessage::assistant(EmbeddedResource::text("a://", "A")),
        ])
    });
    let fails =
        |_| async { Err::<Vec<PromptMessage>, _>(ToolError::invalid_arguments("no such order")) };
    prompts.insert(Prompt::new("fails"), fails);

    McpServer::new(tools![]).resources(resources).prompts(prompts).completion(
        |request: CompletionRequest| async move {
            match request.target {
                CompletionTarget::Template(uri) => vec![uri, request.argument, request.value],
                CompletionTarget::Prompt(_) => (0..250).map(|n| format!("{n}")).collect(),
                _ => Vec::new(),
            }
        },
    )
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        let listed = client.request("resources/list", json!({})).await["result"].clone();
        let uris: Vec<_> =
            listed["resources"].as_array().unwrap().iter().map(|it| &it["uri"]).collect();
        assert_eq!(uris, ["broken://", "logo://", "notes://all"]);
        let expected = json!({
            "uri": "notes://all", "name": "notes", "mimeType": "text/plain", "size": 5,
        });
        assert_eq!(listed["resources"][2], expected);
        let listed = client.request("resources/templates/list", json!({})).await["result"].clone();
        let expected =
            json!([{ "uriTemplate": "orders://{id}", "name": "order", "description": "An order" }]);
        assert_eq!(listed["resourceTemplates"], expected);

        for (uri, expected) in [
            (
                "notes://all",
                json!({ "uri": "notes://all", "mimeType": "text/plain", "text": "Notes" }),
            ),
            ("logo://", json!({ "uri": "logo://", "mimeType": "image/png", "blob": "AAAA" })),
            ("orders://7", json!({ "uri": "orders://7", "text": r#"orders://7 Some("7")"# })),
        ] {
            let read = client.request("resources/read", json!({ "uri": uri })).await;
            assert_eq!(read["result"]["contents"], json!([expected]));
        }
        let not_found = if revision == OLD { -32002 } else { -32602 };
        for (uri, code) in [("other://", not_found), ("broken://", -32603)] {
            let error = client.request("resources/read", json!({ "uri": uri })).await;
            assert_eq!(error["error"]["code"], code, "{error}");
        }
    }
}

#[tokio::test]
async fn prompts_are_listed_and_rendered() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        let listed = client.request("prompts/list", json!({})).await["result"].clone();
        let arguments = json!([
            { "name": "code", "description": "The code", "required": true },
            { "name": "style", "required": false },
        ]);
        assert_eq!(listed["prompts"][1]["arguments"], arguments);
        assert_eq!(listed["prompts"][1]["title"], "Review code");

        let params = json!({ "name": "review", "arguments": { "code": "x" } });
        let result = client.request("prompts/get", params).await["result"].clone();
        assert_eq!(result["description"], "Reviews code");
        let content = |n: usize| &result["messages"][n]["content"];
        assert_eq!(content(0)["text"], "Review x");
        assert_eq!(content(1)["mimeType"], "image/png");
        assert_eq!(content(2)["resource"]["text"], "A");
        assert_eq!(result["messages"][2]["role"], "assistant");

        for (params, expected) in [
            (json!({ "name": "review" }), "missing argument of prompt review: code"),
            (json!({ "name": "none" }), "unknown prompt: none"),
            (json!({ "name": "fails" }), "no such order"),
        ] {
            let error = client.request("prompts/get", params).await["error"].clone();
            assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(expected)));
        }
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    for revision in [OLD, NEW] {
        let mut client = Client::connect(server(), revision).await;
        let argument = json!({ "name": "id", "value": "7" });
        let of = json!({ "type": "ref/resource", "uri": "orders://{id}" });
        let params = json!({ "ref": of, "argument": argument });
        let completion = client.request("completion/complete", params).await["result"].clone();
        let expected =
            json!({ "values": ["orders://{id}", "id", "7"], "total": 3, "hasMore": false });
        assert_eq!(completion["completion"], expected);

        let of = json!({ "type": "ref/prompt", "name": "review" });
        let params = json!({ "ref": of, "argument": argument });
        let completion = client.request("completion/complete", params).await["result"].clone();
        let values = completion["completion"]["values"].as_array().unwrap();
        assert_eq!((values.len(), &completion["completion"]["total"]), (100, &json!(250)));
    }
}

#[tokio::test]
async fn capabilities_are_those_that_the_program_set() {
    let mut client = Client::raw(McpServer::new(tools![]).name("n").version("2"), 4096);
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info });
    let started = client.request("initialize", params).await["result"].clone();
    assert_eq!(started["serverInfo"], json!({ "name": "n", "version": "2" }));
    let capabilities = started["capabilities"].as_object().unwrap();
    assert_eq!(capabilities.keys().collect::<Vec<_>>(), ["logging", "tools"]);
}
