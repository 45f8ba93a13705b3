//! Our turn → the body of a request.
//!
//! The shapes are those of Ollama's `docs/api.md`, "Generate a chat completion", and of its server's
//! `api/types.go`, which refuses a request that it can't read into them.

use serde_json::{Map, Value, json};

use super::decode::REASONING_OF;
use crate::message::{AssistantPart, Image, Message, ToolCall, ToolResult, UserPart};
use crate::models::{ChatOptions, ChatRequest, ModelError, ToolChoice, WireNames};
use crate::providers::codec::{EARLIER, nobody_spoke, object, set};
use crate::tool::ToolDefinition;

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Result<Value, ModelError> {
    let ChatRequest { messages, tools, options, .. } = request;
    let mut messages: Vec<_> = messages.iter().flat_map(|said| message(said, names)).collect();
    // It takes none for the wish that it load the model.
    if nobody_spoke(&messages) {
        messages.push(json!({ "role": "user", "content": EARLIER }));
    }
    // Told always: unless told otherwise, it streams.
    let mut body = json!({ "model": model, "messages": messages, "stream": is_streamed });
    // A model that is told of no tool calls none.
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
    if let Some(most) = options.max_tokens {
        set(&mut settings, "num_predict", most);
    }
    if !options.stop.is_empty() {
        set(&mut settings, "stop", options.stop.as_slice());
    }
    if settings != json!({}) {
        set(&mut body, "options", settings);
    }
    Ok(body)
}

/// What its API has no word for.
fn check(options: &ChatOptions) -> Result<(), ModelError> {
    let unsaid = |what: String| {
        let text = format!("Ollama can't be told that {what}: leave it to the model");
        Err(ModelError::Setup(text))
    };
    match &options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => {}
        ToolChoice::Required => {
            return unsaid("a tool has to be called (`ToolChoice::Required`)".into());
        }
        ToolChoice::Tool(name) => {
            return unsaid(format!("`{name}` has to be called (`ToolChoice::Tool`)"));
        }
    }
    match options.parallel_calls {
        Some(false) => unsaid("calls come one at a time (`parallel_calls(false)`)".into()),
        Some(true) | None => Ok(()),
    }
}

/// One message of ours is one of theirs, but for results: each call is answered by its own.
fn message(message: &Message, names: &WireNames) -> Vec<Value> {
    match message {
        Message::System { text } => vec![json!({ "role": "system", "content": text })],
        Message::User { parts } => {
            let images = parts.iter().filter_map(|part| match part {
                UserPart::Image(image) => Some(image),
                UserPart::Text { .. } => None,
            });
            vec![with_images(json!({ "role": "user", "content": message.text() }), images)]
        }
        Message::Assistant { parts } => {
            let mut said = json!({ "role": "assistant", "content": message.text() });
            if let Some(members) = said.as_object_mut() {
                members.extend(parts.iter().filter_map(thought).flatten());
            }
            let calls: Vec<_> = message.calls().map(|made| call(made, names)).collect();
            // Thoughts alone may be left where another provider's own tools did something.
            if calls.is_empty() && message.text().trim().is_empty() {
                return Vec::new();
            }
            if !calls.is_empty() {
                set(&mut said, "tool_calls", calls);
            }
            vec![said]
        }
        Message::Tool { results } => results.iter().map(|told| result(told, names)).collect(),
    }
}

/// The member that carries what the model thought.
fn thought(part: &AssistantPart) -> Option<Map<String, Value>> {
    match part {
        AssistantPart::Reasoning(thought) if thought.provider == REASONING_OF => {
            thought.sealed.as_object().cloned()
        }
        _ => None,
    }
}

/// Newer servers know ids; older ones pass them over, and go by the order of the results.
fn call(call: &ToolCall, names: &WireNames) -> Value {
    let function = json!({ "name": names.wire(&call.name), "arguments": object(&call.arguments) });
    json!({ "id": call.id, "function": function })
}

fn result(told: &ToolResult, names: &WireNames) -> Value {
    let said = json!({
        "role": "tool",
        "tool_name": names.wire(&told.tool),
        "tool_call_id": told.call,
        "content": told.text,
    });
    with_images(said, told.images.iter())
}

fn with_images<'i>(mut said: Value, images: impl Iterator<Item = &'i Image>) -> Value {
    let images: Vec<_> = images.map(|image| image.base64.as_str()).collect();
    if !images.is_empty() {
        set(&mut said, "images", images);
    }
    said
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let mut parameters = json!(tool.wire_parameters());
    spell_out(&mut parameters);
    json!({
        "type": "function",
        "function": {
            "name": names.wire(&tool.name),
            "description": tool.description,
            "parameters": parameters,
        },
    })
}

/// Its server reads properties and alternatives into structures: `true` and `false` have to be objects.
fn spell_out(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.values_mut().for_each(spell_out);
            }
            if let Some(Value::Array(alternatives)) = members.get_mut("anyOf") {
                alternatives.iter_mut().for_each(spell_out);
            }
        }
        _ => {}
    }
}
