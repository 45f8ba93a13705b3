//! `ChatRequest` → body of a request.
//!
//! The shapes follow Ollama's `docs/api.md`, "Generate a chat completion", and the `api/types.go`
//! of its server, which refuses a request that it cannot decode into them.

use serde_json::{Map, Value, json};

use super::decode::REASONING_OF;
use crate::codec::arguments_object;
use crate::shared::{OPENING, only_system, set, text_with_notes};
use tool_core::models::WireNames;
use tool_core::{
    AssistantPart, ChatOptions, ChatRequest, ContentPart, Message, ModelError, ToolCall,
    ToolChoice, ToolDefinition, ToolResult,
};

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Result<Value, ModelError> {
    let ChatRequest { messages, tools, options, .. } = request;
    let mut messages: Vec<_> =
        messages.iter().flat_map(|message| encode_message(message, names)).collect();
    // The server takes a request without messages as a wish to load the model.
    if only_system(&messages) {
        messages.push(json!({ "role": "user", "content": OPENING }));
    }
    // Always sent: the default of the API is to stream.
    let mut body = json!({ "model": model, "messages": messages, "stream": is_streamed });
    // The API has no `none`: without tools the model calls none.
    if !tools.is_empty() && options.tool_choice != ToolChoice::None {
        check(options)?;
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", tools);
    }
    if let Some(schema) = &options.output {
        set(&mut body, "format", json!(schema));
    }
    let mut settings = json!({});
    if let Some(temperature) = options.temperature {
        set(&mut settings, "temperature", temperature);
    }
    if let Some(max_tokens) = options.max_tokens {
        set(&mut settings, "num_predict", max_tokens);
    }
    if !options.stop.is_empty() {
        set(&mut settings, "stop", options.stop.as_slice());
    }
    if settings != json!({}) {
        set(&mut body, "options", settings);
    }
    Ok(body)
}

/// Checks for options that the API cannot express.
fn check(options: &ChatOptions) -> Result<(), ModelError> {
    let unsupported = |subject: String| {
        let text = format!("unsupported by Ollama: {subject}; leave it to the model");
        Err(ModelError::Setup(text))
    };
    match &options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => {}
        ToolChoice::Required => {
            return unsupported("a required tool call (`ToolChoice::Required`)".into());
        }
        ToolChoice::Tool(name) => {
            return unsupported(format!("a required call of `{name}` (`ToolChoice::Tool`)"));
        }
        choice => return unsupported(format!("the tool choice {choice:?}")),
    }
    match options.parallel_calls {
        Some(false) => unsupported("one call at a time (`parallel_calls(false)`)".into()),
        Some(true) | None => Ok(()),
    }
}

/// Encodes a message. One message becomes one, except results: each result becomes a message.
fn encode_message(message: &Message, names: &WireNames) -> Vec<Value> {
    match message {
        Message::System { text } => vec![json!({ "role": "system", "content": text })],
        Message::User { parts, .. } => {
            let texts = parts.iter().filter(|part| image(part).is_none());
            let line = |part: &ContentPart| match part.as_text() {
                Some(text) => text.to_owned(),
                None => format!("\n{}\n", part.plain_text()),
            };
            let text: String = texts.map(line).collect();
            vec![with_images(json!({ "role": "user", "content": text }), parts)]
        }
        Message::Assistant { parts, .. } => {
            let text = text_with_notes(parts);
            let mut encoded = json!({ "role": "assistant", "content": text });
            if let Some(members) = encoded.as_object_mut() {
                members.extend(parts.iter().filter_map(reasoning).flatten());
            }
            let calls: Vec<_> = message.calls().map(|call| encode_call(call, names)).collect();
            // Only reasoning may be left where another provider's own tools did something.
            if calls.is_empty() && text.trim().is_empty() {
                return Vec::new();
            }
            if !calls.is_empty() {
                set(&mut encoded, "tool_calls", calls);
            }
            vec![encoded]
        }
        Message::Tool { results } => {
            results.iter().map(|result| tool_result(result, names)).collect()
        }
        _ => Vec::new(), // `check` has refused the request.
    }
}

/// Returns the members that carry the reasoning.
fn reasoning(part: &AssistantPart) -> Option<Map<String, Value>> {
    match part {
        AssistantPart::Reasoning(reasoning) if reasoning.provider == REASONING_OF => {
            reasoning.sealed.as_object().cloned()
        }
        _ => None,
    }
}

/// Encodes a call. Newer servers match results by id; older ones ignore it and use the order of the
/// results.
fn encode_call(call: &ToolCall, names: &WireNames) -> Value {
    let function = json!({ "name": names.wire_name(&call.name), "arguments": arguments_object(&call.arguments) });
    json!({ "id": call.id, "function": function })
}

fn tool_result(result: &ToolResult, names: &WireNames) -> Value {
    let encoded = json!({
        "role": "tool",
        "tool_name": names.wire_name(&result.tool),
        "tool_call_id": result.call,
        "content": result.text_without(|part| image(part).is_some()),
    });
    with_images(encoded, &result.parts)
}

/// The types of images that the server decodes for every model.
const IMAGES: &[&str] = &["image/jpeg", "image/png", "image/webp"];

/// Returns the data of an image; the API accepts no other data.
fn image(part: &ContentPart) -> Option<&str> {
    let media = part.media()?;
    IMAGES.contains(&media.media_type).then_some(media.base64)
}

fn with_images(mut message: Value, parts: &[ContentPart]) -> Value {
    let images: Vec<_> = parts.iter().filter_map(image).collect();
    if !images.is_empty() {
        set(&mut message, "images", images);
    }
    message
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let mut parameters = json!(tool.wire_parameters());
    replace_booleans(&mut parameters);
    json!({
        "type": "function",
        "function": {
            "name": names.wire_name(&tool.name),
            "description": tool.description,
            "parameters": parameters,
        },
    })
}

/// Replaces boolean schemas by objects, because the server decodes properties and alternatives into
/// structures.
fn replace_booleans(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.values_mut().for_each(replace_booleans);
            }
            if let Some(Value::Array(alternatives)) = members.get_mut("anyOf") {
                alternatives.iter_mut().for_each(replace_booleans);
            }
        }
        _ => {}
    }
}
