//! Requests and replies of Ollama's own API, over a transport of the tests.

mod pairing;

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::providers::Ollama;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, ContentPart, FinishReason,
    Image, Message, ModelError, Reasoning, ToolCall, ToolChoice, ToolDefinition, ToolResult,
};

const EMPTY_REPLY: &str = r#"{"message": {"role": "assistant", "content": ""}, "done": true}"#;

fn client(canned: &Canned) -> Ollama {
    Ollama::new("http://models.invalid:11434", "qwen3").transport(canned.clone()).max_retries(0)
}

/// Returns the body that is sent for a request.
async fn request_body(request: ChatRequest<'_>) -> Result<Value, ModelError> {
    let canned = Canned::new([Reply::text(200, EMPTY_REPLY)]);
    client(&canned).reply(request).await?;
    Ok(serde_json::from_slice(&canned.requests()[0].body).unwrap())
}

#[tokio::test]
async fn conversation_with_calls_and_results() {
    let thought = |provider: &str| {
        AssistantPart::Reasoning(Reasoning::new(provider, "Hm.", json!({ "thinking": "Hm." })))
    };
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    let first = ToolCall::new("a.1", "weather.get", r#"{ "city": "Oslo" }"#);
    let second = ToolCall::new("b", "weather.get", json!({ "city": "Rome" }));
    let damaged = ToolCall::new("c", "weather.get", "{city: 'Bonn'");
    let image = |base64: &str| Image { media_type: "image/png".into(), base64: base64.into() };
    let mut result = ToolResult::success(&first, "rain");
    result.parts = vec![image("BBBB").into()];
    let messages = [
        Message::system("Be brief."),
        Message::User {
            id: None,
            parts: vec![
                ContentPart::Text { text: "Look:".into() },
                ContentPart::Image(image("AAAA")),
                ContentPart::Text { text: " well?".into() },
            ],
        },
        Message::Assistant {
            id: None,
            parts: vec![
                thought("ollama"),
                thought("chat-completions"),
                text("One moment."),
                AssistantPart::Call(first),
                AssistantPart::Call(second.clone()),
                AssistantPart::Call(damaged.clone()),
            ],
        },
        Message::Tool {
            results: vec![
                result,
                ToolResult::failure(&second, "TOOL_TIMEOUT", "too slow"),
                ToolResult::success(&damaged, ""),
            ],
        },
        Message::user("And now?"),
    ];
    let schema = json!({ "type": "object", "properties": {
        "any": true, "none": false, "deep": { "anyOf": [true, { "properties": { "x": true } }] },
    } });
    let tool = ToolDefinition::new("weather.get", "Weather.", schema);
    let tools = [&tool];

    let body = request_body(ChatRequest::new(&messages).tools(&tools)).await.unwrap();

    let name = body["tools"][0]["function"]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("weather_get"), "{name}");
    let call = |id: &str, city: &str| json!({ "id": id, "function": { "name": name, "arguments": { "city": city } } });
    let expected = json!({
        "model": "qwen3",
        "stream": false,
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Look: well?", "images": ["AAAA"] },
            { "role": "assistant", "content": "One moment.", "thinking": "Hm.",
                "tool_calls": [call("a.1", "Oslo"), call("b", "Rome"), call("c", "Bonn")] },
            { "role": "tool", "tool_name": name, "tool_call_id": "a.1", "content": "rain",
                "images": ["BBBB"] },
            { "role": "tool", "tool_name": name, "tool_call_id": "b", "content": "too slow" },
            { "role": "tool", "tool_name": name, "tool_call_id": "c", "content": "" },
            { "role": "user", "content": "And now?" },
        ],
        "tools": [{ "type": "function", "function": {
            "name": name, "description": "Weather.",
            // The server refuses a property that is not an object.
            "parameters": { "type": "object", "properties": {
                "any": {}, "none": { "not": {} },
                "deep": { "anyOf": [{}, { "properties": { "x": {} } }] },
            } },
        } }],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn options_set_their_members() {
    let tool = ToolDefinition::new("now", "Time.", json!({ "type": "object" }));
    let tools = [&tool];
    let listed = json!([{ "type": "function", "function":
        { "name": "now", "description": "Time.", "parameters": { "type": "object" } } }]);
    let set = ChatOptions::default;
    let schema = json!({ "type": "object" });
    let reply_to = |options: ChatOptions| async move {
        let (tools, messages) = ([tools[0]], [Message::user("Hello")]);
        request_body(ChatRequest::new(&messages).tools(&tools).options(&options)).await
    };
    for (options, expected) in [
        (set(), json!({ "tools": listed })),
        (set().parallel_calls(true), json!({ "tools": listed })),
        // Without tools the model calls none.
        (set().tool_choice(ToolChoice::None), json!({})),
        (set().tool_choice(ToolChoice::None).parallel_calls(false), json!({})),
        (set().output(schema.clone()), json!({ "tools": listed, "format": schema })),
        (
            set().max_tokens(9).temperature(0.5).stop("END").stop("\n"),
            json!({ "tools": listed,
                "options": { "num_predict": 9, "temperature": 0.5, "stop": ["END", "\n"] } }),
        ),
        (
            set().temperature(0.5).extra("options", json!({ "num_ctx": 32_768 })),
            json!({ "tools": listed, "options": { "num_ctx": 32_768, "temperature": 0.5 } }),
        ),
        (
            set().extra("think", "high").extra("keep_alive", "1h"),
            json!({ "tools": listed, "think": "high", "keep_alive": "1h" }),
        ),
    ] {
        let mut body = reply_to(options.clone()).await.unwrap();
        let members = body.as_object_mut().unwrap();
        for known in ["model", "messages", "stream"] {
            members.remove(known).unwrap();
        }
        assert_eq!(body, expected, "{options:?}");
    }
    for (options, named) in [
        (set().tool_choice(ToolChoice::Required), "`ToolChoice::Required`"),
        (set().tool_choice(ToolChoice::Tool("now".into())), "`ToolChoice::Tool`"),
        (set().parallel_calls(false), "`parallel_calls(false)`"),
    ] {
        let error = reply_to(options).await.unwrap_err();
        assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
        let error_text = error.to_string();
        assert!(error_text.contains("Ollama") && error_text.contains(named), "{error_text}");
    }
    // Without tools, options of calls do not matter.
    let options = set().tool_choice(ToolChoice::None).parallel_calls(false);
    request_body(ChatRequest::new(&[]).options(&options)).await.unwrap();
}

/// Bodies that compatible servers send, but never Ollama itself.
#[tokio::test]
async fn replies_of_compatible_servers_are_decoded() {
    let read = |body: Value| async move {
        let canned = Canned::new([Reply::text(200, &body.to_string())]);
        client(&canned).reply(ChatRequest::new(&[])).await
    };
    let with_call = |function: Value| json!({ "message": { "tool_calls": [{ "function": function }] }, "done": true });
    for (body, expected) in [
        (json!({ "message": {}, "done": true }), ChatReply::default()),
        (
            json!({ "message": { "content": null, "thinking": null }, "done": true }),
            ChatReply::default(),
        ),
        (
            with_call(json!({ "name": "now", "arguments": "{ \"a\": 1 }" })),
            ChatReply::default().call("now", "{ \"a\": 1 }").finish_reason(FinishReason::ToolCalls),
        ),
        (
            with_call(json!({ "name": "now" })),
            ChatReply::default().call("now", "").finish_reason(FinishReason::ToolCalls),
        ),
    ] {
        assert_eq!(read(body).await.unwrap(), expected);
    }
}
