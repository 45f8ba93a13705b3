//! The rules of the API for the requests of any conversation.

use std::collections::HashSet;

use serde_json::{Value, json};
use tool_runtime::Reasoning;

use super::client;
use crate::conformance::requests::{Contract, conversations};

/// The rules of "How to implement tool use" and of the reference's errors, checked on a request.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let ids = |message: Option<&Value>, kind: &str, member: &str| -> Vec<String> {
        let blocks = message.map(blocks).unwrap_or_default();
        let of_kind = blocks.iter().filter(|block| block["type"] == kind);
        of_kind.map(|block| block[member].as_str().unwrap().to_owned()).collect()
    };
    let is_word = |id: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        !id.is_empty() && id.bytes().all(is_sign)
    };
    let can_be_last = |last: &Value| {
        last["role"] == "user"
            || blocks(last).last().is_some_and(|block| block["type"] == "server_tool_use")
    };
    if !messages.last().is_some_and(can_be_last) {
        return Some("no user has the last word".into());
    }
    let mut used = HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Some(format!("{place} is not of the {expected}"));
        }
        let blocks = blocks(message);
        if blocks.is_empty() {
            return Some(format!("{place} is empty"));
        }
        let blank = |block: &&Value| {
            block["type"] == "text" && block["text"].as_str().unwrap().trim().is_empty()
        };
        if blocks.iter().any(|block| blank(&block)) {
            return Some(format!("a text of {place} is blank"));
        }
        let is_thought = |block: &Value| {
            ["thinking", "redacted_thinking"].iter().any(|kind| block["type"] == *kind)
        };
        if blocks.last().is_some_and(is_thought) {
            return Some(format!("{place} ends in a thought"));
        }
        let unsigned = |block: &Value| block["type"] == "thinking" && block["signature"] == "";
        if blocks.iter().any(unsigned) {
            return Some(format!("a thought of {place} is not signed"));
        }
        let calls = ids(Some(message), "tool_use", "id");
        let results = ids(messages.get(place + 1), "tool_result", "tool_use_id");
        if let Some(id) = calls.iter().find(|id| !is_word(id) || !used.insert((*id).clone())) {
            return Some(format!("the id {id:?} is no word, or comes twice"));
        }
        if expected == "assistant" && calls != results {
            return Some(format!("the calls {calls:?} are answered by {results:?}"));
        }
        if place == 0 && !ids(Some(message), "tool_result", "tool_use_id").is_empty() {
            return Some("results come first".into());
        }
        let first_other = blocks.iter().position(|block| block["type"] != "tool_result");
        let later_blocks = blocks.iter().skip(first_other.unwrap_or(blocks.len()));
        if later_blocks.into_iter().any(|block| block["type"] == "tool_result") {
            return Some(format!("a result of {place} follows another kind of block"));
        }
        let no_object = |block: &&Value| block["type"] == "tool_use" && !block["input"].is_object();
        if blocks.iter().any(|block| no_object(&block)) {
            return Some(format!("an input of {place} is no object"));
        }
    }
    None
}

/// Reasoning of this provider and of another one.
const THOUGHTS: &[fn() -> Reasoning] = &[
    || Reasoning::new("anthropic", "", json!({ "type": "redacted_thinking", "data": "xx" })),
    || {
        let cut = json!({ "type": "thinking", "thinking": "Hm", "signature": "" });
        Reasoning::new("anthropic", "Hm", cut)
    },
    || {
        let signed = json!({ "type": "thinking", "thinking": "Hm", "signature": "s=" });
        Reasoning::new("anthropic", "Hm", signed)
    },
    || {
        let search =
            json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
        Reasoning::new("anthropic", "", search).provider_action()
    },
    || Reasoning::new("chat-completions", "Hm", json!({ "reasoning_content": "Hm" })),
];

const CONTRACT: Contract = Contract {
    client: |canned| Box::new(client(&canned)),
    empty_reply: r#"{"content": []}"#,
    conversations: || conversations(THOUGHTS),
    options: None,
    broken_rule,
};

#[test]
fn any_conversation_is_accepted() {
    CONTRACT.assert_any_conversation_is_accepted();
}
