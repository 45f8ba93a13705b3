//! Any conversation becomes a request that the API takes; a million of them by `.ci/million`
//!
//! Two judges: the rules of the API reference ("messages", "tool messages must be a response to a
//! preceding message with `tool_calls`"), and the types of the crate async-openai, which are made from
//! OpenAI's own description of its API.

use std::collections::HashSet;

use async_openai::types::chat::CreateChatCompletionRequest;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatRequest, Image, Message, Reasoning, ToolCall,
    ToolDefinition, ToolResult,
};

use crate::canned::{Canned, Reply};
use crate::histories::{config, histories};
use crate::oracle::{lost, options};

/// The rules of order, read off a request.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    if messages.iter().all(|message| message["role"] == "system") {
        return Some("nobody speaks".into());
    }
    let mut used = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str()?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str()?;
            let Some(asked) = open.iter().position(|known| *known == id) else {
                return Some(format!("{place} answers {id:?}, which nothing before it asked"));
            };
            open.remove(asked);
            if !message["content"].is_string() {
                return Some(format!("the result at {place} is no text"));
            }
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!("{id:?} is not answered before {place}"));
        }
        if message["tool_calls"].as_array().is_some_and(|calls| calls.len() > 128) {
            return Some(format!("{place} calls too often"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str()?;
            if id.is_empty() || id.len() > 40 || !used.insert(id) {
                return Some(format!("the id {id:?} is empty, too long or comes twice"));
            }
            let name = call["function"]["name"].as_str()?;
            let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if name.is_empty() || name.len() > 64 || !name.bytes().all(is_sign) {
                return Some(format!("{name:?} is no name"));
            }
            let arguments = call["function"]["arguments"].as_str()?;
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|read| read.is_object()) {
                return Some(format!("the arguments {arguments:?} are no object"));
            }
            open.push(id);
        }
        if role == "user" && place > 0 && messages[place - 1]["role"] == "user" {
            return Some(format!("the user speaks twice in a row at {place}"));
        }
        let says_nothing = message["content"].is_null() && message["tool_calls"].is_null();
        if role == "assistant" && says_nothing {
            return Some(format!("{place} says nothing"));
        }
    }
    open.first().map(|id| format!("{id:?} is not answered"))
}

/// Another provider's. Its own has members that OpenAI's description doesn't know: only servers that
/// sent them get them back.
const THOUGHTS: &[fn() -> Reasoning] =
    &[|| Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "thinking": "Hm" }))];

fn sent(messages: &[Message], options: &ChatOptions) -> Value {
    let tool = ToolDefinition::new("weather.get", "Weather.", json!({ "type": "object" }));
    let tools = [&tool];
    let canned = Canned::new([Reply::text(200, r#"{"choices": [{"message": {}}]}"#)]);
    let model = OpenAi::new("https://api.openai.com/v1", "m").transport(canned.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let request = ChatRequest::new(messages).tools(&tools).options(options);
    runtime.block_on(model.reply(request)).unwrap();
    serde_json::from_str(&canned.requests()[0].body).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_conversation_is_taken(messages in histories(THOUGHTS), options in options()) {
        let body = sent(&messages, &options);
        prop_assert_eq!(broken_rule(&body), None, "{}", body);
        let read: CreateChatCompletionRequest = serde_json::from_value(body.clone()).unwrap();
        prop_assert_eq!(lost(&body, &serde_json::to_value(read).unwrap()), None, "{}", body);
    }
}

/// The user shows what results show; what he says behind that is one message with it.
#[test]
fn what_results_show_and_what_is_said_next_are_one_message() {
    let image = || Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let call = ToolCall::new("a", "weather.get", "{}");
    let mut seen = ToolResult::success(&call, "a map");
    seen.images.push(image());
    let messages = [
        Message::user("Look!"),
        Message::Assistant { parts: vec![AssistantPart::Call(call)] },
        Message::Tool { results: vec![seen] },
        Message::user("And?"),
    ];
    let body = sent(&messages, &ChatOptions::default());
    let said = body["messages"].as_array().unwrap();
    let roles: Vec<_> = said.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    let kinds: Vec<_> =
        said[3]["content"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["text", "image_url", "text"]);
    assert_eq!(said[3]["content"][2]["text"], "And?");
}

/// Many chat templates of servers that speak this API refuse two messages of the user's in a row.
#[test]
fn the_user_speaks_once_at_a_time() {
    let messages = [
        Message::user("[Summary] It was cold."),
        Message::user("And now?"),
        Message::assistant("Warm."),
        Message::user("Where?"),
    ];
    let body = sent(&messages, &ChatOptions::default());
    let said: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(said, ["[Summary] It was cold.\n\nAnd now?", "Warm.", "Where?"]);
}
