//! `ChatRequest` → body of a chat completion request.
//!
//! The shapes follow OpenAI's API reference, "Create chat completion".

use serde_json::{Map, Value, json};

use super::decode::{EXTRA, REASONING_OF};
use crate::chat::{
    encode_call, encode_content, encode_image, media_message, push_message, result_text,
    set_options,
};
use crate::codec::{IdRules, WireIds};
use crate::shared::{OPENING, only_system, set, text_with_notes};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{AssistantPart, ChatRequest, Message, ToolResult};

/// The highest number of calls in one message that OpenAI accepts.
const MAX_CALLS: usize = 128;

pub(super) fn request(model: &str, request: ChatRequest<'_>, names: &WireNames) -> Value {
    let mut body = json!({ "model": model, "messages": conversation(request.messages, names) });
    set_options(&mut body, request, names, "required");
    body
}

fn conversation(messages: &[Message], names: &WireNames) -> Vec<Value> {
    let ids = WireIds::new(messages, IdRules::Any40);
    // Reasoning is useful only until the model has answered, and some servers refuse older
    // reasoning.
    let last_user = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let mut wire_messages = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::System { text } => {
                wire_messages.push(json!({ "role": "system", "content": text }))
            }
            Message::User { parts, .. } => {
                push_message(
                    &mut wire_messages,
                    json!({ "role": "user", "content": encode_content(parts, media) }),
                );
            }
            Message::Assistant { parts, .. } => {
                let mut encoded = assistant(parts, names, &ids);
                if last_user.is_none_or(|last| index > last)
                    && let Some(members) = encoded.as_object_mut()
                {
                    members.extend(parts.iter().filter_map(reasoning).flatten());
                }
                // Nothing is left where another provider's own tools did something.
                let has_more = encoded.as_object().is_some_and(|members| members.len() > 2);
                if has_more || !text_with_notes(parts).trim().is_empty() {
                    wire_messages.push(encoded);
                }
            }
            Message::Tool { results } => {
                push_results(
                    &mut wire_messages,
                    results.iter().map(|result| tool_result(result, &ids)).collect(),
                );
                if let Some(attached) = media_message(results, &ids, media) {
                    push_message(&mut wire_messages, attached);
                }
            }
            _ => {} // `check` has refused the request.
        }
    }
    if only_system(&wire_messages) {
        wire_messages.push(json!({ "role": "user", "content": OPENING }));
    }
    wire_messages
}

/// Adds the results of the last message's calls; each is a separate message, in the order of the
/// calls. Calls that exceed the limit of one message follow, in a separate message, the results
/// of the first.
fn push_results(wire_messages: &mut Vec<Value>, mut results: Vec<Value>) {
    let calls =
        wire_messages.last_mut().and_then(|last| last.get_mut("tool_calls")?.as_array_mut());
    let mut rest = calls.map_or_else(Vec::new, |calls| {
        let sent_count = calls.len().min(MAX_CALLS);
        calls.split_off(sent_count)
    });
    while !rest.is_empty() {
        let later = results.split_off(results.len().min(MAX_CALLS));
        wire_messages.append(&mut results);
        let after = rest.split_off(rest.len().min(MAX_CALLS));
        wire_messages.push(json!({ "role": "assistant", "content": null, "tool_calls": rest }));
        results = later;
        rest = after;
    }
    wire_messages.append(&mut results);
}

/// Returns the members that carry reasoning.
fn reasoning(part: &AssistantPart) -> Option<Map<String, Value>> {
    let mut members = sealed(part)?.clone();
    members.remove(EXTRA);
    Some(members)
}

fn sealed(part: &AssistantPart) -> Option<&Map<String, Value>> {
    match part {
        AssistantPart::Reasoning(reasoning) if reasoning.provider == REASONING_OF => {
            reasoning.sealed.as_object()
        }
        _ => None,
    }
}

fn tool_result(result: &ToolResult, ids: &WireIds<'_>) -> Value {
    let text = result_text(result, media);
    json!({ "role": "tool", "tool_call_id": ids.wire(&result.call), "content": text })
}

/// Encodes an image, audio or a PDF document; the API refuses other data.
fn media(media: Media<'_>) -> Option<Value> {
    let format = match media.media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "application/pdf" => {
            let name = media.name.unwrap_or("document.pdf");
            let file = json!({ "filename": name, "file_data": media.data_url() });
            return Some(json!({ "type": "file", "file": file }));
        }
        _ => return encode_image(media),
    };
    let audio = json!({ "data": media.base64, "format": format });
    Some(json!({ "type": "input_audio", "input_audio": audio }))
}

fn assistant(parts: &[AssistantPart], names: &WireNames, ids: &WireIds<'_>) -> Value {
    let mut members = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    let calls = calls(parts, names, ids);
    let is_text =
        |part: &AssistantPart| matches!(part, AssistantPart::Text { .. } | AssistantPart::File(_));
    let has_text = parts.iter().any(is_text);
    let content =
        if has_text || calls.is_empty() { json!(text_with_notes(parts)) } else { Value::Null };
    members.insert("content".into(), content);
    if !calls.is_empty() {
        members.insert("tool_calls".into(), calls.into());
    }
    members.into()
}

/// Encodes the calls. Extra data of a call precedes it as reasoning and is sent back on the call.
fn calls(parts: &[AssistantPart], names: &WireNames, ids: &WireIds<'_>) -> Vec<Value> {
    let mut extra = None;
    let mut calls = Vec::new();
    for part in parts {
        let AssistantPart::Call(call) = part else {
            extra = sealed(part).and_then(|sealed| sealed.get(EXTRA));
            continue;
        };
        let mut encoded = encode_call(call, &ids.wire(&call.id), names);
        if let Some(extra) = extra.take() {
            set(&mut encoded, EXTRA, extra.clone());
        }
        calls.push(encoded);
    }
    calls
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{REASONING_OF, request};
    use tool_core::models::{NameRules, WireNames};
    use tool_core::registry::definition_bytes;
    use tool_core::schema::{Dialect, Schema};
    use tool_core::{
        AssistantPart, ChatOptions, ChatRequest, ContentPart, Image, Message, Reasoning, ToolCall,
        ToolChoice, ToolDefinition, ToolResult,
    };

    /// The message that is sent if the conversation is empty.
    fn opening() -> serde_json::Value {
        json!({ "role": "user", "content": super::OPENING })
    }

    #[test]
    fn conversation_with_calls_and_results() {
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
                id: None,
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
    fn encoded_definitions_have_the_counted_size() {
        let schema = json!({ "type": "object", "properties": { "a": { "const": "\"\u{1f600}" } } });
        let tools = [
            ToolDefinition::new("a", "Says \"a\"\nand more.", schema),
            ToolDefinition::new("b", "B.", json!({ "type": "object" }))
                .in_dialect(Dialect::OpenAiStrict)
                .unwrap(),
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]).tools(&[&tools[0], &tools[1]]), &names);
        assert_eq!(body["tools"][0]["function"].get("strict"), None);
        assert_eq!(body["tools"][1]["function"]["strict"], true);
        assert_eq!(body["tools"][1]["function"]["parameters"]["required"], json!([]));
        let counted: usize = tools.iter().map(definition_bytes).sum();
        // The brackets of the list, minus the comma that the last item lacks.
        assert_eq!(body["tools"].to_string().len(), counted + 2 - 1);
    }

    #[test]
    fn options_set_their_members() {
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
                    { "type": "function", "function": { "name": names.wire_name("weather.get") } } }),
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
            let turn = ChatRequest::new(&[]).tools(&tools).options(&options);
            let mut body = request("m", turn, &names);
            let members = body.as_object_mut().unwrap();
            for known in ["model", "messages", "tools"] {
                members.remove(known).unwrap();
            }
            assert_eq!(body, expected, "{options:?}");
        }
        // Some servers refuse a choice among no tools.
        let options = set().tool_choice(ToolChoice::None).parallel_calls(true);
        let body = request("m", ChatRequest::new(&[]).options(&options), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [opening()] }));
    }

    #[test]
    fn images_and_current_reasoning_are_sent() {
        let thought = |text: &str, provider: &str| {
            let sealed = json!({ "reasoning_content": text });
            AssistantPart::Reasoning(Reasoning::new(provider, text, sealed))
        };
        let text_part = |text: &str| AssistantPart::Text { text: text.into() };
        let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
        let look = ContentPart::Text { text: "Look:".into() };
        let messages = [
            Message::user("Hello"),
            Message::Assistant {
                id: None,
                parts: vec![thought("old", REASONING_OF), text_part("Hi")],
            },
            Message::User { id: None, parts: vec![look, ContentPart::Image(image)] },
            Message::Assistant {
                id: None,
                parts: vec![thought("new", REASONING_OF), thought("x", "another"), text_part("Hm")],
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
    fn tools_are_omitted_if_there_are_none() {
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&[]), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [opening()] }));
    }

    #[test]
    fn excess_calls_go_into_further_messages() {
        let calls: Vec<_> = (0..300).map(|n| ToolCall::new(n.to_string(), "t", "{}")).collect();
        let image = Image { media_type: "image/png".into(), base64: "AAAA".into() };
        let mut results: Vec<_> =
            calls.iter().map(|call| ToolResult::success(call, call.id.as_str())).collect();
        results[299].parts.push(image.into());
        let messages = [
            Message::user("Go"),
            Message::Assistant {
                id: None,
                parts: calls.into_iter().map(AssistantPart::Call).collect(),
            },
            Message::Tool { results },
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        let body = request("m", ChatRequest::new(&messages), &names);
        let messages = body["messages"].as_array().unwrap();
        let (mut open, mut rounds) = (Vec::new(), Vec::new());
        for message in &messages[1..304] {
            match message["tool_calls"].as_array() {
                Some(calls) => {
                    assert!(open.is_empty());
                    rounds.push(calls.len());
                    open = calls.iter().map(|call| call["id"].clone()).rev().collect();
                }
                None => assert_eq!(open.pop(), Some(message["tool_call_id"].clone())),
            }
        }
        assert_eq!(rounds, [128, 128, 44]);
        assert_eq!(messages[304]["role"], "user");
        assert_eq!(messages[304]["content"][1]["type"], "image_url");
        assert_eq!(messages.len(), 305);
    }

    #[test]
    fn extra_data_of_a_call_is_sent_back_on_it() {
        let sealed_part =
            |sealed| AssistantPart::Reasoning(Reasoning::new(REASONING_OF, "", sealed));
        let call = |id| AssistantPart::Call(ToolCall::new(id, "t", "{}"));
        let details = json!([{ "type": "reasoning.encrypted", "data": "x" }]);
        let parts = vec![
            sealed_part(json!({ "reasoning_details": details })),
            sealed_part(json!({ "extra_content": { "google": { "thought_signature": "s=" } } })),
            call("a"),
            call("b"),
        ];
        let names = WireNames::new([], NameRules::OPENAI);
        for later in [None, Some(Message::user("And now?"))] {
            let is_over = later.is_some();
            let message = Message::Assistant { id: None, parts: parts.clone() };
            let messages: Vec<_> = [message].into_iter().chain(later).collect();
            let body = request("m", ChatRequest::new(&messages), &names);
            let message = &body["messages"][0];
            let [first, second] = [&message["tool_calls"][0], &message["tool_calls"][1]];
            assert_eq!(first["extra_content"]["google"]["thought_signature"], "s=");
            assert_eq!(second.get("extra_content"), None);
            assert_eq!(message.get("extra_content"), None);
            assert_eq!(message.get("reasoning_details"), (!is_over).then_some(&details));
        }
    }
}
