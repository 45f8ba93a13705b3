//! `ChatRequest` → body of a Responses request.
//!
//! The shapes follow OpenAI's API reference, "Create a model response", and its Python SDK
//! (`types/responses`). Its guide "Reasoning models" requires that reasoning and the item after it
//! are sent back together.

use serde_json::{Value, json};

use super::items::{InputItems, Item};
use crate::codec::{IdRules, WireIds, arguments_text, encode_parts, encode_result};
use crate::model_table::traits;
use crate::shared::{COMMON_IMAGES, OPENING, only_system, set};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{
    AssistantPart, ChatOptions, ChatRequest, ContentPart, Message, ModelError, ToolCall,
    ToolChoice, ToolDefinition, ToolResult,
};

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    provider: &str,
    is_streamed: bool,
) -> Result<Value, ModelError> {
    let ChatRequest { tools, options, .. } = request;
    if !options.stop.is_empty() {
        return Err(ModelError::Setup(
            "unsupported by OpenAI's Responses API: `stop`; leave it out, or use chat completions"
                .into(),
        ));
    }
    let mut body = json!({
        "model": model,
        "input": conversation(request, names, provider),
        "store": false,
    });
    if traits(model).encrypts_reasoning {
        set(&mut body, "include", json!(["reasoning.encrypted_content"]));
    }
    // The API refuses a choice among no tools.
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", tools);
        set_tool_choice(&mut body, options, names);
    }
    if let Some(schema) = &options.output {
        let strict = schema.dialect().is_strict();
        let format =
            json!({ "type": "json_schema", "name": "output", "schema": schema, "strict": strict });
        set(&mut body, "text", json!({ "format": format }));
    }
    if let Some(temperature) = options.temperature {
        set(&mut body, "temperature", temperature);
    }
    if let Some(limit) = options.max_tokens {
        set(&mut body, "max_output_tokens", limit);
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    Ok(body)
}

fn set_tool_choice(body: &mut Value, options: &ChatOptions, names: &WireNames) {
    match &options.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::Required => set(body, "tool_choice", "required"),
        ToolChoice::None => set(body, "tool_choice", "none"),
        ToolChoice::Tool(name) => {
            let choice = json!({ "type": "function", "name": names.wire_name(name) });
            set(body, "tool_choice", choice);
        }
        _ => {} // `check` has refused the request.
    }
    if let Some(is_parallel) = options.parallel_calls {
        set(body, "parallel_tool_calls", is_parallel);
    }
}

/// Encodes a definition. `strict` is always sent: without it the API tries strict mode, which makes
/// optional parameters required.
fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    json!({
        "type": "function",
        "name": names.wire_name(&tool.name),
        "description": tool.description,
        "parameters": parameters,
        "strict": parameters.dialect().is_strict(),
    })
}

fn conversation(request: ChatRequest<'_>, names: &WireNames, provider: &str) -> Vec<Value> {
    let ids = WireIds::new(request.messages, IdRules::Token64);
    let is_stored = request.options.extra.get("store") == Some(&Value::Bool(true));
    let mut items = InputItems::new(provider, is_stored);
    for original in request.messages {
        match original {
            Message::System { text } => items.push_input(message("system", text.as_str())),
            Message::User { parts, .. } => items.push_input(message("user", user(original, parts))),
            Message::Assistant { parts, .. } => {
                for part in parts {
                    match part {
                        AssistantPart::Text { text } if text.is_empty() => {}
                        AssistantPart::Text { text } => {
                            items.push_output(message("assistant", text.as_str()));
                        }
                        AssistantPart::Call(call) => {
                            items.push_output(encode_call(call, names, &ids))
                        }
                        AssistantPart::Reasoning(reasoning) => items.push_sealed(reasoning),
                        AssistantPart::File(file) if items.restore_file(file) => {}
                        AssistantPart::File(file) => {
                            items.push_output(message("assistant", file.note()));
                        }
                        // The annotations of the text are sent back as they came.
                        AssistantPart::Source(_) => {}
                        _ => {} // `check` has refused the request.
                    }
                }
                items.end_message();
            }
            Message::Tool { results } => {
                results.iter().for_each(|result| items.push_input(tool_result(result, &ids)));
            }
            _ => {} // `check` has refused the request.
        }
    }
    let mut items = items.into_values();
    if only_system(&items) {
        items.push(message("user", OPENING).into());
    }
    items
}

fn item<const N: usize>(kind: &str, members: [(&str, Value); N]) -> Item {
    let members = [("type", kind.into())].into_iter().chain(members);
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn message(role: &str, content: impl Into<Value>) -> Item {
    item("message", [("role", role.into()), ("content", content.into())])
}

/// Encodes user content. Text alone is sent as a string, because not every server supports parts.
fn user(message: &Message, parts: &[ContentPart]) -> Value {
    if parts.iter().all(|part| matches!(part, ContentPart::Text { .. })) {
        return message.text().into();
    }
    encode_parts(parts, input_text, media).into()
}

fn input_text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "type": "input_text", "text": text }))
}

/// Encodes an image or a PDF document; the API refuses other data.
fn media(media: Media<'_>) -> Option<Value> {
    match media.media_type {
        image if COMMON_IMAGES.contains(&image) => {
            Some(json!({ "type": "input_image", "image_url": media.data_url(), "detail": "auto" }))
        }
        "application/pdf" => {
            let name = media.name.unwrap_or("document.pdf");
            Some(json!({ "type": "input_file", "filename": name, "file_data": media.data_url() }))
        }
        _ => None,
    }
}

fn encode_call(call: &ToolCall, names: &WireNames, ids: &WireIds<'_>) -> Item {
    let members = [
        ("call_id", ids.wire(&call.id).into()),
        ("name", names.wire_name(&call.name).into()),
        ("arguments", arguments_text(&call.arguments).into()),
    ];
    item("function_call", members)
}

fn tool_result(result: &ToolResult, ids: &WireIds<'_>) -> Item {
    let output = encode_result(result, input_text, media);
    item("function_call_output", [("call_id", ids.wire(&result.call).into()), ("output", output)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::request;
    use tool_core::models::{NameRules, WireNames};
    use tool_core::schema::{Dialect, Schema};
    use tool_core::{ChatOptions, ChatRequest, ToolDefinition};

    #[test]
    fn strict_is_always_sent() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        for (dialect, is_strict) in [(Dialect::Plain, false), (Dialect::OpenAiStrict, true)] {
            let tool =
                ToolDefinition::new("t", "Does.", schema.clone()).in_dialect(dialect).unwrap();
            let output = Schema::from(schema.clone()).for_dialect(dialect).unwrap();
            let options = ChatOptions::default().output(output);
            let tools = [&tool];
            let turn = ChatRequest::new(&[]).tools(&tools).options(&options);
            let names = WireNames::new([], NameRules::OPENAI);
            let body = request("m", turn, &names, "openai", false).unwrap();
            let encoded = [&body["tools"][0], &body["text"]["format"]];
            for (encoded, schema) in encoded.iter().zip(["parameters", "schema"]) {
                assert_eq!(encoded["strict"], is_strict);
                assert_eq!(encoded[schema].get("required").is_some(), is_strict, "{encoded}");
            }
        }
    }
}
