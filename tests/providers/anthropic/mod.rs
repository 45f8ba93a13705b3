//! Requests and replies of Anthropic's Messages, over a transport of the tests.

mod pairing;
pub mod streams;
mod turns;

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::models::ApiErrorKind;
use tool_runtime::providers::Anthropic;
use tool_runtime::schema::{Dialect, Schema};
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, ContentPart, FinishReason,
    Image, Message, ModelError, Reasoning, ToolCall, ToolChoice, ToolDefinition, ToolResult, Usage,
};

fn client(canned: &Canned) -> Anthropic {
    Anthropic::new("https://models.invalid/v1", "claude").transport(canned.clone()).max_retries(0)
}

/// Returns the body that is sent for a request.
async fn request_body(request: ChatRequest<'_>) -> Value {
    let canned = Canned::new([Reply::text(200, r#"{"content": []}"#)]);
    client(&canned).reply(request).await.unwrap();
    serde_json::from_slice(&canned.requests()[0].body).unwrap()
}

async fn read(status: u16, body: &Value) -> Result<ChatReply, ModelError> {
    client(&Canned::new([Reply::text(status, &body.to_string())]))
        .reply(ChatRequest::new(&[]))
        .await
}

/// The provider would refuse it, or enforce only half of it.
#[tokio::test]
async fn schema_in_another_strict_dialect_is_refused() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    for (dialect, is_sent) in [
        (Dialect::Plain, true),
        (Dialect::Gemini, true),
        (Dialect::AnthropicStrict, true),
        (Dialect::OpenAiStrict, false),
    ] {
        let options = ChatOptions::default()
            .output(Schema::from(schema.clone()).for_dialect(dialect).unwrap());
        let canned = Canned::new([Reply::text(200, r#"{"content": []}"#)]);
        let reply = client(&canned).reply(ChatRequest::new(&[]).options(&options)).await;
        if is_sent {
            assert!(reply.is_ok(), "{reply:?}");
        } else {
            let error = reply.unwrap_err().to_string();
            let expected = "OpenAI (strict), but this provider expects Anthropic (strict)";
            assert!(error.contains(expected), "{error}");
            assert!(canned.requests().is_empty());
        }
    }
}

#[tokio::test]
async fn conversation_with_calls_and_results() {
    let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "s=" });
    let thought = |provider: &str| {
        AssistantPart::Reasoning(Reasoning::new(provider, "Hm.", thinking.clone()))
    };
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    let first = ToolCall::new("a.1", "weather.get", r#"{ "city": "Oslo" }"#);
    let second = ToolCall::new("b", "weather.get", json!({ "city": "Rome" }));
    let damaged = ToolCall::new("c", "weather.get", "{city: 'Bonn'");
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let mut result = ToolResult::success(&first, "rain");
    result.parts = vec![image.clone().into()];
    let messages = [
        Message::system("Be brief."),
        Message::User {
            id: None,
            parts: vec![ContentPart::Text { text: "Look:".into() }, ContentPart::Image(image)],
        },
        Message::Assistant {
            id: None,
            parts: vec![
                thought("anthropic"),
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
        Message::system("Be kind."),
    ];
    let schema = json!({ "type": "object", "properties": {} });
    let tool = ToolDefinition::new("weather.get", "Weather.", schema.clone());
    let tools = [&tool];

    let body = request_body(ChatRequest::new(&messages).tools(&tools)).await;

    let name = body["tools"][0]["name"].clone();
    let id = body["messages"][1]["content"][2]["id"].clone();
    assert!(name.as_str().unwrap().starts_with("weather_get"), "{name}");
    let is_word = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    assert!(is_word(id.as_str().unwrap()), "{id}");
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    let image = json!({ "type": "image", "source": source });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = |id: &Value, city: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": { "city": city } });
    let expected = json!({
        "model": "claude",
        "max_tokens": 8192,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            { "role": "user", "content": [text("Look:"), image] },
            { "role": "assistant", "content": [
                thinking,
                text("One moment."),
                call(&id, "Oslo"), call(&json!("b"), "Rome"), call(&json!("c"), "Bonn"),
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": [text("rain"), image] },
                { "type": "tool_result", "tool_use_id": "b", "content": "too slow", "is_error": true },
                { "type": "tool_result", "tool_use_id": "c", "content": "" },
                text("And now?"),
            ] },
        ],
        "tools": [{ "name": name, "description": "Weather.", "input_schema": schema }],
    });
    assert_eq!(body, expected);
}

/// A user message begins and ends the conversation; no model message ends with a thought.
#[tokio::test]
async fn user_messages_come_first_and_last() {
    let sealed_part =
        |sealed: Value| AssistantPart::Reasoning(Reasoning::new("anthropic", "", sealed));
    let text_part = |text: &str| AssistantPart::Text { text: text.into() };
    let model = |parts: &[AssistantPart]| Message::Assistant { id: None, parts: parts.to_vec() };
    let signed = json!({ "type": "thinking", "thinking": "Hm.", "signature": "s=" });
    let cut = json!({ "type": "thinking", "thinking": "Hm.", "signature": "" });
    let search = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let acting = Reasoning::new("anthropic", "", search.clone()).provider_action();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let user = |words: &str| json!({ "role": "user", "content": [text(words)] });
    let earlier = || user("[The conversation goes on.]");
    let assistant = |blocks: Value| json!({ "role": "assistant", "content": blocks });
    for (messages, expected) in [
        (vec![], json!([earlier()])),
        (vec![Message::system("Be brief.")], json!([earlier()])),
        (vec![Message::user(" ")], json!([earlier()])),
        (
            vec![Message::assistant("It ")],
            json!([earlier(), assistant(json!([text("It ")])), user("[Go on.]")]),
        ),
        (
            vec![
                Message::user("A"),
                model(&[
                    sealed_part(cut.clone()),
                    text_part("B"),
                    sealed_part(signed.clone()),
                    sealed_part(cut),
                ]),
            ],
            json!([user("A"), assistant(json!([text("B")])), user("[Go on.]")]),
        ),
        (
            vec![
                Message::user("A"),
                model(&[sealed_part(signed.clone()), text_part("B")]),
                Message::user("C"),
            ],
            json!([user("A"), assistant(json!([signed, text("B")])), user("C")]),
        ),
        // Paused in a tool of the provider.
        (
            vec![Message::user("A"), model(&[AssistantPart::Reasoning(acting)])],
            json!([user("A"), assistant(json!([search]))]),
        ),
    ] {
        assert_eq!(request_body(ChatRequest::new(&messages)).await["messages"], expected);
    }
}

#[tokio::test]
async fn options_set_their_members() {
    let tool = ToolDefinition::new("now", "Time.", json!({ "type": "object" }));
    let set = ChatOptions::default;
    let schema = json!({ "type": "object" });
    for (options, expected) in [
        (set(), json!({})),
        (set().tool_choice(ToolChoice::Required), json!({ "tool_choice": { "type": "any" } })),
        (set().tool_choice(ToolChoice::None), json!({ "tool_choice": { "type": "none" } })),
        (
            set().tool_choice(ToolChoice::Tool("now".into())).parallel_calls(false),
            json!({ "tool_choice":
                { "type": "tool", "name": "now", "disable_parallel_tool_use": true } }),
        ),
        (
            set().parallel_calls(true),
            json!({ "tool_choice": { "type": "auto", "disable_parallel_tool_use": false } }),
        ),
        (
            set().output(schema.clone()),
            json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } }),
        ),
        (set().max_tokens(9).temperature(0.5), json!({ "max_tokens": 9, "temperature": 0.5 })),
        (set().stop("END").extra("top_k", 3), json!({ "stop_sequences": ["END"], "top_k": 3 })),
        (
            set().extra("cache_control", json!({ "type": "ephemeral" })),
            json!({ "cache_control": { "type": "ephemeral" } }),
        ),
    ] {
        let (tools, messages) = ([&tool], [Message::user("Hello")]);
        let mut body =
            request_body(ChatRequest::new(&messages).tools(&tools).options(&options)).await;
        let members = body.as_object_mut().unwrap();
        for known in ["model", "messages", "tools"] {
            members.remove(known).unwrap();
        }
        if options.max_tokens.is_none() {
            members.remove("max_tokens").unwrap();
        }
        assert_eq!(body, expected, "{options:?}");
    }
}

#[tokio::test]
async fn replies_are_decoded() {
    let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "s=" });
    let sealed = json!({ "type": "redacted_thinking", "data": "xx" });
    let searched =
        json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let body = json!({
        "type": "message",
        "content": [
            thinking, sealed, searched,
            { "type": "text", "text": "" },
            { "type": "text", "text": "One moment." },
            { "type": "tool_use", "id": "toolu_1", "name": "now", "input": { "zone": "UTC" } },
        ],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 3, "cache_creation_input_tokens": 4,
            "cache_read_input_tokens": 5, "output_tokens": 6,
            "output_tokens_details": { "thinking_tokens": 2 } },
    });
    let sealed_part = |text: &str, block: Value| {
        AssistantPart::Reasoning(Reasoning::new("anthropic", text, block))
    };
    let mut expected = ChatReply::new(vec![
        sealed_part("Hm.", thinking),
        sealed_part("", sealed),
        AssistantPart::Reasoning(Reasoning::new("anthropic", "", searched).provider_action()),
        AssistantPart::Text { text: "One moment.".into() },
        AssistantPart::Call(ToolCall::new("toolu_1", "now", r#"{"zone":"UTC"}"#)),
    ])
    .finish_reason(FinishReason::ToolCalls);
    let mut usage = Usage::new(12, 6);
    (usage.cache_read_tokens, usage.cache_creation_tokens, usage.reasoning_tokens) = (5, 4, 2);
    expected.usage = Some(usage);
    assert_eq!(read(200, &body).await.unwrap(), expected);

    for (reason, finish) in [
        (json!("end_turn"), FinishReason::Stop),
        (json!("stop_sequence"), FinishReason::Stop),
        (json!(null), FinishReason::Stop),
        (json!("max_tokens"), FinishReason::Length),
        (json!("model_context_window_exceeded"), FinishReason::Length),
        (json!("refusal"), FinishReason::ContentFilter),
        (json!("pause_turn"), FinishReason::Paused),
        (json!("yet_to_come"), FinishReason::Other),
    ] {
        let body = json!({ "content": [], "stop_reason": reason });
        assert_eq!(read(200, &body).await.unwrap().finish_reason, finish, "{reason}");
    }
}

#[tokio::test]
async fn errors_are_decoded() {
    for (status, kind, expected) in [
        (401, "authentication_error", ApiErrorKind::Auth),
        (403, "permission_error", ApiErrorKind::Auth),
        (404, "not_found_error", ApiErrorKind::InvalidRequest),
        (413, "request_too_large", ApiErrorKind::ContextTooLong),
        (429, "rate_limit_error", ApiErrorKind::RateLimited),
        (500, "api_error", ApiErrorKind::Overloaded),
        (529, "overloaded_error", ApiErrorKind::Overloaded),
    ] {
        let body = json!({ "type": "error", "error": { "type": kind, "message": "No." },
            "request_id": "req_1" });
        let error = read(status, &body).await.unwrap_err();
        let ModelError::Api(refusal) = &error else { panic!("{error:?}") };
        assert_eq!((refusal.kind, refusal.status), (expected, status));
        assert_eq!(refusal.request_id.as_deref(), Some("req_1"));
    }
}
