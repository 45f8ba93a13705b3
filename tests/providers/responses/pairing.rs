//! The rules of the API for the requests of any conversation.
//!
//! There are two oracles: the rules of the API and its guides, and the types of the crate
//! async-openai, which are generated from OpenAI's own description of its API.

use std::collections::HashSet;

use async_openai::types::responses::CreateResponse;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_runtime::{AssistantPart, ChatOptions, Message, Reasoning};

use super::client;
use crate::conformance::requests::{Contract, conversations};
use support::oracle::{lost, options};

/// Checks a request against the rules of the reference's input items, of the guides "Function
/// calling" and "Reasoning models", and against the known errors of the API.
fn broken_rule(body: &Value) -> Option<String> {
    let items = body["input"].as_array()?;
    if items.iter().all(|item| item["role"] == "system") {
        return Some("no message has a speaker".into());
    }
    let kind = |item: &Value| item["type"].as_str().unwrap_or_default().to_owned();
    let mut ids = HashSet::new();
    let mut calls = HashSet::new();
    let mut open = HashSet::new();
    for (place, item) in items.iter().enumerate() {
        let behind_sealed = place > 0
            && ["reasoning", "web_search_call"].contains(&kind(&items[place - 1]).as_str());
        if let Some(id) = item.get("id") {
            if !ids.insert(id.to_string()) {
                return Some(format!("{id} comes twice"));
            }
            let is_tied = !["message", "function_call"].contains(&kind(item).as_str());
            if !is_tied && !behind_sealed {
                return Some(format!("{id} stands without its reasoning"));
            }
        }
        let call_id = item["call_id"].as_str().unwrap_or_default().to_owned();
        match kind(item).as_str() {
            "message" => {
                if let Some(broken) = broken_message(item) {
                    return Some(format!("{broken} at {place}"));
                }
            }
            "function_call" => {
                let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                let name = item["name"].as_str()?;
                if name.is_empty() || name.len() > 64 || !name.bytes().all(is_sign) {
                    return Some(format!("{name:?} is no name"));
                }
                if call_id.is_empty() || call_id.len() > 64 || !calls.insert(call_id.clone()) {
                    return Some(format!("the call {call_id:?} has no unique id"));
                }
                if serde_json::from_str::<Map<_, _>>(item["arguments"].as_str()?).is_err() {
                    return Some(format!("the arguments of {call_id} are no object"));
                }
                open.insert(call_id);
            }
            "function_call_output" => {
                if !open.remove(&call_id) {
                    return Some(format!("{call_id} is answered twice, or was never called"));
                }
                let has_parts = |parts: &Vec<Value>| {
                    let known = ["input_text", "input_image", "input_file"];
                    !parts.is_empty()
                        && parts.iter().all(|part| known.contains(&kind(part).as_str()))
                };
                if !item["output"].is_string() && !item["output"].as_array().is_some_and(has_parts)
                {
                    return Some(format!("{call_id} is answered by {}", item["output"]));
                }
            }
            "reasoning" => {
                if item["encrypted_content"].as_str().is_none_or(str::is_empty)
                    && item["content"].as_array().is_none_or(Vec::is_empty)
                {
                    return Some(format!("reasoning at {place} can't be read"));
                }
                let next = items.get(place + 1)?;
                let is_assistant_message = kind(next) == "message" && next["role"] == "assistant";
                if !is_assistant_message
                    && !["function_call", "web_search_call", "reasoning"]
                        .contains(&kind(next).as_str())
                {
                    return Some(format!("reasoning at {place} led to {next}"));
                }
            }
            "web_search_call" => {}
            other => return Some(format!("no one answers {other}")),
        }
    }
    let last_thinks = items.last().is_some_and(|last| kind(last) == "reasoning");
    if last_thinks || !open.is_empty() {
        return Some(format!("{open:?} are not answered, or reasoning comes last"));
    }
    None
}

/// Checks a message: one of the provider has an id, a status and parts; another has a role and a
/// text.
fn broken_message(item: &Value) -> Option<String> {
    let role = item["role"].as_str().unwrap_or_default();
    if !["system", "user", "assistant"].contains(&role) {
        return Some(format!("{role:?} is no one"));
    }
    let parts = item["content"].as_array();
    let of_kind = |kind: &str| {
        parts
            .is_some_and(|parts| !parts.is_empty() && parts.iter().all(|part| part["type"] == kind))
    };
    let is_fine = match (item.get("id"), role) {
        (Some(_), "assistant") => of_kind("output_text") && item["status"].is_string(),
        (Some(_), _) => false,
        (None, "user") => {
            let known = ["input_text", "input_image", "input_file"];
            let is_known = |part: &Value| known.iter().any(|kind| part["type"] == *kind);
            item["content"].is_string()
                || parts.is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_known))
        }
        (None, _) => item["content"].is_string(),
    };
    (!is_fine).then(|| format!("the message {item}"))
}

fn sealed_part(item: Value) -> Reasoning {
    Reasoning::new("responses", "", item)
}

fn reasoning(id: &str, sealed: Option<&str>) -> Reasoning {
    let mut item = json!({ "type": "reasoning", "id": id, "summary": [] });
    match sealed {
        Some(sealed) => item["encrypted_content"] = sealed.into(),
        None => item["content"] = json!([{ "type": "reasoning_text", "text": "Hm" }]),
    }
    sealed_part(item)
}

fn remainder(kind: &str, id: &str) -> Reasoning {
    sealed_part(json!({ "type": kind, "id": id, "status": "completed" }))
}

/// Reasoning of this provider: encrypted, open and without content; remainders of items; items of
/// its own tools; calls that only a program could answer; and reasoning of another provider.
const THOUGHTS: &[fn() -> Reasoning] = &[
    || reasoning("rs_1", Some("gAAA")),
    || reasoning("rs_2", None),
    || reasoning("rs_3", Some("")),
    || remainder("message", "msg_1"),
    || remainder("function_call", "fc_1"),
    || sealed_part(json!({ "type": "message", "id": "msg_2", "phase": "commentary" })),
    || {
        let action = json!({ "type": "search", "query": "rain", "queries": ["rain"] });
        sealed_part(json!({ "type": "web_search_call", "id": "ws_1", "status": "completed",
            "action": action }))
    },
    || {
        sealed_part(
            json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "input": "" }),
        )
    },
    || Reasoning::new("openai", "", json!({ "type": "reasoning", "id": "rs_9" })),
    || Reasoning::new("chat-completions", "Hm", json!({ "reasoning_content": "Hm" })),
];

/// Inserts reasoning before texts and calls, with their remainder or with that of another item.
fn with_reasoning(mut messages: Vec<Message>, ways: &[u8]) -> Vec<Message> {
    let mut ways = ways.iter().cycle();
    for (place, message) in messages.iter_mut().enumerate() {
        let Message::Assistant { parts, .. } = message else { continue };
        let follows = |(number, part): (usize, AssistantPart)| {
            let way = ways.next().copied().unwrap_or(0);
            // New ids and repeated ones.
            let number = if way % 2 == 0 { 100 * place + number } else { 7 };
            let kind = match &part {
                AssistantPart::Text { .. } => "message",
                _ => "function_call",
            };
            let leading = match way % 5 {
                0 | 1 => remainder(kind, &format!("led_{number}")),
                2 => remainder("message", &format!("led_{number}")),
                _ => return vec![part],
            };
            let thought = reasoning(&format!("rs_{number}"), Some("gAAA"));
            vec![AssistantPart::Reasoning(thought), AssistantPart::Reasoning(leading), part]
        };
        let original = std::mem::take(parts);
        *parts = original.into_iter().enumerate().flat_map(follows).collect();
    }
    messages
}

/// Returns the rule that a request breaks, or the member that the crate async-openai does not know.
fn broken_rule_or_type(body: &Value) -> Option<String> {
    broken_rule(body).or_else(|| {
        let read: CreateResponse = serde_json::from_value(body.clone()).unwrap();
        lost(body, &serde_json::to_value(read).unwrap())
    })
}

const CONTRACT: Contract = Contract {
    client: |canned| Box::new(client(&canned)),
    empty_reply: r#"{"output": []}"#,
    conversations: || {
        let ways = prop::collection::vec(any::<u8>(), 1..8);
        let conversations_and_ways = (conversations(THOUGHTS), ways);
        conversations_and_ways.prop_map(|(messages, ways)| with_reasoning(messages, &ways)).boxed()
    },
    options: Some(|| {
        // The API has no stop sequences.
        // The API has no stop sequences, and the model refuses a temperature.
        let accepted = |mut options: ChatOptions| {
            options.stop.clear();
            options.extra.clear();
            options.temperature = None;
            options
        };
        options().prop_map(accepted).boxed()
    }),
    broken_rule: broken_rule_or_type,
};

#[test]
fn any_conversation_is_accepted() {
    CONTRACT.assert_any_conversation_is_accepted();
}
