//! Requests and replies of Gemini's `generateContent`, over a transport of the tests.

mod pairing;
mod signatures;

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::providers::Gemini;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, ContentPart, FinishReason,
    Image, Message, ModelError, ToolCall, ToolChoice, ToolDefinition, ToolResult,
};

/// A model of the third generation, and an older one.
const NEW: &str = "gemini-3.5-flash";
const OLD: &str = "gemini-2.5-flash";

fn client(model: &str, canned: &Canned) -> Gemini {
    Gemini::new("https://models.invalid/v1beta", model).transport(canned.clone()).max_retries(0)
}

/// Returns the body that is sent to this model for a request.
async fn sent_body(model: &str, request: ChatRequest<'_>) -> Result<Value, ModelError> {
    let canned = Canned::new([Reply::text(200, r#"{"candidates": [{}]}"#)]);
    client(model, &canned).reply(request).await?;
    Ok(serde_json::from_slice(&canned.requests()[0].body).unwrap())
}

async fn read(body: &Value) -> Result<ChatReply, ModelError> {
    let canned = Canned::new([Reply::text(200, &body.to_string())]);
    client(NEW, &canned).reply(ChatRequest::new(&[])).await
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[tokio::test]
async fn conversation_with_calls_and_results() {
    let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let first = ToolCall::new("a.1", "weather/get", r#"{ "city": "Oslo" }"#);
    let second = ToolCall::new("b", "weather/get", json!({ "city": "Rome" }));
    let damaged = ToolCall::new("c", "weather/get", "{city: 'Bonn'");
    let mut result = ToolResult::success(&first, "rain");
    result.parts = vec![image.clone().into()];
    let call_part = |call: &ToolCall| AssistantPart::Call(call.clone());
    let messages = [
        Message::system("Be brief."),
        Message::User {
            id: None,
            parts: vec![ContentPart::Text { text: "Look:".into() }, ContentPart::Image(image)],
        },
        Message::user("Umbrella?"),
        Message::assistant("One moment."),
        Message::Assistant {
            id: None,
            parts: vec![call_part(&first), call_part(&second), call_part(&damaged)],
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
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tool = ToolDefinition::new("weather/get", "Weather.", schema.clone());
    let tools = [&tool];

    let image_part = json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } });
    let call = |id: &str, city: &str| json!({ "functionCall": { "id": id, "name": "weather_get", "args": { "city": city } } });
    let response = |id: &str, response: Value| json!({ "functionResponse": { "id": id, "name": "weather_get", "response": response } });
    let mut signed = call("a.1", "Oslo");
    signed["thoughtSignature"] = "skip_thought_signature_validator".into();
    let mut with_image = response("a.1", json!({ "output": "rain" }));
    with_image["functionResponse"]["parts"] = json!([image_part]);
    let [late, blank] =
        [response("b", json!({ "error": "too slow" })), response("c", json!({ "output": "" }))];
    let model_content = |first: Value| {
        let parts = [text("One moment."), first, call("b", "Rome"), call("c", "Bonn")];
        json!({ "role": "model", "parts": parts })
    };
    let user = |parts: &[Value]| json!({ "role": "user", "parts": parts });
    let question = user(&[text("Look:"), image_part.clone(), text("Umbrella?")]);
    for (model, contents) in [
        (
            NEW,
            json!([
                question,
                model_content(signed),
                user(&[with_image, late.clone(), blank.clone()]),
                user(&[text("And now?")]),
            ]),
        ),
        (
            OLD,
            json!([
                question,
                model_content(call("a.1", "Oslo")),
                user(&[response("a.1", json!({ "output": "rain" })), late, blank]),
                user(&[text("[What `weather_get` (a.1) showed:]"), image_part, text("And now?")]),
            ]),
        ),
    ] {
        let body = sent_body(model, ChatRequest::new(&messages).tools(&tools)).await.unwrap();
        let expected = json!({
            "systemInstruction": { "parts": [{ "text": "Be brief.\n\nBe kind." }] },
            "contents": contents,
            "tools": [{ "functionDeclarations": [{
                "name": "weather_get", "description": "Weather.", "parametersJsonSchema": schema }] }],
        });
        assert_eq!(body, expected, "{model}");
    }
}

#[tokio::test]
async fn options_set_their_members() {
    let tool = ToolDefinition::new("now/utc", "Time.", json!({ "type": "object" }));
    let set = ChatOptions::default;
    let calling = |config: Value| json!({ "toolConfig": { "functionCallingConfig": config } });
    let generation = |config: Value| json!({ "generationConfig": config });
    let schema = json!({ "type": "object" });
    let thinking = json!({ "thinkingConfig": { "thinkingLevel": "low" }, "temperature": 1.0 });
    for (options, expected) in [
        (set(), json!({})),
        (set().parallel_calls(true), json!({})),
        (set().tool_choice(ToolChoice::Required), calling(json!({ "mode": "ANY" }))),
        (set().tool_choice(ToolChoice::None), calling(json!({ "mode": "NONE" }))),
        (
            set().tool_choice(ToolChoice::Tool("now/utc".into())),
            calling(json!({ "mode": "ANY", "allowedFunctionNames": ["now_utc"] })),
        ),
        (
            set().output(schema.clone()),
            generation(
                json!({ "responseMimeType": "application/json", "responseJsonSchema": schema }),
            ),
        ),
        (
            set().max_tokens(9).temperature(0.5).stop("a").stop("b"),
            generation(json!({ "maxOutputTokens": 9, "temperature": 0.5,
                "stopSequences": ["a", "b"] })),
        ),
        (
            set().max_tokens(9).temperature(0.5).extra("generationConfig", thinking),
            generation(json!({ "maxOutputTokens": 9, "temperature": 1.0,
                "thinkingConfig": { "thinkingLevel": "low" } })),
        ),
        (
            set()
                .tool_choice(ToolChoice::Required)
                .extra("toolConfig", json!({ "retrievalConfig": {} })),
            json!({ "toolConfig":
                { "functionCallingConfig": { "mode": "ANY" }, "retrievalConfig": {} } }),
        ),
        (
            set().extra("cachedContent", "cachedContents/1"),
            json!({ "cachedContent": "cachedContents/1" }),
        ),
        (set().extra("toolConfig", Value::Null), json!({ "toolConfig": null })),
    ] {
        let (tools, messages) = ([&tool], [Message::user("Hello")]);
        let request = ChatRequest::new(&messages).tools(&tools).options(&options);
        let mut body = sent_body(NEW, request).await.unwrap();
        let members = body.as_object_mut().unwrap();
        for known in ["contents", "tools"] {
            members.remove(known).unwrap();
        }
        assert_eq!(body, expected, "{options:?}");
    }
}

#[tokio::test]
async fn unsupported_options_are_errors() {
    let tool = ToolDefinition::new("now", "Time.", json!({ "type": "object" }));
    let six =
        ["a", "b", "c", "d", "e", "f"].into_iter().fold(ChatOptions::default(), ChatOptions::stop);
    for (options, tools, named) in [
        (ChatOptions::default().parallel_calls(false), &[&tool][..], Some("`parallel_calls`")),
        // Without tools, options of calls do not matter.
        (ChatOptions::default().parallel_calls(false), &[], None),
        (six, &[], Some("6 of at most 5")),
    ] {
        let messages = [Message::user("Hello")];
        let request = ChatRequest::new(&messages).tools(tools).options(&options);
        match (sent_body(NEW, request).await, named) {
            (Err(ModelError::Setup(text)), Some(named)) => {
                assert!(text.contains("Gemini") && text.contains(named), "{text}");
            }
            (Ok(_), None) => {}
            (other, _) => panic!("{options:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn finish_reasons_are_decoded() {
    let text = json!({ "parts": [{ "text": "Hi" }] });
    let function_call = json!({ "parts": [{ "functionCall": { "name": "now" } }] });
    for (content, reason, finish) in [
        (&text, json!(null), FinishReason::Stop),
        (&text, json!("STOP"), FinishReason::Stop),
        (&function_call, json!("STOP"), FinishReason::ToolCalls),
        (&function_call, json!(null), FinishReason::ToolCalls),
        (&function_call, json!("MAX_TOKENS"), FinishReason::Length),
        (&text, json!("SAFETY"), FinishReason::ContentFilter),
        (&text, json!("IMAGE_RECITATION"), FinishReason::ContentFilter),
        (&text, json!("FINISH_REASON_UNSPECIFIED"), FinishReason::Other),
        (&text, json!("YET_TO_COME"), FinishReason::Other),
    ] {
        let body = json!({ "candidates": [{ "content": content, "finishReason": reason }] });
        assert_eq!(read(&body).await.unwrap().finish_reason, finish, "{reason}");
    }
}

/// The model has not written all that its token limit allows.
#[tokio::test]
async fn continued_reply_is_joined() {
    let part = |text: &str, reason: &str, token: Value| {
        json!({ "candidates": [{ "content": { "parts": [{ "text": text }] },
            "finishReason": reason, "continuationToken": token }],
            "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 2 } })
    };
    let parts = [
        part("Once ", "CONTINUATION", json!("t1")),
        part("upon ", "CONTINUATION", json!("t2")),
        part("a time.", "STOP", Value::Null),
    ];
    for is_streamed in [false, true] {
        let framed =
            |part: &Value| if is_streamed { format!("data: {part}\n\n") } else { part.to_string() };
        let canned = Canned::new(parts.iter().map(|part| Reply::text(200, &framed(part))));
        let model = Gemini::new("https://models.invalid/v1beta", "gemini-4-argon")
            .transport(canned.clone());
        let messages = [Message::user("A story.")];
        let request = ChatRequest::new(&messages);
        let reply = if is_streamed {
            model.stream(request, &mut |_| {}).await.unwrap()
        } else {
            model.reply(request).await.unwrap()
        };
        assert_eq!(reply.to_text(), "Once upon a time.");
        assert_eq!(reply.finish_reason, FinishReason::Stop);
        assert_eq!(reply.usage.map(|it| (it.input_tokens, it.output_tokens)), Some((21, 6)));
        let requests = canned.requests();
        let bodies = requests.iter().map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        let tokens: Vec<_> = bodies.map(|body| body["continuationToken"].clone()).collect();
        assert_eq!(tokens, [Value::Null, json!("t1"), json!("t2")]);
        // The tokens are not sent with the next turn.
        let next = [messages[0].clone(), Message::Assistant { id: None, parts: reply.parts }];
        let canned = Canned::new([Reply::text(200, &parts[2].to_string())]);
        let model = model.transport(canned.clone());
        model.reply(ChatRequest::new(&next)).await.unwrap();
        let body = String::from_utf8(canned.requests()[0].body.clone()).unwrap();
        assert!(!body.contains("continuationToken"), "{body}");
    }
}

#[tokio::test]
async fn reply_that_cannot_be_continued_is_truncated() {
    let body = json!({ "candidates": [{ "content": { "parts": [{ "text": "Once" }] },
        "finishReason": "CONTINUATION" }] });
    let canned = Canned::new([Reply::text(200, &body.to_string())]);
    let model = Gemini::new("https://models.invalid/v1beta", "gemini-4-argon").transport(canned);
    let reply = model.reply(ChatRequest::new(&[Message::user("A story.")])).await.unwrap();
    assert_eq!(reply.finish_reason, FinishReason::Paused);
}
