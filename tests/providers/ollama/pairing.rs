//! The rules of the server for the requests of any conversation.

use std::collections::HashSet;

use serde_json::{Value, json};
use tool_runtime::Reasoning;

use super::client;
use crate::conformance::requests::{Contract, conversations};

/// Returns the first member that the server's `Message` cannot be decoded from.
fn undecodable(message: &Value) -> Option<&'static str> {
    let known =
        ["role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"];
    let members = message.as_object()?;
    if members.keys().any(|name| !known.contains(&name.as_str())) {
        return Some("has an unknown member");
    }
    for name in ["role", "content", "thinking", "tool_name", "tool_call_id"] {
        if members.get(name).is_some_and(|value| !value.is_string()) {
            return Some("has something else where a text belongs");
        }
    }
    let all = |name: &str, fits: &dyn Fn(&Value) -> bool| {
        members
            .get(name)
            .is_none_or(|list| list.as_array().is_some_and(|list| list.iter().all(fits)))
    };
    let is_base64 = |image: &Value| {
        let text = image.as_str().unwrap_or_default();
        let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        !text.is_empty() && text.len().is_multiple_of(4) && text.bytes().all(sign)
    };
    let is_call = |call: &Value| {
        call["id"].is_string()
            && call["function"]["name"].as_str().is_some_and(|name| !name.is_empty())
            && call["function"]["arguments"].is_object()
    };
    if !all("images", &is_base64) {
        return Some("has an image that is none");
    }
    if !all("tool_calls", &is_call) {
        return Some("has a call that is none");
    }
    None
}

/// Checks a request against the rules of `api/types.go` and of the models' templates: results
/// follow their calls, in the same order and with the same names.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let mut open: Vec<[Value; 2]> = Vec::new();
    let mut used = HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        if let Some(reason) = undecodable(message) {
            return Some(format!("{place} {reason}"));
        }
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            let answered = [message["tool_call_id"].clone(), message["tool_name"].clone()];
            if open.is_empty() || open.remove(0) != answered {
                return Some(format!("{place} answers no call, or not in its place: {answered:?}"));
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("{place} stands before the results of {open:?}"));
        }
        if !["system", "user", "assistant"].contains(&role) {
            return Some(format!("{role} is no role"));
        }
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if !calls.is_empty() && role != "assistant" {
            return Some(format!("the {role} calls a tool"));
        }
        if role == "assistant"
            && calls.is_empty()
            && message["content"].as_str().unwrap().trim().is_empty()
        {
            return Some(format!("{place} says nothing"));
        }
        for call in calls {
            if !used.insert(call["id"].clone()) {
                return Some(format!("the id {} comes twice", call["id"]));
            }
            open.push([call["id"].clone(), call["function"]["name"].clone()]);
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} are not answered"))
}

/// Reasoning of this provider and of another one.
const THOUGHTS: &[fn() -> Reasoning] = &[
    || Reasoning::new("ollama", "Hm", json!({ "thinking": "Hm" })),
    || Reasoning::new("chat-completions", "Hm", json!({ "reasoning_content": "Hm" })),
];

const CONTRACT: Contract = Contract {
    client: |canned| Box::new(client(&canned)),
    empty_reply: super::EMPTY_REPLY,
    conversations: || conversations(THOUGHTS),
    options: None,
    broken_rule,
};

#[test]
fn any_conversation_is_accepted() {
    CONTRACT.assert_any_conversation_is_accepted();
}
