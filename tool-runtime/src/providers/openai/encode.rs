//! Our turn → the body of a chat-completions request.
//!
//! The shapes are those of OpenAI's API reference, "Create chat completion".

use serde_json::{Map, Value, json};

use super::decode::REASONING_OF;
use crate::message::{AssistantPart, Message, ToolResult};
use crate::models::{ChatRequest, WireNames};
use crate::providers::chat::{call, content, set_options};

pub(super) fn request(model: &str, request: ChatRequest<'_>, names: &WireNames) -> Value {
    let messages = request.messages;
    // What a model thought is of use to it until it has answered; some refuse more.
    let asked = messages.iter().rposition(|said| matches!(said, Message::User { .. }));
    let since = |place| asked.is_none_or(|asked| place > asked);
    let messages =
        messages.iter().enumerate().flat_map(|(place, said)| message(said, names, since(place)));
    let mut body = json!({ "model": model, "messages": messages.collect::<Vec<_>>() });
    set_options(&mut body, request, names, "required");
    body
}

/// One message of ours is one of theirs, but for results: each call is answered by its own.
fn message(message: &Message, names: &WireNames, with_reasoning: bool) -> Vec<Value> {
    match message {
        Message::System { text } => vec![json!({ "role": "system", "content": text })],
        Message::User { parts } => vec![json!({ "role": "user", "content": content(parts) })],
        Message::Assistant { parts } => {
            let mut said = assistant(message, parts, names);
            if with_reasoning && let Some(members) = said.as_object_mut() {
                members.extend(parts.iter().filter_map(thought).flatten());
            }
            vec![said]
        }
        Message::Tool { results } => results
            .iter()
            .map(|result| {
                json!({ "role": "tool", "tool_call_id": result.call, "content": seen(result) })
            })
            .collect(),
    }
}

/// The members that carry what the model thought.
fn thought(part: &AssistantPart) -> Option<Map<String, Value>> {
    match part {
        AssistantPart::Reasoning(thought) if thought.provider == REASONING_OF => {
            thought.sealed.as_object().cloned()
        }
        _ => None,
    }
}

/// This API takes text alone for a result; a picture that can't be shown is told of.
fn seen(result: &ToolResult) -> String {
    let pictures = result.images.iter().map(|image| format!("\n[{} not shown]", image.media_type));
    [result.text.clone()].into_iter().chain(pictures).collect()
}

fn assistant(message: &Message, parts: &[AssistantPart], names: &WireNames) -> Value {
    let mut said = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    let calls: Vec<_> = message.calls().map(|made| call(made, made.id.as_str(), names)).collect();
    let has_text = parts.iter().any(|part| matches!(part, AssistantPart::Text { .. }));
    let content = if has_text || calls.is_empty() { json!(message.text()) } else { Value::Null };
    said.insert("content".into(), content);
    if !calls.is_empty() {
        said.insert("tool_calls".into(), calls.into());
    }
    said.into()
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
                set().output(Schema::from(schema.clone()).bent(Dialect::OpenAiStrict).unwrap()),
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
        let options = set().tool_choice(ToolChoice::Required).parallel_calls(true);
        let body = request("m", ChatRequest::new(&[]).options(&options), &names);
        assert_eq!(body, json!({ "model": "m", "messages": [] }));
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
        assert_eq!(body, json!({ "model": "m", "messages": [] }));
    }
}
