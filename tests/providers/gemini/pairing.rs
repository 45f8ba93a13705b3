//! The rules of the API for the requests of any conversation.

use std::collections::HashSet;

use serde_json::{Value, json};
use tool_runtime::Reasoning;

use super::{NEW, OLD, client};
use crate::conformance::requests::{Contract, conversations};

/// Members of a part, of which it has exactly one.
const DATA: [&str; 5] =
    ["text", "inlineData", "functionCall", "functionResponse", "executableCode"];

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name_character = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    begins && name.len() <= 64 && name.chars().all(is_name_character)
}

/// Returns the id and the name of each part of this kind.
fn named<'v>(content: Option<&'v Value>, kind: &str) -> Vec<[&'v str; 2]> {
    let parts = content.and_then(|content| content["parts"].as_array());
    let of_kind = parts.into_iter().flatten().filter_map(|part| part.get(kind));
    of_kind.map(|named| [&named["id"], &named["name"]].map(|text| text.as_str().unwrap())).collect()
}

fn broken_part(part: &Value, role: &str, is_new: bool) -> Option<String> {
    let data_members: Vec<_> = DATA.iter().filter(|data| part.get(data).is_some()).collect();
    if data_members.len() != 1 {
        return Some(format!("it holds {data_members:?}"));
    }
    let signature = part.get("thoughtSignature");
    if part["text"] == "" && signature.is_none() {
        return Some("it says nothing".into());
    }
    if signature.is_some() && role != "model" {
        return Some("the user signs".into());
    }
    let call = part.get("functionCall");
    if let Some(call) = call
        && (role != "model" || !call["args"].is_object())
    {
        return Some("a call is the user's, or its arguments are no object".into());
    }
    let response = part.get("functionResponse")?;
    let result = response["response"].as_object();
    let is_result =
        result.is_some_and(|result| result.keys().eq(["output"]) || result.keys().eq(["error"]));
    if role != "user" || !is_result {
        return Some("a response is the model's, or says nothing".into());
    }
    let has_parts = response.get("parts").is_some();
    (has_parts && !is_new).then(|| "it shows a picture to one that sees none".into())
}

/// Checks a request against the rules of "Function calling" and "Thought signatures", and against
/// the known errors of the API.
fn broken_rule(body: &Value, is_new: bool) -> Option<String> {
    let contents = body["contents"].as_array()?;
    let mut used = HashSet::new();
    let mut before = "";
    for (place, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap();
        let parts = content["parts"].as_array().unwrap();
        if !["user", "model"].contains(&role) || parts.is_empty() {
            return Some(format!("{place} is of {role:?}, or empty"));
        }
        if role == "model" && before != "user" {
            return Some(format!("the model of {place} speaks behind {before:?}"));
        }
        if let Some(broken) = parts.iter().find_map(|part| broken_part(part, role, is_new)) {
            return Some(format!("a part of {place}: {broken}"));
        }
        let calls = named(Some(content), "functionCall");
        let responses = named(contents.get(place + 1), "functionResponse");
        if calls != responses {
            return Some(format!("the calls {calls:?} are answered by {responses:?}"));
        }
        if let Some([id, name]) =
            calls.iter().find(|[id, name]| id.is_empty() || !used.insert(*id) || !is_name(name))
        {
            return Some(format!("the call {id:?} of {name:?} comes twice or is no name"));
        }
        let answers = named(Some(content), "functionResponse");
        if !answers.is_empty() && (place == 0 || answers.len() != parts.len()) {
            return Some(format!("the responses of {place} don't stand alone"));
        }
        let first_call = parts.iter().find(|part| part.get("functionCall").is_some());
        if is_new && first_call.is_some_and(|call| call.get("thoughtSignature").is_none()) {
            return Some(format!("the first call of {place} is not signed"));
        }
        before = role;
    }
    (before != "user").then(|| "the model speaks last".into())
}

/// Thoughts and signatures of Gemini, code that it ran, and reasoning of another provider.
const THOUGHTS: &[fn() -> Reasoning] = &[
    || Reasoning::new("gemini", "", json!({ "thoughtSignature": "c2ln" })),
    || Reasoning::new("gemini", "Hm", json!({ "text": "Hm", "thought": true })),
    || Reasoning::new("gemini", "", json!({ "text": "", "thoughtSignature": "c2ln" })),
    || Reasoning::new("gemini", "", json!({ "executableCode": { "code": "1" } })),
    || Reasoning::new("chat-completions", "Hm", json!({ "reasoning_content": "Hm" })),
];

/// Returns the rule that a request to a model of this generation breaks.
fn broken_rule_of(body: &Value, is_new: bool) -> Option<String> {
    let is_foreign = body.to_string().contains("reasoning_content");
    let foreign = || is_foreign.then(|| "it holds the reasoning of another provider".into());
    broken_rule(body, is_new).or_else(foreign)
}

const CONTRACT: Contract = Contract {
    client: |canned| Box::new(client(NEW, &canned)),
    empty_reply: r#"{"candidates": [{}]}"#,
    conversations: || conversations(THOUGHTS),
    options: None,
    broken_rule: |body| broken_rule_of(body, true),
};

const CONTRACT_OF_OLD_MODELS: Contract = Contract {
    client: |canned| Box::new(client(OLD, &canned)),
    broken_rule: |body| broken_rule_of(body, false),
    ..CONTRACT
};

#[test]
fn any_conversation_is_accepted() {
    CONTRACT.assert_any_conversation_is_accepted();
}

#[test]
fn any_conversation_is_accepted_by_old_models() {
    CONTRACT_OF_OLD_MODELS.assert_any_conversation_is_accepted();
}
