//! Our turn → the body of a Messages request.
//!
//! The shapes are those of Anthropic's API reference, "Create a message", and of its SDKs; the rules of
//! order those of "How to implement tool use": the results of a turn stand in the next user message,
//! before anything else.

use serde_json::{Value, json};

use super::decode::REASONING_OF;
use crate::message::{AssistantPart, Image, Message, ToolResult, UserPart};
use crate::models::{ChatOptions, ChatRequest, ToolChoice, WireNames};
use crate::providers::codec::{EARLIER, IdRules, WireIds, object, set};
use crate::tool::ToolDefinition;

/// The API wants a limit; this is one that all models since Claude 3.5 take.
const MOST_TOKENS: u32 = 8_192;

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Value {
    let ChatRequest { messages, tools, options, .. } = request;
    let mut body = json!({
        "model": model,
        "max_tokens": options.max_tokens.unwrap_or(MOST_TOKENS),
        "messages": conversation(messages, names),
    });
    let system: Vec<_> = messages.iter().filter_map(system).collect();
    if !system.is_empty() {
        set(&mut body, "system", system.join("\n\n"));
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", tools);
        if let Some(choice) = tool_choice(options, names) {
            set(&mut body, "tool_choice", choice);
        }
    }
    if let Some(schema) = &options.output {
        set(
            &mut body,
            "output_config",
            json!({ "format": { "type": "json_schema", "schema": schema } }),
        );
    }
    if let Some(temperature) = options.temperature {
        set(&mut body, "temperature", temperature);
    }
    if !options.stop.is_empty() {
        set(&mut body, "stop_sequences", options.stop.as_slice());
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    body
}

fn tool_choice(options: &ChatOptions, names: &WireNames) -> Option<Value> {
    let mut choice = match &options.tool_choice {
        ToolChoice::Auto if options.parallel_calls.is_none() => return None,
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::None => return Some(json!({ "type": "none" })),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": names.wire(name) }),
    };
    if let Some(may) = options.parallel_calls {
        set(&mut choice, "disable_parallel_tool_use", !may);
    }
    Some(choice)
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    let mut definition = json!({
        "name": names.wire(&tool.name),
        "description": tool.description,
        "input_schema": parameters,
    });
    if parameters.dialect().is_strict() {
        set(&mut definition, "strict", true);
    }
    definition
}

fn system(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// Neighbours of one role are one message, so that results come first and roles take turns; the first
/// is always the user's.
fn conversation(messages: &[Message], names: &WireNames) -> Value {
    let ids = WireIds::new(messages, IdRules::Word);
    let mut said: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { parts } => ("user", parts.iter().filter_map(user).collect()),
            Message::Assistant { parts } => {
                let blocks = parts.iter().filter_map(|part| assistant(part, names, &ids));
                ("assistant", blocks.collect::<Vec<_>>())
            }
            Message::Tool { results } => {
                ("user", results.iter().map(|told| result(told, &ids)).collect())
            }
        };
        match said.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => said.push((role, blocks)),
        }
    }
    if said.first().is_some_and(|(role, _)| *role == "assistant") {
        said.insert(0, ("user", vec![text(EARLIER)]));
    }
    // What the model is to go on from must not end in white space.
    if let Some(("assistant", blocks)) = said.last_mut()
        && let Some(last) = blocks.last_mut()
        && let Some(text) = last.get("text").and_then(Value::as_str)
    {
        let trimmed = text.trim_end().to_owned();
        set(last, "text", trimmed);
    }
    said.into_iter().map(|(role, blocks)| json!({ "role": role, "content": blocks })).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image(Image { media_type, base64 }: &Image) -> Value {
    let source = json!({ "type": "base64", "media_type": media_type, "data": base64 });
    json!({ "type": "image", "source": source })
}

/// Texts of nothing but white space are refused.
fn user(part: &UserPart) -> Option<Value> {
    match part {
        UserPart::Text { text: said } => (!said.trim().is_empty()).then(|| text(said)),
        UserPart::Image(shown) => Some(image(shown)),
    }
}

fn assistant(part: &AssistantPart, names: &WireNames, ids: &WireIds<'_>) -> Option<Value> {
    match part {
        AssistantPart::Text { text: said } => (!said.trim().is_empty()).then(|| text(said)),
        AssistantPart::Call(call) => Some(json!({
            "type": "tool_use",
            "id": ids.wire(&call.id),
            "name": names.wire(&call.name),
            "input": object(&call.arguments),
        })),
        AssistantPart::Reasoning(thought) => {
            (thought.provider == REASONING_OF).then(|| thought.sealed.clone())
        }
    }
}

fn result(told: &ToolResult, ids: &WireIds<'_>) -> Value {
    let content: Value = match told.images.as_slice() {
        [] => told.text.as_str().into(),
        images => {
            let said = (!told.text.trim().is_empty()).then(|| text(&told.text));
            said.into_iter().chain(images.iter().map(image)).collect()
        }
    };
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": ids.wire(&told.call),
        "content": content,
    });
    if !told.is_success() {
        set(&mut block, "is_error", true);
    }
    block
}
