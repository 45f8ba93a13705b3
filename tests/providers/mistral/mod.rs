//! Requests and replies of Mistral's chat completions, over a transport of the tests.

mod pairing;
mod thoughts;

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::providers::Mistral;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatRequest, ContentPart, Image, Message, Reasoning,
    ToolCall, ToolChoice, ToolDefinition, ToolResult,
};

const EMPTY_REPLY: &str = r#"{"choices": [{"message": {"role": "assistant", "content": ""}}]}"#;

fn client(canned: &Canned) -> Mistral {
    Mistral::new("https://models.invalid/v1", "medium").transport(canned.clone()).max_retries(0)
}

/// Returns the body that is sent for a request.
async fn request_body(request: ChatRequest<'_>) -> Value {
    let canned = Canned::new([Reply::text(200, EMPTY_REPLY)]);
    client(&canned).reply(request).await.unwrap();
    serde_json::from_slice(&canned.requests()[0].body).unwrap()
}

async fn sent_messages(messages: &[Message]) -> Value {
    request_body(ChatRequest::new(messages)).await["messages"].take()
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

#[tokio::test]
async fn conversation_with_calls_and_results() {
    let thinking = json!({ "type": "thinking", "signature": "s=", "thinking":
        [{ "type": "text", "text": "Hm." }] });
    let thought = |provider: &str| {
        AssistantPart::Reasoning(Reasoning::new(provider, "Hm.", thinking.clone()))
    };
    let first = ToolCall::new("call_1", "weather.get", r#"{ "city": "Oslo" }"#);
    let second = ToolCall::new("FI5qQGzDE", "weather.get", json!({ "city": "Rome" }));
    let messages = [
        Message::system("Be brief."),
        Message::user("Umbrella?"),
        Message::Assistant {
            id: None,
            parts: vec![
                thought("mistral"),
                thought("chat-completions"),
                text("One moment."),
                AssistantPart::Call(first.clone()),
                AssistantPart::Call(second.clone()),
            ],
        },
        Message::Tool {
            results: vec![
                ToolResult::success(&first, "rain"),
                ToolResult::failure(&second, "TOOL_TIMEOUT", "too slow"),
            ],
        },
        Message::assistant("Yes."),
        Message::system("Be kind."),
        Message::user("Thanks."),
    ];
    let schema = json!({ "type": "object", "properties": {} });
    let tool = ToolDefinition::new("weather.get", "Weather.", schema.clone());
    let tools = [&tool];

    let body = request_body(ChatRequest::new(&messages).tools(&tools)).await;

    let name = body["tools"][0]["function"]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("weather_get"), "{name}");
    let id = body["messages"][2]["tool_calls"][0]["id"].clone();
    let call = |id: &Value, arguments: &str| {
        json!({ "id": id, "type": "function",
            "function": { "name": name, "arguments": arguments } })
    };
    let expected = json!({
        "model": "medium",
        "messages": [
            { "role": "system", "content": "Be brief.\n\nBe kind." },
            { "role": "user", "content": "Umbrella?" },
            { "role": "assistant",
                "content": [thinking, { "type": "text", "text": "One moment." }],
                "tool_calls": [
                    call(&id, r#"{ "city": "Oslo" }"#),
                    call(&json!("FI5qQGzDE"), r#"{"city":"Rome"}"#),
                ] },
            { "role": "tool", "tool_call_id": id, "name": name, "content": "rain" },
            { "role": "tool", "tool_call_id": "FI5qQGzDE", "name": name, "content": "too slow" },
            { "role": "assistant", "content": "Yes." },
            { "role": "user", "content": "Thanks." },
        ],
        "tools": [{ "type": "function", "function": {
            "name": name, "description": "Weather.", "parameters": schema } }],
    });
    assert_eq!(body, expected);
}

/// Order of the roles.
#[tokio::test]
async fn required_messages_are_inserted() {
    let call = ToolCall::new("FI5qQGzDE", "draw", "{}");
    let call_message =
        || Message::Assistant { id: None, parts: vec![AssistantPart::Call(call.clone())] };
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let mut image_result = ToolResult::success(&call, "done");
    let tool_message = || Message::Tool { results: vec![ToolResult::success(&call, "done")] };
    image_result.parts = vec![image.clone().into()];
    let user = |text: &str| json!({ "role": "user", "content": text });
    let assistant = |text: &str| json!({ "role": "assistant", "content": text });
    let calls = json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "FI5qQGzDE",
        "type": "function", "function": { "name": "draw", "arguments": "{}" } }] });
    let result =
        json!({ "role": "tool", "tool_call_id": "FI5qQGzDE", "name": "draw", "content": "done" });
    let prefix = json!({ "role": "assistant", "content": "It", "prefix": true });
    let earlier = || user("[The conversation goes on.]");
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
    let image_message =
        |text: &str| json!({ "role": "user", "content": [{ "type": "text", "text": text }, url] });
    let look = ContentPart::Text { text: "Look:".into() };
    for (messages, expected) in [
        // An empty conversation.
        (vec![], json!([earlier()])),
        // A prefix that the model continues.
        (vec![Message::user("A"), Message::assistant("It")], json!([user("A"), prefix])),
        (vec![Message::assistant("It")], json!([earlier(), prefix])),
        (vec![call_message(), tool_message()], json!([earlier(), calls, result])),
        // A user message after a model message.
        (
            vec![Message::user("A"), call_message(), tool_message(), Message::user("B")],
            json!([user("A"), calls, result, assistant("OK."), user("B")]),
        ),
        (
            vec![
                Message::user("A"),
                call_message(),
                tool_message(),
                Message::assistant("B"),
                Message::user("C"),
            ],
            json!([user("A"), calls, result, assistant("B"), user("C")]),
        ),
        (
            vec![Message::User { id: None, parts: vec![look, ContentPart::Image(image)] }],
            json!([image_message("Look:")]),
        ),
        // Images of results become a user message.
        (
            vec![Message::user("A"), call_message(), Message::Tool { results: vec![image_result] }],
            json!([
                user("A"),
                calls,
                result,
                assistant("OK."),
                image_message("What call FI5qQGzDE shows:"),
            ]),
        ),
        (vec![Message::system(" "), Message::user("A")], json!([user("A")])),
    ] {
        assert_eq!(sent_messages(&messages).await, expected, "{messages:?}");
    }
}

#[tokio::test]
async fn options_set_their_members() {
    let tool = ToolDefinition::new("now", "Time.", json!({ "type": "object" }));
    let set = ChatOptions::default;
    let schema = json!({ "type": "object" });
    for (options, expected) in [
        (set(), json!({})),
        (set().tool_choice(ToolChoice::Required), json!({ "tool_choice": "any" })),
        (set().tool_choice(ToolChoice::None), json!({ "tool_choice": "none" })),
        (
            set().tool_choice(ToolChoice::Tool("now".into())).parallel_calls(false),
            json!({ "tool_choice": { "type": "function", "function": { "name": "now" } },
                "parallel_tool_calls": false }),
        ),
        (
            set().output(schema.clone()),
            json!({ "response_format": { "type": "json_schema",
                "json_schema": { "name": "output", "schema": schema } } }),
        ),
        (set().max_tokens(9).temperature(0.5), json!({ "max_tokens": 9, "temperature": 0.5 })),
        (
            set().stop("END").extra("random_seed", 7).extra("prompt_mode", "reasoning"),
            json!({ "stop": ["END"], "random_seed": 7, "prompt_mode": "reasoning" }),
        ),
    ] {
        let (tools, messages) = ([&tool], [Message::user("Hello")]);
        let mut body =
            request_body(ChatRequest::new(&messages).tools(&tools).options(&options)).await;
        let members = body.as_object_mut().unwrap();
        for known in ["model", "messages", "tools"] {
            members.remove(known).unwrap();
        }
        assert_eq!(body, expected, "{options:?}");
    }
}
