//! Our turn → the body of a chat-completions request.
//!
//! The shapes are those of OpenAI's API reference, "Create chat completion".

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::json;
use crate::message::{Arguments, AssistantPart, Message, ToolCall, ToolResult};
use crate::models::{ChatRequest, WireNames};
use crate::tool::ToolDefinition;

pub(super) fn request(model: &str, request: ChatRequest<'_>, names: &WireNames) -> Value {
    let messages = request.messages.iter().flat_map(|said| message(said, names));
    let mut body = json!({ "model": model, "messages": messages.collect::<Vec<_>>() });
    // Some servers refuse an empty list.
    if !request.tools.is_empty() {
        let tools: Vec<_> = request.tools.iter().map(|tool| definition(tool, names)).collect();
        if let Some(members) = body.as_object_mut() {
            members.insert("tools".into(), tools.into());
        }
    }
    body
}

/// One message of ours is one of theirs, but for results: each call is answered by its own.
fn message(message: &Message, names: &WireNames) -> Vec<Value> {
    match message {
        Message::System { text } => vec![json!({ "role": "system", "content": text })],
        Message::User { .. } => vec![json!({ "role": "user", "content": message.text() })],
        Message::Assistant { parts } => vec![assistant(message, parts, names)],
        Message::Tool { results } => results
            .iter()
            .map(|result| {
                json!({ "role": "tool", "tool_call_id": result.call, "content": seen(result) })
            })
            .collect(),
    }
}

/// This API takes text alone for a result; a picture that can't be shown is told of.
fn seen(result: &ToolResult) -> String {
    let pictures = result.images.iter().map(|image| format!("\n[{} not shown]", image.media_type));
    [result.text.clone()].into_iter().chain(pictures).collect()
}

fn assistant(message: &Message, parts: &[AssistantPart], names: &WireNames) -> Value {
    let mut said = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    let calls: Vec<_> = message.calls().map(|made| call(made, names)).collect();
    let has_text = parts.iter().any(|part| matches!(part, AssistantPart::Text { .. }));
    let content = if has_text || calls.is_empty() { json!(message.text()) } else { Value::Null };
    said.insert("content".into(), content);
    if !calls.is_empty() {
        said.insert("tool_calls".into(), calls.into());
    }
    said.into()
}

/// OpenAI refuses a conversation in which a model called what can't be a name.
fn call(call: &ToolCall, names: &WireNames) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": names.wire(&call.name), "arguments": arguments(&call.arguments) },
    })
}

/// An object as text: the model's own, byte for byte, unless it is damaged.
///
/// llama.cpp and vLLM read these texts again and refuse the whole conversation, now and on every
/// turn after, when one of them isn't the JSON of an object. Damaged text goes back as the object
/// that the tool was given, and as a member of one where it was given none, so that the model still
/// sees what it wrote.
fn arguments(arguments: &Arguments) -> Cow<'_, str> {
    let text = arguments.to_text();
    if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
        return text;
    }
    let repaired = json::parse_as(&text, &json!({ "type": "object" })).ok();
    Cow::Owned(match repaired.filter(|parsed| parsed.value.is_object()) {
        Some(parsed) => parsed.json().to_owned(),
        None => json!({ "unreadable": text }).to_string(),
    })
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": names.wire(&tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{arguments, request};
    use crate::message::{AssistantPart, Message, ToolCall, ToolResult};
    use crate::models::{ChatRequest, NameRules, WireNames};
    use crate::registry::definition_bytes;
    use crate::tool::ToolDefinition;

    #[test]
    fn a_whole_turn() {
        let first = ToolCall::new("a", "forecast", r#"{ "city": "Oslo" }"#);
        let second = ToolCall::new("b", "forecast", json!({ "city": "Rome" }));
        let results = vec![
            ToolResult::success(&first, "rain"),
            ToolResult::failure(&second, "TOOL_TIMEOUT", "too slow"),
        ];
        let messages = [
            Message::system("Be brief."),
            Message::user("Umbrella?"),
            Message::Assistant {
                parts: vec![AssistantPart::Call(first), AssistantPart::Call(second)],
            },
            Message::Tool { results },
            Message::assistant("Yes."),
        ];
        let schema = json!({ "type": "object", "properties": {} });
        let tool = ToolDefinition::new("forecast", "Weather.", schema.clone());
        let tools = [&tool];

        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&messages).tools(&tools), &names);

        let call = |id: &str, arguments: &str| {
            json!({ "id": id, "type": "function",
                "function": { "name": "forecast", "arguments": arguments } })
        };
        let expected = json!({
            "model": "m",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Umbrella?" },
                { "role": "assistant", "content": null, "tool_calls": [
                    call("a", r#"{ "city": "Oslo" }"#), call("b", r#"{"city":"Rome"}"#),
                ] },
                { "role": "tool", "tool_call_id": "a", "content": "rain" },
                { "role": "tool", "tool_call_id": "b", "content": "too slow" },
                { "role": "assistant", "content": "Yes." },
            ],
            "tools": [{ "type": "function", "function": {
                "name": "forecast", "description": "Weather.", "parameters": schema } }],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn definitions_take_the_bytes_that_selectors_count() {
        let schema = json!({ "type": "object", "properties": { "a": { "const": "\"\u{1f600}" } } });
        let tools = [
            ToolDefinition::new("a", "Says \"a\"\nand more.", schema),
            ToolDefinition::new("b", "B.", json!({ "type": "object" })),
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]).tools(&[&tools[0], &tools[1]]), &names);
        let counted: usize = tools.iter().map(definition_bytes).sum();
        // The brackets of the list, and no comma behind its last.
        assert_eq!(body["tools"].to_string().len(), counted + 2 - 1);
    }

    #[test]
    fn arguments_go_back_as_an_object() {
        for (written, sent) in [
            (r#"{ "b": 1.0, "a": 1e2 }"#, r#"{ "b": 1.0, "a": 1e2 }"#),
            ("", "{}"),
            (" null ", "{}"),
            ("```json\n{\"a\": 1}\n```", r#"{"a": 1}"#),
            ("As in [1]: {\"a\": 1}", r#"{"a": 1}"#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            ("{a: 1.10,}", r#"{"a":1.10}"#),
            ("{\"a\": 1 | 2}", r#"{"unreadable":"{\"a\": 1 | 2}"}"#),
            ("[1]", r#"{"unreadable":"[1]"}"#),
        ] {
            assert_eq!(arguments(&written.into()), sent, "{written}");
        }
    }

    #[test]
    fn no_tools_means_no_list() {
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [] }));
    }
}
