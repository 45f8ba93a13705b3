//! Our turn → the body of a chat-completions request.
//!
//! The shapes are those of OpenAI's API reference, "Create chat completion".

use serde_json::{Map, Value, json};

use super::decode::{EXTRA, REASONING_OF};
use crate::message::{AssistantPart, Message, ToolResult};
use crate::models::{ChatRequest, WireNames};
use crate::providers::chat::{add, call, content, set_options, shown};
use crate::providers::codec::{EARLIER, IdRules, WireIds, nobody_spoke, set};

/// As many calls as OpenAI takes in one message.
const MOST_CALLS: usize = 128;

pub(super) fn request(model: &str, request: ChatRequest<'_>, names: &WireNames) -> Value {
    let mut body = json!({ "model": model, "messages": conversation(request.messages, names) });
    set_options(&mut body, request, names, "required");
    body
}

fn conversation(messages: &[Message], names: &WireNames) -> Vec<Value> {
    let ids = WireIds::new(messages, IdRules::Forty);
    // What a model thought is of use to it until it has answered; some refuse more.
    let asked = messages.iter().rposition(|said| matches!(said, Message::User { .. }));
    let mut said = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message {
            Message::System { text } => said.push(json!({ "role": "system", "content": text })),
            Message::User { parts } => {
                add(&mut said, json!({ "role": "user", "content": content(parts) }));
            }
            Message::Assistant { parts } => {
                let mut spoken = assistant(message, parts, names, &ids);
                if asked.is_none_or(|asked| place > asked)
                    && let Some(members) = spoken.as_object_mut()
                {
                    members.extend(parts.iter().filter_map(thought).flatten());
                }
                // Nothing is left where another provider's own tools did something.
                let has_more = spoken.as_object().is_some_and(|spoken| spoken.len() > 2);
                if has_more || !message.text().trim().is_empty() {
                    said.push(spoken);
                }
            }
            Message::Tool { results } => {
                answer(&mut said, results.iter().map(|told| result(told, &ids)).collect());
                if let Some(shown) = shown(results, &ids) {
                    add(&mut said, shown);
                }
            }
        }
    }
    if nobody_spoke(&said) {
        said.push(json!({ "role": "user", "content": EARLIER }));
    }
    said
}

/// Adds the results of the last message's calls: each is a message of its own, in the order of the calls.
/// Of more calls than one message holds, the rest becomes messages behind the results of the first.
fn answer(said: &mut Vec<Value>, mut results: Vec<Value>) {
    let calls = said.last_mut().and_then(|last| last.get_mut("tool_calls")?.as_array_mut());
    let mut rest = calls.map_or_else(Vec::new, |calls| {
        let kept = calls.len().min(MOST_CALLS);
        calls.split_off(kept)
    });
    while !rest.is_empty() {
        let later = results.split_off(results.len().min(MOST_CALLS));
        said.append(&mut results);
        let after = rest.split_off(rest.len().min(MOST_CALLS));
        said.push(json!({ "role": "assistant", "content": null, "tool_calls": rest }));
        (results, rest) = (later, after);
    }
    said.append(&mut results);
}

/// The members that carry what the model thought.
fn thought(part: &AssistantPart) -> Option<Map<String, Value>> {
    let mut members = sealed(part)?.clone();
    members.remove(EXTRA);
    Some(members)
}

fn sealed(part: &AssistantPart) -> Option<&Map<String, Value>> {
    match part {
        AssistantPart::Reasoning(thought) if thought.provider == REASONING_OF => {
            thought.sealed.as_object()
        }
        _ => None,
    }
}

fn result(told: &ToolResult, ids: &WireIds<'_>) -> Value {
    json!({ "role": "tool", "tool_call_id": ids.wire(&told.call), "content": told.text })
}

fn assistant(
    message: &Message,
    parts: &[AssistantPart],
    names: &WireNames,
    ids: &WireIds<'_>,
) -> Value {
    let mut said = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    let calls = calls(parts, names, ids);
    let has_text = parts.iter().any(|part| matches!(part, AssistantPart::Text { .. }));
    let content = if has_text || calls.is_empty() { json!(message.text()) } else { Value::Null };
    said.insert("content".into(), content);
    if !calls.is_empty() {
        said.insert("tool_calls".into(), calls.into());
    }
    said.into()
}

/// What came along with a call stands before it, and goes back on it.
fn calls(parts: &[AssistantPart], names: &WireNames, ids: &WireIds<'_>) -> Vec<Value> {
    let mut extra = None;
    let mut calls = Vec::new();
    for part in parts {
        let AssistantPart::Call(made) = part else {
            extra = sealed(part).and_then(|sealed| sealed.get(EXTRA));
            continue;
        };
        let mut call = call(made, &ids.wire(&made.id), names);
        if let Some(extra) = extra.take() {
            set(&mut call, EXTRA, extra.clone());
        }
        calls.push(call);
    }
    calls
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{REASONING_OF, request};
    use crate::message::{
        AssistantPart, Image, Message, Reasoning, ToolCall, ToolResult, UserPart,
    };
    use crate::models::{ChatOptions, ChatRequest, NameRules, ToolChoice, WireNames};
    use crate::registry::definition_bytes;
    use crate::schema::{Dialect, Schema};
    use crate::tool::ToolDefinition;

    /// What there is where nobody has spoken.
    fn begun() -> serde_json::Value {
        json!({ "role": "user", "content": super::EARLIER })
    }

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
            ToolDefinition::new("b", "B.", json!({ "type": "object" }))
                .bent(Dialect::OpenAiStrict)
                .unwrap(),
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]).tools(&[&tools[0], &tools[1]]), &names);
        assert_eq!(body["tools"][0]["function"].get("strict"), None);
        assert_eq!(body["tools"][1]["function"]["strict"], true);
        assert_eq!(body["tools"][1]["function"]["parameters"]["required"], json!([]));
        let counted: usize = tools.iter().map(definition_bytes).sum();
        // The brackets of the list, and no comma behind its last.
        assert_eq!(body["tools"].to_string().len(), counted + 2 - 1);
    }

    #[test]
    fn how_it_is_to_answer() {
        let tool = ToolDefinition::new("weather.get", "Weather.", json!({ "type": "object" }));
        let names = WireNames::new(["weather.get"], NameRules::OPENAI);
        let schema = json!({ "type": "object", "properties": {} });
        let set = ChatOptions::default;
        for (options, expected) in [
            (set(), json!({})),
            (set().tool_choice(ToolChoice::Required), json!({ "tool_choice": "required" })),
            (set().tool_choice(ToolChoice::None), json!({ "tool_choice": "none" })),
            (
                set().tool_choice(ToolChoice::Tool("weather.get".into())),
                json!({ "tool_choice":
                    { "type": "function", "function": { "name": names.wire("weather.get") } } }),
            ),
            (set().parallel_calls(false), json!({ "parallel_tool_calls": false })),
            (
                set().output(schema.clone()),
                json!({ "response_format": { "type": "json_schema",
                    "json_schema": { "name": "output", "schema": schema } } }),
            ),
            (
                set().output(
                    Schema::from(schema.clone()).for_dialect(Dialect::OpenAiStrict).unwrap(),
                ),
                json!({ "response_format": { "type": "json_schema", "json_schema": {
                    "name": "output", "strict": true, "schema": { "type": "object",
                    "properties": {}, "required": [], "additionalProperties": false } } } }),
            ),
            (set().temperature(0.5), json!({ "temperature": 0.5 })),
            (set().stop("END").stop("\n"), json!({ "stop": ["END", "\n"] })),
        ] {
            let tools = [&tool];
            let asked = ChatRequest::new(&[]).tools(&tools).options(&options);
            let mut body = request("m", asked, &names);
            let members = body.as_object_mut().unwrap();
            for known in ["model", "messages", "tools"] {
                members.remove(known).unwrap();
            }
            assert_eq!(body, expected, "{options:?}");
        }
        // A choice among no tools is refused by some.
        let options = set().tool_choice(ToolChoice::None).parallel_calls(true);
        let body = request("m", ChatRequest::new(&[]).options(&options), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [begun()] }));
    }

    #[test]
    fn pictures_and_thoughts() {
        let thought = |text: &str, provider: &str| {
            let sealed = json!({ "reasoning_content": text });
            AssistantPart::Reasoning(Reasoning::new(provider, text, sealed))
        };
        let said = |text: &str| AssistantPart::Text { text: text.into() };
        let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
        let look = UserPart::Text { text: "Look:".into() };
        let messages = [
            Message::user("Hello"),
            Message::Assistant { parts: vec![thought("old", REASONING_OF), said("Hi")] },
            Message::User { parts: vec![look, UserPart::Image(image)] },
            Message::Assistant {
                parts: vec![thought("new", REASONING_OF), thought("x", "another"), said("Hm")],
            },
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&messages), &names);
        let expected = json!([
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Hi" },
            { "role": "user", "content": [
                { "type": "text", "text": "Look:" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
            ] },
            { "role": "assistant", "content": "Hm", "reasoning_content": "new" },
        ]);
        assert_eq!(body["messages"], expected);
    }

    #[test]
    fn no_tools_means_no_list() {
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [begun()] }));
    }

    #[test]
    fn more_calls_than_a_message_holds() {
        let calls: Vec<_> = (0..300).map(|n| ToolCall::new(n.to_string(), "t", "{}")).collect();
        let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
        let mut results: Vec<_> =
            calls.iter().map(|call| ToolResult::success(call, call.id.as_str())).collect();
        results[299].images.push(image);
        let messages = [
            Message::user("Go"),
            Message::Assistant { parts: calls.into_iter().map(AssistantPart::Call).collect() },
            Message::Tool { results },
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&messages), &names);
        let sent = body["messages"].as_array().unwrap();
        let (mut asked, mut rounds) = (Vec::new(), Vec::new());
        for message in &sent[1..304] {
            match message["tool_calls"].as_array() {
                Some(calls) => {
                    assert!(asked.is_empty());
                    rounds.push(calls.len());
                    asked = calls.iter().map(|call| call["id"].clone()).rev().collect();
                }
                None => assert_eq!(asked.pop(), Some(message["tool_call_id"].clone())),
            }
        }
        assert_eq!(rounds, [128, 128, 44]);
        assert_eq!(sent[304]["role"], "user");
        assert_eq!(sent[304]["content"][1]["type"], "image_url");
        assert_eq!(sent.len(), 305);
    }

    #[test]
    fn what_came_along_with_a_call_goes_back_on_it() {
        let kept = |sealed| AssistantPart::Reasoning(Reasoning::new(REASONING_OF, "", sealed));
        let call = |id| AssistantPart::Call(ToolCall::new(id, "t", "{}"));
        let details = json!([{ "type": "reasoning.encrypted", "data": "x" }]);
        let parts = vec![
            kept(json!({ "reasoning_details": details })),
            kept(json!({ "extra_content": { "google": { "thought_signature": "s=" } } })),
            call("a"),
            call("b"),
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        for later in [None, Some(Message::user("And now?"))] {
            let is_over = later.is_some();
            let said = Message::Assistant { parts: parts.clone() };
            let messages: Vec<_> = [said].into_iter().chain(later).collect();
            let body = request("m", ChatRequest::new(&messages), &names);
            let said = &body["messages"][0];
            let [first, second] = [&said["tool_calls"][0], &said["tool_calls"][1]];
            assert_eq!(first["extra_content"]["google"]["thought_signature"], "s=");
            assert_eq!(second.get("extra_content"), None);
            assert_eq!(said.get("extra_content"), None);
            assert_eq!(said.get("reasoning_details"), (!is_over).then_some(&details));
        }
    }
}
