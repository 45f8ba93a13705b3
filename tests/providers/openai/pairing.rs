//! The rules of the API for the requests of any conversation.
//!
//! There are two oracles: the rules of the API reference ("messages", "tool messages must be a
//! response to a preceding message with `tool_calls`"), and the types of the crate async-openai,
//! which are generated from OpenAI's own description of its API.

use std::collections::HashSet;

use async_openai::types::chat::CreateChatCompletionRequest;
use proptest::strategy::Strategy as _;
use serde_json::{Value, json};
use tool_runtime::providers::OpenAi;
use tool_runtime::{AssistantPart, ChatOptions, Image, Message, Reasoning, ToolCall, ToolResult};

use crate::conformance::requests::{Contract, conversations};
use support::oracle::{lost, options};

/// Checks the order of the messages in a request.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    if messages.iter().all(|message| message["role"] == "system") {
        return Some("only system messages".into());
    }
    let mut used = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str()?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str()?;
            let Some(index) = open.iter().position(|known| *known == id) else {
                return Some(format!("{place} answers {id:?}, which no call before it has"));
            };
            open.remove(index);
            if !message["content"].is_string() {
                return Some(format!("the result at {place} is not a text"));
            }
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!("{id:?} is not answered before {place}"));
        }
        if message["tool_calls"].as_array().is_some_and(|calls| calls.len() > 128) {
            return Some(format!("{place} has too many calls"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str()?;
            if id.is_empty() || id.len() > 40 || !used.insert(id) {
                return Some(format!("the id {id:?} is empty, too long or comes twice"));
            }
            let name = call["function"]["name"].as_str()?;
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if name.is_empty() || name.len() > 64 || !name.bytes().all(is_allowed) {
                return Some(format!("{name:?} is not a valid name"));
            }
            let arguments = call["function"]["arguments"].as_str()?;
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                return Some(format!("the arguments {arguments:?} are not an object"));
            }
            open.push(id);
        }
        if role == "user" && place > 0 && messages[place - 1]["role"] == "user" {
            return Some(format!("two user messages in a row at {place}"));
        }
        let is_empty = message["content"].is_null() && message["tool_calls"].is_null();
        if role == "assistant" && is_empty {
            return Some(format!("{place} is empty"));
        }
    }
    open.first().map(|id| format!("{id:?} is not answered"))
}

/// Reasoning of another provider. Reasoning of this one has members that OpenAI's description
/// lacks: only servers that sent them get them back.
const THOUGHTS: &[fn() -> Reasoning] =
    &[|| Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "thinking": "Hm" }))];

/// Returns the rule that a request breaks, or the member that the crate async-openai does not know.
fn broken_rule_or_type(body: &Value) -> Option<String> {
    broken_rule(body).or_else(|| {
        let read: CreateChatCompletionRequest = serde_json::from_value(body.clone()).unwrap();
        lost(body, &serde_json::to_value(read).unwrap())
    })
}

const CONTRACT: Contract = Contract {
    client: |canned| Box::new(OpenAi::new("https://api.openai.com/v1", "m").transport(canned)),
    empty_reply: r#"{"choices": [{"message": {}}]}"#,
    conversations: || conversations(THOUGHTS),
    options: Some(|| options().boxed()),
    broken_rule: broken_rule_or_type,
};

#[test]
fn any_conversation_is_accepted() {
    CONTRACT.assert_any_conversation_is_accepted();
}

/// Images of results and the next user message are one message.
#[test]
fn result_images_join_the_next_user_message() {
    let image = || Image { media_type: "image/png".into(), base64: "AAAA".into() };
    let call = ToolCall::new("a", "weather.get", "{}");
    let mut result = ToolResult::success(&call, "a map");
    result.parts.push(image().into());
    let messages = [
        Message::user("Look!"),
        Message::Assistant { id: None, parts: vec![AssistantPart::Call(call)] },
        Message::Tool { results: vec![result] },
        Message::user("And?"),
    ];
    let body = CONTRACT.request_body(&messages, &ChatOptions::default());
    let sent_messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = sent_messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    let kinds: Vec<_> =
        sent_messages[3]["content"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["text", "image_url", "text"]);
    assert_eq!(sent_messages[3]["content"][2]["text"], "And?");
}

/// Many chat templates of compatible servers refuse two user messages in a row.
#[test]
fn adjacent_user_messages_are_joined() {
    let messages = [
        Message::user("[Summary] It was cold."),
        Message::user("And now?"),
        Message::assistant("Warm."),
        Message::user("Where?"),
    ];
    let body = CONTRACT.request_body(&messages, &ChatOptions::default());
    let sent_messages: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(sent_messages, ["[Summary] It was cold.\n\nAnd now?", "Warm.", "Where?"]);
}
