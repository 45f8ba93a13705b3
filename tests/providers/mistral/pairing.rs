//! The rules of the API for the requests of any conversation.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use tool_runtime::Reasoning;

use super::client;
use crate::conformance::requests::{Contract, conversations};

/// Order of the roles, according to the errors of the API.
fn may_follow(last: &str, next: &str) -> bool {
    match last {
        // The start of a conversation.
        "" => ["system", "user"].contains(&next),
        "system" => ["system", "user"].contains(&next),
        // The API would accept more.
        "user" => next == "assistant",
        "assistant" => ["user", "assistant", "tool"].contains(&next),
        "tool" => ["tool", "assistant"].contains(&next),
        _ => false,
    }
}

/// `^[a-zA-Z0-9_-]{1,64}$`
fn is_name(name: &Value) -> bool {
    let name = name.as_str().unwrap_or_default();
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(sign)
}

/// `^[a-zA-Z0-9]{9}$`
fn is_id(id: &Value) -> bool {
    let id = id.as_str().unwrap_or_default();
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn chunks_of(content: &Value, known: &[&str]) -> bool {
    match content {
        Value::String(_) => true,
        Value::Array(chunks) => chunks
            .iter()
            .all(|chunk| chunk["type"].as_str().is_some_and(|kind| known.contains(&kind))),
        _ => false,
    }
}

fn is_call(call: &Value) -> bool {
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    is_id(&call["id"])
        && is_name(&call["function"]["name"])
        && serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

/// Checks a request against the rules of the validators in `mistral-common` (those of tokenizers 3
/// to 13), with the older order of roles, which the API enforces.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    if messages.iter().all(|message| message["role"] == "system") {
        return Some("no message has a speaker".into());
    }
    let (mut last, mut used) = ("", HashSet::new());
    let mut open: Vec<[Value; 2]> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !may_follow(last, role) {
            return Some(format!("{place}: {role} after {last:?}"));
        }
        if role != "tool" && !open.is_empty() {
            return Some(format!("{place} stands before the results of {open:?}"));
        }
        let is_last = place + 1 == messages.len();
        let content = &message["content"];
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let fits = match role {
            "system" => content.as_str().is_some_and(|text| !text.is_empty()),
            "user" => chunks_of(content, &["text", "image_url", "document_url", "input_audio"]),
            "tool" => {
                let answered = [message["tool_call_id"].clone(), message["name"].clone()];
                let open_index = open.iter().position(|call| *call == answered);
                open_index.is_some_and(|at| {
                    open.remove(at);
                    content.is_string()
                })
            }
            _ => {
                let is_empty = [json!(""), json!([])].contains(content);
                let is_prefix = message.get("prefix") == Some(&json!(true));
                chunks_of(content, &["text", "thinking"])
                    && (!is_empty || !calls.is_empty())
                    && is_prefix == (is_last && calls.is_empty())
                    && message.get("tool_calls").is_none_or(|_| !calls.is_empty())
            }
        };
        if !fits {
            return Some(format!("{place} is no message of the {role}"));
        }
        for call in calls {
            if role != "assistant" || !is_call(&call) || !used.insert(call["id"].clone()) {
                return Some(format!("{call} is no call, or comes twice"));
            }
            open.push([call["id"].clone(), call["function"]["name"].clone()]);
        }
        last = role;
    }
    (!open.is_empty()).then(|| format!("{open:?} are not answered"))
}

/// Reasoning of this provider and of another one.
const THOUGHTS: &[fn() -> Reasoning] = &[
    || {
        let thinking = json!([{ "type": "text", "text": "Hm" }]);
        Reasoning::new("mistral", "Hm", json!({ "type": "thinking", "thinking": thinking }))
    },
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
