//! Requests and replies of OpenAI's chat completions, over a server of the tests.

mod faults;
mod pairing;
mod rejected_calls;
mod retries;
pub mod streams;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::canned::Canned;
use support::server::{Reply, Server};
use tool_runtime::event::{EventKind, ModelEvent, Recorder, ToolEvent};
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    Agent, ChatModel, ChatOptions, ChatRequest, FinishReason, Message, StopReason, Tools, tool,
    tools,
};

use crate::provider::KEY;

/// Weather for a city.
#[tool(effect = "read")]
async fn forecast(
    /// City name.
    city: String,
) -> String {
    format!("rain in {city}")
}

#[tokio::test]
async fn request_has_path_key_messages_and_tools() {
    let server = Server::start([Reply::message(json!({ "content": "Yes." }))]).await;
    let model = OpenAi::new(server.base_url(), "qwen").key(format!("{KEY}\n"));
    let agent = Agent::new(model, tools![forecast]).system("Be brief.");

    let answer = agent.run("Umbrella in Oslo?").await.unwrap();

    assert_eq!(answer.to_string(), "Yes.");
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.body["model"], "qwen");
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "Umbrella in Oslo?" },
    ]);
    assert_eq!(request.body["messages"], messages);
    let tools = json!([{ "type": "function", "function": {
        "name": "forecast",
        "description": "Weather for a city.",
        "parameters": {
            "type": "object",
            "properties": { "city": { "type": "string", "description": "City name." } },
            "required": ["city"],
            "additionalProperties": false,
        },
    } }]);
    assert_eq!(request.body["tools"], tools);
}

#[tokio::test]
async fn missing_key_and_tools_are_omitted() {
    let server = Server::start([Reply::message(json!({ "content": "Hi" }))]).await;
    let model = OpenAi::new(format!("{}/", server.base_url()), "m").key("");

    Agent::new(model, Tools::new()).run("Hello").await.unwrap();

    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.body.get("tools"), None);
}

/// Runs two turns, these calls and then an answer, and returns the messages of the second request.
async fn second_request(calls: Value) -> Vec<Value> {
    let server = Server::start([
        Reply::message(json!({ "content": null, "tool_calls": calls })),
        Reply::message(json!({ "content": "Take one." })),
    ])
    .await;
    let agent = Agent::new(OpenAi::new(server.base_url(), "m"), tools![forecast]);
    assert_eq!(agent.run("Umbrella?").await.unwrap().text, "Take one.");
    let [_, second] = server.requests().try_into().unwrap();
    second.body["messages"].as_array().unwrap()[1..].to_vec()
}

fn call(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function",
        "function": { "name": "forecast", "arguments": arguments } })
}

#[tokio::test]
async fn calls_are_sent_back_byte_for_byte_with_their_results() {
    let calls = json!([
        call("call_x", r#"{ "city" :  "Troms\u00f8" }"#),
        call("", r#"{"city":"Oslo"}"#),
        call("call_x", r#"{"town":"Oslo"}"#),
    ]);
    let [assistant, first, second, third] = second_request(calls).await.try_into().unwrap();

    // Empty and duplicate ids are replaced, in the calls and in the results.
    let mut ids = Vec::new();
    for (call, result) in
        assistant["tool_calls"].as_array().unwrap().iter().zip([&first, &second, &third])
    {
        assert_eq!(result["role"], "tool");
        assert_eq!(result["tool_call_id"], call["id"]);
        ids.push(call["id"].as_str().unwrap());
    }
    assert_eq!(ids[0], "call_x");
    assert!(!ids[1].is_empty() && ids[1] != ids[2] && ids[2] != ids[0], "{ids:?}");

    assert_eq!(assistant["role"], "assistant");
    assert_eq!(assistant["content"], Value::Null);
    let arguments = &assistant["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, r#"{ "city" :  "Troms\u00f8" }"#);
    assert_eq!(first["content"], "rain in Tromsø");
    assert_eq!(second["content"], "rain in Oslo");
    assert!(third["content"].as_str().unwrap().contains("`forecast` was not called"), "{third}");
}

/// OpenAI refuses a conversation with an invalid tool name, in this turn and in every later one.
#[tokio::test]
async fn invalid_names_are_replaced() {
    let assistant =
        |name: &str| json!({ "id": name, "function": { "name": name, "arguments": "{}" } });
    let messages =
        second_request(json!([assistant("bad name\n"), assistant(""), assistant("forecast")]))
            .await;
    let sent_calls: Vec<_> = messages[0]["tool_calls"].as_array().unwrap().iter().collect();
    let names: Vec<_> =
        sent_calls.iter().map(|call| call["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bad_name_", "unknown", "forecast"]);
    assert!(messages[1]["content"].as_str().unwrap().contains(r"`bad name\n`"));
}

#[tokio::test]
async fn option_that_is_left_out_is_a_warning() {
    let whole = || Reply::message(json!({ "content": "Hi" }));
    let stream = "data: {\"choices\": [{\"delta\": {\"content\": \"Hi\"}}]}\n\ndata: [DONE]\n\n";
    let server = Server::start([whole(), whole(), Reply::new(200, stream)]).await;
    let model = OpenAi::new(server.base_url(), "gpt-5");
    let options = ChatOptions::default().temperature(1.0).extra("seed", 7);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model.clone(), Tools::new()).options(options.clone());
    agent.observer(recorder.clone()).run("Hello").await.unwrap();
    let expected = "unsupported by model `gpt-5`: `temperature`, which is left out";
    let [event] = recorder
        .filter(|event| matches!(event.kind, EventKind::Model(ModelEvent::ClientWarning { .. })))
        .try_into()
        .unwrap();
    let EventKind::Model(ModelEvent::ClientWarning { reason }) = event.kind else { panic!() };
    assert_eq!(reason, expected);

    let messages = [Message::user("Hello")];
    let request = ChatRequest::new(&messages).options(&options);
    assert_eq!(model.reply(request).await.unwrap().warnings, [expected]);
    assert_eq!(model.stream(request, &mut |_| ()).await.unwrap().warnings, [expected]);
    for request in server.requests() {
        assert_eq!((request.body.get("temperature"), &request.body["seed"]), (None, &json!(7)));
    }
}

/// A truncated reply is not an answer, and the conversation can continue.
#[tokio::test]
async fn truncated_reply_stops_the_run() {
    for (reason, finish) in
        [("length", FinishReason::Length), ("content_filter", FinishReason::ContentFilter)]
    {
        let choice = json!({ "message": { "content": "It wi" }, "finish_reason": reason });
        let body = json!({ "choices": [choice] }).to_string();
        let server = Server::start([Reply::new(200, &body)]).await;
        let agent = Agent::new(OpenAi::new(server.base_url(), "m"), Tools::new());
        let stopped = agent.run("Umbrella?").await.unwrap_err();
        assert!(
            matches!(stopped.reason, StopReason::TruncatedReply(reason) if reason == finish),
            "{stopped}"
        );
        assert_eq!(stopped.transcript[1], Message::assistant("It wi"));
    }
}

/// A server that parses the arguments in a conversation refuses those that are not a JSON object.
#[tokio::test]
async fn damaged_arguments_are_sent_back_as_json() {
    let calls = json!([
        call("a", "```json\n{\"city\": \"Oslo\"}\n```"),
        call("b", r#"{"city": "Os"#),
        { "id": "c", "function": { "name": "forecast", "arguments": { "city": "Rome" } } },
    ]);
    let messages = second_request(calls).await;

    let sent_arguments = |place: usize| &messages[0]["tool_calls"][place]["function"]["arguments"];
    assert_eq!(sent_arguments(0), r#"{"city": "Oslo"}"#);
    assert!(
        serde_json::from_str::<serde_json::Map<_, _>>(sent_arguments(1).as_str().unwrap()).is_ok()
    );
    assert_eq!(sent_arguments(2), r#"{"city":"Rome"}"#);
    assert_eq!(messages[1]["content"], "rain in Oslo");
    assert_eq!(messages[3]["content"], "rain in Rome");
}

/// Events of a call have the id of the call in the conversation.
#[tokio::test]
async fn events_have_the_ids_of_the_conversation() {
    let server = Server::start([
        Reply::message(json!({ "tool_calls": [call("", r#"{"city":"Oslo"}"#)] })),
        Reply::message(json!({ "content": "Take one." })),
    ])
    .await;
    let call_ids = Arc::<Mutex<Vec<String>>>::default();
    let sink = Arc::clone(&call_ids);
    let agent =
        Agent::new(OpenAi::new(server.base_url(), "m"), tools![forecast]).on_event(move |event| {
            match &event.kind {
                EventKind::Model(ModelEvent::Replied { calls, .. }) => {
                    sink.lock().unwrap().extend(calls.iter().map(|call| call.id.to_string()));
                }
                EventKind::Tool(ToolEvent::Started { call, .. }) => {
                    sink.lock().unwrap().push(call.id.to_string())
                }
                _ => {}
            }
        });
    agent.run("Umbrella?").await.unwrap();
    assert_eq!(*call_ids.lock().unwrap(), ["call_1", "call_1"]);
}

#[tokio::test]
async fn options_headers_and_extra_members_are_sent() {
    let official = OpenAi::new("https://api.openai.com/v1", "m");
    let other = OpenAi::new("http://models.invalid/v1", "m");
    for (model, limit) in [(official, "max_completion_tokens"), (other, "max_tokens")] {
        let canned =
            Canned::new([support::canned::Reply::text(200, r#"{"choices": [{"message": {}}]}"#)]);
        let model = model.transport(canned.clone()).header("x-team", "blue");
        let options = ChatOptions::default().max_tokens(9).temperature(1.0).extra("seed", 7);
        let options = options.extra("temperature", 0.0);
        model.reply(ChatRequest::new(&[]).options(&options)).await.unwrap();
        let [request] = canned.requests().try_into().unwrap();
        assert_eq!(request.headers.get("X-Team"), Some("blue"));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let opening = json!({ "role": "user", "content": "[The conversation goes on.]" });
        let mut expected =
            json!({ "model": "m", "messages": [opening], "temperature": 0.0, "seed": 7 });
        expected[limit] = 9.into();
        assert_eq!(body, expected);
        assert!(!format!("{model:?} {request:?}").contains("blue"));
    }
}

/// A server that accepts tools of `gpt-5.6` only without reasoning, as OpenAI's does.
#[tokio::test]
async fn tools_are_sent_with_the_effort_that_the_model_requires() {
    let definition = tool_runtime::ToolDefinition::new("now", "Time.", json!({ "type": "object" }));
    let messages = [Message::user("Hello")];
    for (name, tools, expected) in [
        ("gpt-5.6", &[&definition][..], json!("none")),
        ("gpt-5.6-sol", &[&definition], json!("none")),
        ("gpt-5.6", &[], Value::Null),
        ("gpt-6-luna", &[&definition], Value::Null),
        ("m", &[&definition], Value::Null),
    ] {
        for is_streamed in [false, true] {
            let body = if is_streamed {
                "data: {\"choices\": [{\"delta\": {\"content\": \"Hi\"}}]}\n\ndata: [DONE]\n\n"
            } else {
                r#"{"choices": [{"message": {"content": "Hi"}}]}"#
            };
            let canned = Canned::new([support::canned::Reply::text(200, body)]);
            let model = OpenAi::new("http://models.invalid/v1", name).transport(canned.clone());
            let request = ChatRequest::new(&messages).tools(tools);
            let reply = if is_streamed {
                model.stream(request, &mut |_| {}).await
            } else {
                model.reply(request).await
            };
            assert_eq!(reply.unwrap().to_text(), "Hi");
            let [request] = canned.requests().try_into().unwrap();
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(body["reasoning_effort"], expected, "{name} {is_streamed}");
        }
    }
}

#[test]
fn check_reports_options_that_the_model_refuses() {
    /// Returns the time.
    #[tool(effect = "read")]
    async fn now() -> &'static str {
        "noon"
    }
    let options = ChatOptions::default;
    for (model, options, part) in [
        ("gpt-5.6", options().extra("reasoning_effort", "high"), "`OpenAiResponses`"),
        ("gpt-5-mini", options().temperature(0.5), "unsupported by model `gpt-5-mini`"),
        ("gpt-5-mini", options().extra("top_p", 0.5), "`top_p`"),
        (
            "m",
            options().extra("tools", json!([{ "type": "web_search" }])),
            "the tool of the request",
        ),
        ("m", options().extra("messages", json!([])), "extra option `messages`"),
    ] {
        let model = OpenAi::new("http://127.0.0.1:1/v1", model);
        let agent = Agent::new(model, tool_runtime::tools![now]).options(options);
        let error = agent.check().unwrap_err().to_string();
        assert!(error.starts_with("options: ") && error.contains(part), "{error}");
    }
    let model = OpenAi::new("http://127.0.0.1:1/v1", "gpt-5.6");
    assert!(Agent::new(model, tool_runtime::tools![now]).check().is_ok());
}

#[test]
fn client_describes_its_model() {
    let model = OpenAi::new("https://api.groq.com/openai/v1", "m").context_tokens(128_000);
    let info = model.info();
    assert_eq!((info.name.as_deref(), info.provider.as_deref()), (Some("m"), Some("groq")));
    let server = (info.server_address.as_deref(), info.server_port);
    assert_eq!(server, (Some("api.groq.com"), Some(443)));
    assert_eq!(info.context_tokens, Some(128_000));
    assert_eq!(OpenAi::new("http://127.0.0.1:1/v1", "m").info().context_tokens, None);
}
