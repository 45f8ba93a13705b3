//! Calls that the server could not read, and sends with its error.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    AssistantPart, ChatModel, ChatReply, ChatRequest, Delta, FinishReason, Message, ModelError,
    ToolDefinition,
};

fn rejected(code: &str, output: &str) -> String {
    json!({ "error": { "message": "Failed to call a function.", "type": "invalid_request_error",
        "code": code, "failed_generation": output } })
    .to_string()
}

fn tools() -> [ToolDefinition; 2] {
    let schema = json!({ "type": "object", "properties": { "query": { "type": "string" } } });
    ["web_search", "files.read"].map(|name| ToolDefinition::new(name, "Does.", schema.clone()))
}

fn model(replies: impl IntoIterator<Item = Reply>) -> OpenAi {
    OpenAi::new("https://models.invalid/openai/v1", "llama").transport(Canned::new(replies))
}

async fn ask(reply: Reply) -> Result<ChatReply, ModelError> {
    let (tools, messages) = (tools(), [Message::user("Rain?")]);
    let tools: Vec<_> = tools.iter().collect();
    model([reply]).reply(ChatRequest::new(&messages).tools(&tools)).await
}

#[tokio::test]
async fn rejected_calls_are_read() {
    let arguments = json!({ "query": "rain" });
    for output in [
        r#"{"name": "web_search", "arguments": {"query": "rain"}}"#,
        r#"<function=web_search{"query": "rain"}</function>"#,
        r#"<function=web_search>{"query": "rain"}</function>"#,
        r#"web_search{"query": "rain"}</function>"#,
        r#"<tool_call>{"name": "web_search", "arguments": {"query": "rain"}}</tool_call>"#,
        "```\n{\"tool_calls\": [{\"name\": \"web_search\", \"arguments\": {\"query\": \"rain\"}}]}\n```",
        r#"[{"name": "web_search", "parameters": {"query": "rain"}}]"#,
    ] {
        let reply = ask(Reply::text(400, &rejected("tool_use_failed", output))).await;
        let reply = reply.unwrap_or_else(|error| panic!("{output}: {error}"));
        assert_eq!(reply.finish_reason, FinishReason::ToolCalls, "{output}");
        let [call] = reply.calls().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(call.name, "web_search", "{output}");
        let found: Value = serde_json::from_str(&call.arguments.to_text()).unwrap();
        assert_eq!(found, arguments, "{output}");
        assert_eq!(reply.to_text(), "", "{output}");
    }
    // Names as they were sent, and a long call.
    let long = "x".repeat(100_000);
    let output = json!({ "name": "files_read", "arguments": { "query": long } }).to_string();
    let reply = ask(Reply::text(400, &rejected("tool_use_failed", &output))).await.unwrap();
    assert_eq!(reply.calls().next().unwrap().name, "files.read");
}

#[tokio::test]
async fn output_without_a_call_stays_an_error() {
    let call = r#"{"name": "web_search", "arguments": {"query": "rain"}}"#;
    for body in [
        rejected("tool_use_failed", ""),
        rejected("tool_use_failed", "It rains."),
        rejected("tool_use_failed", r#"web_search{"query": "rain"}</function> and more"#),
        rejected("tool_use_failed", r#"no_such_tool{"query": "rain"}</function>"#),
        rejected("json_validate_failed", call),
        rejected("tool_use_failed", "Tool use failed: JSON does not match the expected schema"),
        json!({ "error": { "code": "tool_use_failed" } }).to_string(),
    ] {
        let error = ask(Reply::text(400, &body)).await.unwrap_err();
        assert!(matches!(error, ModelError::Api(_)), "{body}: {error:?}");
    }
}

#[tokio::test]
async fn rejected_call_of_a_stream_is_read_and_emitted() {
    let output = r#"{"name": "web_search", "arguments": {"query": "rain"}}"#;
    let error = rejected("tool_use_failed", output);
    let text = json!({ "choices": [{ "delta": { "content": "I look." } }] });
    for (reply, expected) in [
        (Reply::text(400, &error), ""),
        (Reply::text(200, &format!("event: error\ndata: {error}\n\n")), ""),
        (Reply::text(200, &format!("data: {text}\n\ndata: {error}\n\n")), "I look."),
    ] {
        let (tools, messages) = (tools(), [Message::user("Rain?")]);
        let tools: Vec<_> = tools.iter().collect();
        let mut emitted = Vec::new();
        let mut sink = |delta: Delta<'_>| {
            if let Delta::Call { name, .. } = delta {
                emitted.push(name.to_owned());
            }
        };
        let request = ChatRequest::new(&messages).tools(&tools);
        let reply = model([reply]).stream(request, &mut sink).await.unwrap();
        assert_eq!((reply.to_text().as_str(), reply.calls().count()), (expected, 1));
        assert!(matches!(reply.parts.last(), Some(AssistantPart::Call(_))));
        assert_eq!(emitted, ["web_search"]);
    }
}
