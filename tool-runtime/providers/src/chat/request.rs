//! Parts of a request that both APIs encode alike.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::codec::{WireIds, arguments_text, encode_parts};
use crate::shared::{COMMON_IMAGES, set};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{ChatRequest, ContentPart, ToolCall, ToolChoice, ToolDefinition, ToolResult};

/// Sets the tools and all options except `max_tokens`, whose name differs. `required` is the API's
/// value of `tool_choice` that forces a call.
pub(crate) fn set_options(
    body: &mut Value,
    request: ChatRequest<'_>,
    names: &WireNames,
    required: &str,
) {
    let ChatRequest { tools, options, .. } = request;
    // Some servers refuse an empty list, and a choice among no tools.
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(body, "tools", tools);
        match &options.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => set(body, "tool_choice", required),
            ToolChoice::None => set(body, "tool_choice", "none"),
            ToolChoice::Tool(name) => {
                let function = json!({ "name": names.wire_name(name) });
                set(body, "tool_choice", json!({ "type": "function", "function": function }));
            }
            _ => {} // `check` has refused the request.
        }
        if let Some(is_parallel) = options.parallel_calls {
            set(body, "parallel_tool_calls", is_parallel);
        }
    }
    if let Some(schema) = &options.output {
        let mut output = json!({ "name": "output", "schema": schema });
        if schema.dialect().is_strict() {
            set(&mut output, "strict", true);
        }
        let format = json!({ "type": "json_schema", "json_schema": output });
        set(body, "response_format", format);
    }
    if let Some(temperature) = options.temperature {
        set(body, "temperature", temperature);
    }
    if !options.stop.is_empty() {
        set(body, "stop", options.stop.as_slice());
    }
}

/// Encodes data for an API; returns `None` if it does not accept data of this type.
pub(crate) type EncodeMedia = fn(Media<'_>) -> Option<Value>;

/// Encodes user content. Text alone is sent as a string, because not every server supports parts.
pub(crate) fn encode_content(parts: &[ContentPart], media: EncodeMedia) -> Value {
    if let Some(text) = parts.iter().map(ContentPart::as_text).collect::<Option<String>>() {
        return text.into();
    }
    encode_parts(parts, |text| Some(json!({ "type": "text", "text": text })), media).into()
}

/// Encodes an image of a type that both APIs accept.
pub(crate) fn encode_image(media: Media<'_>) -> Option<Value> {
    COMMON_IMAGES
        .contains(&media.media_type)
        .then(|| json!({ "type": "image_url", "image_url": { "url": media.data_url() } }))
}

/// Encodes a call. The name is replaced if it is not valid, because the API would refuse the
/// conversation.
pub(crate) fn encode_call(call: &ToolCall, id: &str, names: &WireNames) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": { "name": names.wire_name(&call.name), "arguments": arguments_text(&call.arguments) },
    })
}

/// Returns the text of a result, for APIs whose results are text only. The data follows in the
/// [`media_message`].
pub(crate) fn result_text(result: &ToolResult, media: EncodeMedia) -> Cow<'_, str> {
    result.text_without(|part| part.media().and_then(media).is_some())
}

/// Returns a user message with the images and other data of results, for APIs whose results are
/// text only.
pub(crate) fn media_message(
    results: &[ToolResult],
    ids: &WireIds<'_>,
    media: EncodeMedia,
) -> Option<Value> {
    let mut content = Vec::new();
    for result in results {
        let data = result.parts.iter().filter_map(|part| part.media().and_then(media));
        let mut data = data.peekable();
        if data.peek().is_some() {
            let text = format!("What call {} shows:", ids.wire(&result.call));
            content.push(json!({ "type": "text", "text": text }));
            content.extend(data);
        }
    }
    (!content.is_empty()).then(|| json!({ "role": "user", "content": content }))
}

/// Adds a message. A user message is merged into a user message before it, such as the one with
/// images: many chat templates refuse two in a row.
pub(crate) fn push_message(messages: &mut Vec<Value>, mut next: Value) {
    let is_user = |message: &Value| message.get("role").is_some_and(|role| role == "user");
    let take_content =
        |message: &mut Value| message.get_mut("content").map(Value::take).unwrap_or_default();
    match messages.last_mut() {
        Some(last) if is_user(last) && is_user(&next) => {
            let content = joined([take_content(last), take_content(&mut next)]);
            set(last, "content", content);
        }
        _ => messages.push(next),
    }
}

fn joined(content: [Value; 2]) -> Value {
    if let [Value::String(first), Value::String(second)] = &content {
        return format!("{first}\n\n{second}").into();
    }
    let parts = |content: Value| match content {
        Value::Array(parts) => parts,
        text => vec![json!({ "type": "text", "text": text })],
    };
    content.into_iter().flat_map(parts).collect()
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    let mut function = json!({
        "name": names.wire_name(&tool.name),
        "description": tool.description,
        "parameters": parameters,
    });
    if parameters.dialect().is_strict() {
        set(&mut function, "strict", true);
    }
    json!({ "type": "function", "function": function })
}
