//! Requests: their path, their key and their body.

use serde_json::json;
use tool_runtime::providers::OpenAiResponses;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatRequest, ContentPart, Image, Message, ModelError,
    ToolCall, ToolChoice, ToolDefinition, ToolResult,
};

use super::{client, request_body};
use support::canned::{Canned, Reply};

#[tokio::test]
async fn conversation_with_calls_and_results() {
    let first = ToolCall::new("a.1", "weather.get", r#"{ "city":  "Oslo" }"#);
    let second = ToolCall::new("b", "weather.get", json!({ "city": "Rome" }));
    let damaged = ToolCall::new("c".repeat(65), "weather.get", "{city: 'Bonn'");
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let mut result = ToolResult::success(&first, "rain");
    result.parts = vec![image.clone().into()];
    let mut failed_result = ToolResult::success(&damaged, "");
    failed_result.parts = vec![image.clone().into()];
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    let messages = [
        Message::system("Be brief."),
        Message::User {
            id: None,
            parts: vec![ContentPart::Text { text: "Look:".into() }, ContentPart::Image(image)],
        },
        Message::Assistant {
            id: None,
            parts: vec![
                text("One moment."),
                text(""),
                AssistantPart::Call(first),
                AssistantPart::Call(second.clone()),
                AssistantPart::Call(damaged),
            ],
        },
        Message::Tool {
            results: vec![
                result,
                ToolResult::failure(&second, "TOOL_TIMEOUT", "too slow"),
                failed_result,
            ],
        },
        Message::user("And now?"),
        Message::system("Be kind."),
    ];
    let schema = json!({ "type": "object", "properties": {} });
    let tool = ToolDefinition::new("weather.get", "Weather.", schema.clone());
    let tools = [&tool];

    let body = request_body(ChatRequest::new(&messages).tools(&tools)).await;

    let name = body["tools"][0]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("weather_get"), "{name}");
    let [first_id, third_id] = [3, 5].map(|place: usize| body["input"][place]["call_id"].clone());
    for id in [&first_id, &third_id] {
        let id = id.as_str().unwrap();
        assert!(id.len() <= 64 && id.bytes().all(|byte| byte != b'.'), "{id}");
    }
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA",
        "detail": "auto" });
    let words = |text: &str| json!({ "type": "input_text", "text": text });
    let message =
        |role: &str, content| json!({ "type": "message", "role": role, "content": content });
    let call = |id, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments });
    let output =
        |id, output| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let expected = json!({
        "model": "gpt-5",
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "input": [
            message("system", json!("Be brief.")),
            message("user", json!([words("Look:"), image])),
            message("assistant", json!("One moment.")),
            call(&first_id, r#"{ "city":  "Oslo" }"#),
            call(&json!("b"), r#"{"city":"Rome"}"#),
            call(&third_id, r#"{"city":"Bonn"}"#),
            output(&first_id, json!([words("rain"), image])),
            output(&json!("b"), json!("too slow")),
            output(&third_id, json!([image])),
            message("user", json!("And now?")),
            message("system", json!("Be kind.")),
        ],
        "tools": [{ "type": "function", "name": name, "description": "Weather.",
            "parameters": schema, "strict": false }],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn options_set_their_members() {
    let tool = ToolDefinition::new("now.utc", "Time.", json!({ "type": "object" }));
    let set = ChatOptions::default;
    let schema = json!({ "type": "object" });
    for (options, expected) in [
        (set(), json!({})),
        (set().tool_choice(ToolChoice::Required), json!({ "tool_choice": "required" })),
        (set().tool_choice(ToolChoice::None), json!({ "tool_choice": "none" })),
        (
            set().tool_choice(ToolChoice::Tool("now.utc".into())),
            json!({ "tool_choice": { "type": "function", "name": "now_utc" } }),
        ),
        (set().parallel_calls(false), json!({ "parallel_tool_calls": false })),
        (
            set().output(schema.clone()),
            json!({ "text": { "format":
                { "type": "json_schema", "name": "output", "schema": schema, "strict": false } } }),
        ),
        (
            set().max_tokens(9).extra("metadata", json!({ "team": "blue" })),
            json!({ "max_output_tokens": 9, "metadata": { "team": "blue" } }),
        ),
        (
            set().extra("reasoning", json!({ "effort": "low" })),
            json!({ "reasoning": { "effort": "low" } }),
        ),
    ] {
        let (tools, messages) = ([&tool], [Message::user("Hello")]);
        let mut body =
            request_body(ChatRequest::new(&messages).tools(&tools).options(&options)).await;
        let members = body.as_object_mut().unwrap();
        for known in ["model", "input", "tools", "store", "include"] {
            members.remove(known).unwrap();
        }
        assert_eq!(body, expected, "{options:?}");
    }
    // The API refuses a choice among no tools; extra options of the program take precedence.
    let options = set().tool_choice(ToolChoice::None).parallel_calls(true).extra("store", true);
    let body = request_body(ChatRequest::new(&[]).options(&options)).await;
    let include = json!(["reasoning.encrypted_content"]);
    let assistant =
        json!({ "type": "message", "role": "user", "content": "[The conversation goes on.]" });
    let expected =
        json!({ "model": "gpt-5", "input": [assistant], "store": true, "include": include });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn unsupported_options_are_errors() {
    let options = ChatOptions::default().stop("END");
    let canned = Canned::default();
    let error = client(&canned).reply(ChatRequest::new(&[]).options(&options)).await.unwrap_err();
    assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
    assert!(error.to_string().contains("Responses") && error.to_string().contains("`stop`"));
    assert!(canned.requests().is_empty());
}

/// Models that do not reason refuse a request for encrypted reasoning.
#[tokio::test]
async fn encrypted_reasoning_is_requested_only_from_reasoning_models() {
    for (model, is_requested) in [
        ("gpt-5-mini", true),
        ("o3", true),
        ("openai/gpt-oss-20b", true),
        ("gpt-4o", false),
        ("ft:gpt-4.1-mini:me", false),
        ("gpt-3.5-turbo", false),
        ("chatgpt-4o-latest", false),
        ("gpt-5-chat-latest", false),
    ] {
        let canned = Canned::new([Reply::text(200, r#"{"output": []}"#)]);
        let client = OpenAiResponses::new("https://models.invalid/v1", model);
        client.transport(canned.clone()).reply(ChatRequest::new(&[])).await.unwrap();
        let body = String::from_utf8(canned.requests()[0].body.clone()).unwrap();
        assert_eq!(body.contains("encrypted_content"), is_requested, "{model}");
    }
}
